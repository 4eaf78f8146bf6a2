"""A command of this program in a process of its own, ended when its time is up.

What a subject does to the process that it is called in ends that process, not the night.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

from harness.inert import inert

#: Seconds between being asked to end, which an engine does with what it has found, and being ended.
_GRACE: Final = 30.0
#: Of what a command says, the end is kept: it says why.
_SAID: Final = 4000
#: As `python -m`, but heeding an interrupt, which a process inherits as ignored from one that
#: ignores it, as this one may.
_START: Final = (
    "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


class Ended(NamedTuple):
    """How a command ended. `status` is negative where a signal ended it, `output` what it wrote, if
    anything, `said` the last line that it printed on standard error."""

    status: int
    output: bytes | None
    said: str
    seconds: float
    timed_out: bool
    interrupted: bool


def run_module(module: str, words: Sequence[str], output: Path, seconds: float) -> Ended:
    """Run `python -m module` with these words for at most so many seconds; it writes to `output`.

    When the time is up, or this process is interrupted, it is asked to end with what it has.
    """
    output.unlink(missing_ok=True)
    started = time.monotonic()
    timed_out = interrupted = False
    with TemporaryFile() as said:
        # In a session of its own, so that a Ctrl-C reaches it once, through this process.
        child = subprocess.Popen(
            [sys.executable, "-c", _START, module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if child.poll() is None:
                interrupted |= _end(child)
        return Ended(
            child.returncode,
            output.read_bytes() if output.exists() else None,
            _last_line(said),
            time.monotonic() - started,
            timed_out,
            interrupted,
        )


def _end(child: subprocess.Popen[bytes]) -> bool:
    """Ask a process to end, and end it and its children if it does not. Whether this was
    interrupted, which ends the patience."""
    interrupted = False
    with suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        pass
    except KeyboardInterrupt:
        interrupted = True
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return interrupted


def _last_line(said: IO[bytes]) -> str:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _SAID))
    lines = said.read().decode(errors="replace").strip().splitlines()
    return inert(lines[-1].removeprefix("neuron-harness: ")) if lines else ""
