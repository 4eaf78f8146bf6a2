"""The command in a process of its own, watched by the one that the user started.

A subject may end the process it runs in, and with exit status 0 that would look like a pass. The
process that was started runs no code of a subject's: it waits, and says so where its child ended
without a report.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final

from harness.ending import ending

#: By this the child is told of a Ctrl-C: a terminal sends SIGINT to both processes, which would
#: reach the child twice.
_INTERRUPT: Final = getattr(signal, "SIGUSR1", None)
_SOON_SECONDS: Final = 0.01
_PASSED_ON: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)


def supervised(work: Callable[[], int], lost: Callable[[str], int]) -> int:
    """The exit status that `work` returns in a child of this process; where the child has ended
    without one, what `lost` returns, given the way it ended in words.

    Returns in both processes, and raises in the child what `work` raises. The child is a fork,
    which needs a process that is young: where this one has threads, or has loaded torch, or the
    system cannot fork, `work` runs here.
    """
    if (
        not hasattr(os, "fork")
        or _INTERRUPT is None
        or "torch" in sys.modules
        or threading.active_count() > 1
    ):
        return work()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    life, parent_end = os.pipe()
    reported, report = os.pipe()
    # Nothing may interrupt either process before it knows what to do about it.
    held = (signal.SIGINT, _INTERRUPT, *_PASSED_ON)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    child = os.fork()
    if child == 0:
        os.close(parent_end)
        os.close(reported)
        return _work(work, life, report, before)
    os.close(life)
    os.close(report)
    return _watch(child, reported, lost, before)


def _work(work: Callable[[], int], life: int, report: int, mask: set[int | signal.Signals]) -> int:
    """The child: `work`, and a report that it has come to its end, in whatever way."""
    threading.Thread(target=_leave_with_parent, args=(life,), daemon=True).start()
    assert _INTERRUPT is not None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(_INTERRUPT, signal.default_int_handler)
    sys.unraisablehook = _interrupt_again
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    status = 1
    try:
        status = work()
    finally:
        os.write(report, bytes([status]))
    return status


def _interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in a finalizer or a callback of its garbage collector. A signal
    that arrives during a collection is handled in such a callback, where there is one, so that an
    interrupt would be lost: it is sent again, once this is over."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    assert _INTERRUPT is not None
    threading.Timer(_SOON_SECONDS, os.kill, (os.getpid(), _INTERRUPT)).start()


def _leave_with_parent(life: int) -> None:
    """End this process when its parent has, which cannot say so if it was killed."""
    os.read(life, 1)
    os._exit(1)


def _watch(
    child: int, reported: int, lost: Callable[[str], int], mask: set[int | signal.Signals]
) -> int:
    """The parent: passes signals on and waits."""
    ended_by: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            if number == signal.SIGINT and _INTERRUPT is not None:
                os.kill(child, _INTERRUPT)
            else:
                ended_by.append(number)
                os.kill(child, number)

    earlier = {
        number: signal.signal(number, pass_on)
        for number in (signal.SIGINT, *_PASSED_ON)
        # What is ignored, as under nohup, stays so.
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _, status_word = os.waitpid(child, 0)
    for number, handler in earlier.items():
        signal.signal(number, handler)
    # Not before: a process that the subject has left behind may hold the other end.
    os.set_blocking(reported, False)
    try:
        status = os.read(reported, 1)
    except BlockingIOError:
        status = b""
    os.close(reported)
    if status:
        return status[0]
    code = os.waitstatus_to_exitcode(status_word)
    if ended_by and code == -ended_by[0]:
        os.kill(os.getpid(), ended_by[0])
    return lost(ending(code))
