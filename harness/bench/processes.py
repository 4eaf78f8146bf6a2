"""Timed processes as seen from the one that compares them: start, command, agree, end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.bench.workload import Workload
from harness.errors import CannotVerify

_WORKER: Final = Path(__file__).with_name("worker.py")
#: glibc returns memory and asks for it again by thresholds that move with what a process did before
#: the block. Fixed and high, they leave a block's page faults out of the comparison.
_MALLOC: Final = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 28),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 28),
    "MALLOC_TOP_PAD_": str(1 << 26),
}
_START_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: its name for messages, the folder its processes work in, what comes
    first on their import path, and its workloads. `spin` is the share of a block's time that is
    added to it as real work."""

    label: str
    directory: Path
    path: tuple[Path, ...]
    workloads: tuple[Workload, ...]
    spin: float = 0.0

    def only(self, names: Sequence[str]) -> tuple[Workload, ...]:
        """The workloads of these names, in this order."""
        by_name = {workload.name: workload for workload in self.workloads}
        return tuple(by_name[name] for name in names)


class Stem:
    """A process that has imported torch, of which timed processes are forked; with `used`, also
    what torch imports when vjp is first used."""

    def __init__(self, threads: int, *, used: bool = False) -> None:
        if not hasattr(os, "fork"):
            raise CannotVerify(
                f"{sys.platform} cannot fork, which timed processes need; expected Linux or macOS; "
                "run the gate there"
            )
        ours, theirs = socket.socketpair()
        environment = {
            **os.environ,
            **_MALLOC,
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
        }
        # Each stem has hashes of its own, so that no accident of one seed decides a run.
        environment.pop("PYTHONHASHSEED", None)
        command = [sys.executable, "-P", str(_WORKER), str(theirs.fileno())]
        command.append("used" if used else "new")
        with theirs:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self._control = ours
        ours.settimeout(_START_SECONDS)
        try:
            ready = ours.recv(64)
        except TimeoutError:
            ready = b""
        if ready != b"ready\n":
            self.close()
            raise CannotVerify(
                "a process to be timed did not start; expected it to import torch; "
                f"try {sys.executable} -P -c 'import torch'"
            )

    def fork(self, request: Mapping[str, Any], patience: float) -> Child:
        """A fresh process, which prepares its workloads while others are forked."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [json.dumps(request).encode()], [theirs.fileno()])
        return Child(ours, patience)

    def close(self) -> None:
        """End the process."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Stem:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Child:
    """One timed process."""

    def __init__(self, connection: socket.socket, patience: float) -> None:
        self._connection = connection
        self._patience = patience
        connection.settimeout(patience)
        self._stream = connection.makefile("rwb", buffering=0)

    def answer(self, what: str) -> dict[str, Any]:
        """The next answer. `what` says in a message what was being done. Raises CannotVerify where
        the process ends, fails or keeps silent."""
        line = b""
        try:
            while not line.endswith(b"\n"):
                piece = self._connection.recv(1 << 16)
                if not piece:
                    raise CannotVerify(
                        f"{what}: the process ended; expected it to return; look for an exit or a "
                        "crash with neuron-harness verify"
                    )
                line += piece
        except TimeoutError:
            raise CannotVerify(
                f"{what}: no answer in {self._patience:g} s; expected a call to take much less; "
                "time something smaller, or say --timeout"
            ) from None
        except ConnectionResetError:
            raise CannotVerify(f"{what}: the process was lost; expected it to return") from None
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise CannotVerify(f"{what}: {found['error']}; expected no error")
        return found

    def ask(self, command: str, what: str) -> dict[str, Any]:
        """The answer to a command."""
        with suppress(BrokenPipeError):
            self._stream.write(command.encode() + b"\n")
        return self.answer(what)

    def close(self) -> None:
        """Let the process end."""
        self._stream.close()
        self._connection.close()


def request(
    side: Side, workloads: Sequence[Workload], *, threads: int, cpu: int | None
) -> dict[str, Any]:
    """What a worker needs to know to be a process of a side."""
    return {
        "directory": str(side.directory),
        "path": [str(each) for each in side.path],
        "workloads": [workload.as_json() for workload in workloads],
        "threads": threads,
        "cpu": cpu,
    }
