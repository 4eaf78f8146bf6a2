"""One subject's process as seen from here: ask it, wait for no longer than is due, and say how it
was lost."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, Final

import msgspec

from harness.ending import ending
from harness.errors import CannotVerify
from harness.inert import inert
from harness.isolate.limits import Limits, size_text
from harness.isolate.lost import Lost
from harness.isolate.records import Answer, Broken, Frames, Returned, answer_of, frame
from harness.isolate.zygote import (
    CAME_BACK,
    FORKED,
    NO_MEMORY,
    Command,
    End,
    Ended,
    Fork,
    Forked,
    Notice,
    notice_of,
)

#: How long to import torch may take.
_START_SECONDS: Final = 300.0
#: How long a process that was killed may take to be gone.
_END_SECONDS: Final = 10.0
#: How long a process that was forked in a call may take to come back from it.
_COME_BACK_SECONDS: Final = 0.25
#: No answer about one case is longer.
_LONGEST_FRAME: Final = 1 << 28
_READ: Final = 1 << 18
_TAIL: Final = 400
_BEGINNING: Final = 400
_LAST_WORDS: Final = 200
_MEDDLED: Final = "wrote into the harness's own channel"

_PROGRAM: Final = """\
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from harness.isolate.zygote import main
descriptor = int(sys.argv[1])
del sys.argv[1:]
main(descriptor)
"""


class Gone(CannotVerify):
    """The process that others are forked from has gone."""


class Zygote:
    """The process that others are forked from, started at once and ready when it is first asked.

    Raises CannotVerify where the system cannot fork. Every method but `close` raises Gone where the
    process has.
    """

    def __init__(self) -> None:
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
            raise CannotVerify(
                "a subject cannot be isolated here, for this system has no fork; expected Linux "
                "or macOS; say --no-isolate"
            )
        self.channel, other = socket.socketpair()
        with other:
            self._started = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(other.fileno()), json.dumps(sys.path)],
                pass_fds=(other.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._frames = Frames()
        self._ended: dict[int, int] = {}

    def fork(self, memory: int, descriptors: tuple[int, int, int]) -> int:
        """The number of a new process that was given these descriptors. Raises CannotVerify."""
        self._tell(Fork(memory), descriptors)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            for notice in self._notices(deadline - time.monotonic()):
                if isinstance(notice, Forked):
                    if not notice.process:
                        raise CannotVerify(
                            f"no process can be started for the subject ({notice.error}); expected "
                            "room for one; end some, or say --no-isolate"
                        )
                    return notice.process

    def end(self, process: int) -> int | None:
        """End a process and what it has started, and wait until they are gone: its exit code."""
        self._tell(End(process))
        deadline = time.monotonic() + _END_SECONDS
        while process not in self._ended:
            if time.monotonic() > deadline:
                return None
            self.listen(max(0.0, deadline - time.monotonic()))
        return self._ended[process]

    def ended(self, process: int) -> int | None:
        """The exit code of a process, once it was heard to have ended."""
        return self._ended.get(process)

    def listen(self, seconds: float = 0.0) -> None:
        """Hear what there is, waiting for it for up to some seconds."""
        list(self._notices(seconds))

    def close(self) -> None:
        """End all processes."""
        self.channel.close()
        try:
            self._started.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._started.kill()
            self._started.wait()

    def _tell(self, command: Command, descriptors: tuple[int, ...] = ()) -> None:
        try:
            socket.send_fds(self.channel, [frame(command)], descriptors)
        except OSError:
            raise self._gone() from None

    def _notices(self, seconds: float) -> list[Notice]:
        self.channel.settimeout(max(seconds, 1e-3))
        try:
            content = self.channel.recv(4096)
        except TimeoutError:
            if seconds < 0:
                raise self._gone() from None
            content = None
        except OSError:
            content = b""
        if content == b"":
            raise self._gone()
        self._frames.add(content or b"")
        found = []
        while (each := self._frames.next()) is not None:
            notice = notice_of(each)
            if isinstance(notice, Ended):
                self._ended[notice.process] = notice.code
            found.append(notice)
        return found

    def _gone(self) -> Gone:
        code = self._started.poll()
        how = "does not answer" if code is None else f"ended {ending(code)}"
        return Gone(
            f"the process that starts the subjects' processes {how}; expected it to live; look for "
            "too little memory, or say --no-isolate"
        )


class Process:
    """A process for one subject."""

    def __init__(self, zygote: Zygote, limits: Limits) -> None:
        self._zygote = zygote
        self.limits = limits
        self._channel, theirs = socket.socketpair()
        self._output, their_output = os.pipe()
        self._notes, their_notes = os.pipe()
        for end in (self._output, self._notes):
            os.set_blocking(end, False)
        try:
            self._number = zygote.fork(limits.memory, (theirs.fileno(), their_output, their_notes))
        except BaseException:
            self._release()
            raise
        finally:
            theirs.close()
            os.close(their_output)
            os.close(their_notes)
        self._frames = Frames()
        self._selector = selectors.DefaultSelector()
        for source, heard in (
            (self._channel, self._hear_answer),
            (self._output, self._hear_output),
            (self._notes, self._hear_notes),
            (zygote.channel, self._hear_end),
        ):
            self._selector.register(source, selectors.EVENT_READ, heard)
        self.printed = 0
        self.began = b""
        self._before = 0
        self._tail = b""
        self._forks = 0
        self._came_back = self._no_memory = self._closed = self._finished = False

    def ask(self, request: Any, seconds: float) -> Answer:
        """The answer to a request, which is awaited for `seconds`, and for as long again after
        every call that has returned late.

        Raises Lost, with the process ended; RuntimeError where the harness has failed there.
        """
        self._before, self._tail, self._forks = self.printed, b"", 0
        deadline = time.monotonic() + seconds
        self._channel.settimeout(seconds)
        with suppress(OSError):  # It may have ended since; how will be heard.
            self._channel.sendall(frame(request))
        self._channel.settimeout(0)
        while True:
            content = self._frames.next()
            if content is None:
                self._wait(deadline, seconds)
                continue
            try:
                answer = answer_of(content)
            except msgspec.MsgspecError:
                raise self.lose(_MEDDLED) from None
            if isinstance(answer, Returned):
                deadline = time.monotonic() + seconds
                continue
            if isinstance(answer, Broken):
                self.close()
                raise RuntimeError(
                    f"the harness failed in a subject's process:\n{answer.traceback}"
                )
            if self._forks or getattr(answer, "forked", False):
                self._await_return()
            return answer

    def close(self) -> None:
        """End the process and all that it has started."""
        if self._finished:
            return
        self._finished = True
        with suppress(Gone):
            self._zygote.end(self._number)
        self._selector.close()
        self._release()

    def _release(self) -> None:
        self._channel.close()
        os.close(self._output)
        os.close(self._notes)

    def lose(self, how: str) -> Lost:
        """End the process; what to raise, with the reason."""
        self.close()
        return Lost(how)

    def exhausted(self, how: str = "") -> Lost:
        """End the process, which has asked for more memory than it may have; what to raise."""
        self.close()
        size = size_text(self.limits.memory)
        return Lost(f"exceeded its memory limit of {size}{how}", exhausted=True)

    def _wait(self, deadline: float, seconds: float) -> None:
        """For something to be heard, until the deadline. Raises Lost."""
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            self.close()
            raise Lost(f"no answer in {seconds:g} s", hung=True)
        try:
            self._listen(remaining)
            # A process that has ended closes its channel, unless another holds that too.
            code = self._zygote.ended(self._number)
            if code is None and self._closed:
                code = self._zygote.end(self._number)
        except Gone:
            raise self.lose("ended the process that its own was started from") from None
        if code is None:
            return
        while not self._closed and self._hear_answer():
            pass
        if self._frames.whole:
            return
        self._hear_output()
        self._hear_notes()
        self._require_modest()
        raise self.exhausted() if self._no_memory else self.lose(self._how(code))

    def _listen(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            key.data()
        self._require_modest()

    def _await_return(self) -> None:
        """Of a process that was forked in a call that has been answered."""
        deadline = time.monotonic() + _COME_BACK_SECONDS
        while (remaining := deadline - time.monotonic()) > 0:
            self._listen(remaining)

    def _require_modest(self) -> None:
        limits = self.limits
        if self._came_back:
            raise self.lose("returned twice: it forked its process, and both went on")
        if self._forks > limits.forks:
            raise self.lose(f"forked more than {limits.forks} processes in one call")
        if self.printed - self._before > limits.output:
            raise self.lose(f"printed more than {size_text(limits.output)} in one call")

    def _how(self, code: int) -> str:
        words = inert(self._tail.decode(errors="replace"))
        # The last of them says what came last.
        words = words if len(words) <= _LAST_WORDS else f"...{words[-_LAST_WORDS:]}"
        return f"ended its process {ending(code)}{f', after printing: {words}' if words else ''}"

    def _hear_answer(self) -> bool:
        """Whether there was anything."""
        try:
            content = self._channel.recv(_READ)
        except BlockingIOError:
            return False
        except OSError:
            content = b""
        if not content:
            self._closed = True
            self._forget(self._channel)
        self._frames.add(content)
        if self._frames.expected > _LONGEST_FRAME:
            raise self.lose(_MEDDLED)
        return bool(content)

    def _hear_output(self) -> None:
        content = self._read(self._output)
        self.printed += len(content)
        self._tail = (self._tail + content)[-_TAIL:]
        if len(self.began) < _BEGINNING:
            self.began = (self.began + content)[:_BEGINNING]

    def _hear_notes(self) -> None:
        notes = self._read(self._notes)
        self._forks += notes.count(FORKED)
        self._came_back = self._came_back or CAME_BACK in notes
        self._no_memory = self._no_memory or NO_MEMORY in notes

    def _hear_end(self) -> None:
        self._zygote.listen()

    def _read(self, source: int) -> bytes:
        try:
            content = os.read(source, _READ)
        except BlockingIOError:
            return b""
        if not content:
            self._forget(source)
        return content

    def _forget(self, source: int | socket.socket) -> None:
        with suppress(KeyError):
            self._selector.unregister(source)
