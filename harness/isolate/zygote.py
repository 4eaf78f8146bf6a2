"""The process that subjects' processes are forked from: it has torch and the harness imported, runs
one thread and no line of any subject's, and cleans up after them.

Forking it takes milliseconds where an import of torch takes seconds, so that a subject which loses
one process after another can still be shrunk.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

import msgspec

from harness.isolate.records import Frames, frame
from harness.isolate.system import adopt_orphans, children, end_with_parent

#: Rounds of killing what a subject has left behind: each may set free what the last one's held.
_SWEEPS: Final = 20


class Fork(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Fork a process; its socket, its standard output and its notes come with this frame."""

    memory: int


class End(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """End a process, if it has not ended yet, and all that it has started."""

    process: int


class Forked(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """The number of the new process; why there is none, if it is 0."""

    process: int
    error: str = ""


class Ended(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """A process has ended, with this exit code, negative for a signal; nothing of it is left."""

    process: int
    code: int


Command = Fork | End
Notice = Forked | Ended
DESCRIPTORS: Final = 3

#: Notes, one byte each, that come from a subject's process and from whatever it forks.
FORKED: Final = b"."
CAME_BACK: Final = b"r"
NO_MEMORY: Final = b"m"

#: What a new process does with its socket, its output, its notes and its memory limit.
Serve = Callable[[int, int, int, int], NoReturn]

_commands: Final = msgspec.msgpack.Decoder(Command)


def notice_of(content: bytes) -> Notice:
    """The notice in a frame's content."""
    notice: Notice = msgspec.msgpack.decode(content, type=Notice)
    return notice


def main(descriptor: int) -> NoReturn:
    """Serve the process at the other end of the socket `descriptor` until it has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    from harness.isolate import server

    server.warm_up()
    gc.collect()
    gc.disable()
    _Zygote(channel, server.serve).run()
    os._exit(0)


class _Zygote:
    def __init__(self, channel: socket.socket, serve: Serve) -> None:
        self._channel = channel
        self._serve = serve
        self._running: set[int] = set()
        self._frames = Frames()
        self._descriptors: list[int] = []
        self._woken, self._waker = os.pipe()
        for end in (self._woken, self._waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._woken in ready:
                    with suppress(BlockingIOError):
                        os.read(self._woken, 4096)
                self._reap()
                if self._channel in ready and not self._listen():
                    break
        for process in tuple(self._running):
            self._kill(process)
        self._running.clear()
        self._sweep()

    def _listen(self) -> bool:
        """Carry out what has been asked; False once there is nobody to ask."""
        try:
            content, descriptors, _, _ = socket.recv_fds(self._channel, 65536, DESCRIPTORS)
        except OSError:
            return False
        self._frames.add(content)
        self._descriptors += descriptors
        while (next_frame := self._frames.next()) is not None:
            match _commands.decode(next_frame):
                case Fork(memory):
                    self._fork(memory)
                case End(process):
                    if process in self._running:
                        self._kill(process)
        return bool(content)

    def _fork(self, memory: int) -> None:
        given, self._descriptors = self._descriptors, []
        parent = os.getpid()
        try:
            process = os.fork()
        except OSError as error:
            self._tell(Forked(0, error.strerror or "fork failed"))
            process = -1
        if process == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            end_with_parent(parent)
            self._channel.close()
            os.close(self._woken)
            os.close(self._waker)
            self._serve(given[0], given[1], given[2], memory)
        for descriptor in given:
            os.close(descriptor)
        if process > 0:
            self._running.add(process)
            self._tell(Forked(process))

    def _reap(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if process in self._running:
                self._running.remove(process)
                self._kill(process)
                self._sweep()
                self._tell(Ended(process, os.waitstatus_to_exitcode(status)))

    def _kill(self, process: int) -> None:
        """A process and its group. Where it has been waited for, its number is still its group's
        while the group has a member; and it is not given to another process so soon."""
        for kill in (os.killpg, os.kill) if process in self._running else (os.killpg,):
            with suppress(ProcessLookupError, PermissionError):
                kill(process, signal.SIGKILL)

    def _sweep(self) -> None:
        """What has left its group comes to this process when its parent has ended."""
        for _ in range(_SWEEPS):
            strays = children() - self._running
            if not strays:
                return
            for process in strays:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(process, 0)

    def _tell(self, notice: Notice) -> None:
        with suppress(OSError):
            self._channel.sendall(frame(notice))
