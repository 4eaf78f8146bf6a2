"""The process that a subject lives in: it loads the subject, and calls it on the cases it is given.

Only the process that was forked for it answers. Where a subject forks, and comes back in the new
process too, that one says so by a note and ends.
"""

from __future__ import annotations

import gc
import io
import os
import resource
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn

import torch

from harness.case import Case
from harness.collection import rare_collection
from harness.errors import UsageError
from harness.evaluate import Evaluation, Evaluator
from harness.flush import flushing
from harness.isolate.pictures import tensor_of
from harness.isolate.records import (
    AskElementwise,
    AskRefuses,
    AskUnsupported,
    AskValues,
    Begin,
    Broken,
    Done,
    Evaluate,
    Evaluated,
    EvaluateTwice,
    Failed,
    Frames,
    Load,
    Loaded,
    NotLoaded,
    Refused,
    Request,
    Returned,
    Unsupported,
    Values,
    frame,
    lists,
    request_of,
)
from harness.isolate.system import data_size, has_children
from harness.isolate.zygote import CAME_BACK, FORKED, NO_MEMORY
from harness.laws import CallFailed
from harness.second_order import SecondOrderEvaluator
from harness.subjects import Subject, SubjectError, SubjectImportError, load

#: A call that took longer is reported when it returns, so that the next has its time to itself.
_LONG_SECONDS: Final = 0.25


def warm_up() -> None:
    """What every process would import in its first call. No thread is started."""
    from harness.subjects.textbook import SUBJECT

    Evaluator(SUBJECT, "cpu")(Case("float32", (1.0,), (1.0,), 0.0, 1.0))


def serve(descriptor: int, output: int, notes: int, memory: int) -> NoReturn:
    """Answer the requests that come through the socket `descriptor`, then end the process.

    What is printed goes to `output`. No more than `memory` bytes can be had beyond what there is.
    """
    os.setsid()
    _give_standard_streams(output)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_DATA, data_size() + memory)
    gc.enable()
    server = _Server(socket.socket(fileno=descriptor), notes)
    os.register_at_fork(before=server.note_fork)
    status = 1
    try:
        with rare_collection():
            server.run()
        status = 0
    except MemoryError:
        server.note(NO_MEMORY)
    finally:
        os._exit(status)


def _give_standard_streams(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    if output > 2:
        os.close(output)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    # Nothing is held back, so that the last words of a process that crashes are not lost.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            open(number, "wb", buffering=0, closefd=False),  # noqa: SIM115
            encoding="utf-8",
            errors="backslashreplace",
            write_through=True,
        )
        for number in (1, 2)
    )


def _limit(which: int, size: int) -> None:
    """As the user says, unless the system has set less."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    resource.setrlimit(which, (size, size))


class _Interrupted(Exception):
    """A subject has raised KeyboardInterrupt, which no user has sent to this process."""

    def __init__(self) -> None:
        super().__init__("the subject raised KeyboardInterrupt")


class _Server:
    def __init__(self, channel: socket.socket, notes: int) -> None:
        self._channel = channel
        self._notes = notes
        self._process = os.getpid()
        self._subject: Subject | None = None
        self._evaluator: Evaluator | None = None
        self._twice: SecondOrderEvaluator | None = None
        self._children = False

    def note(self, note: bytes) -> None:
        """Tell the other end, which may have gone."""
        with suppress(OSError):
            os.write(self._notes, note)

    def note_fork(self) -> None:
        """Called by Python before every fork of this process and of those it has forked."""
        self.note(FORKED)

    def run(self) -> None:
        """Until nobody asks any more."""
        frames = Frames()
        while True:
            while (content := frames.next()) is not None:
                self._answer(request_of(content))
            received = self._channel.recv(1 << 18)
            if not received:
                return
            frames.add(received)

    def _answer(self, request: Request) -> None:
        try:
            answer = self._carry_out(request)
        except MemoryError:
            raise
        except Exception:
            answer = Broken(traceback.format_exc())
        self._require_self()
        self._channel.sendall(frame(answer))

    def _carry_out(self, request: Request) -> Any:
        match request:
            case Load():
                return self._load(request)
            case Begin(device, flush):
                assert self._subject is not None
                self._evaluator = Evaluator(self._subject, device, flush_to_zero=flush)
                self._twice = SecondOrderEvaluator(self._subject, device, flush_to_zero=flush)
                return Done()
        evaluator, twice = self._evaluator, self._twice
        assert evaluator is not None and twice is not None
        match request:
            case Evaluate(record):
                return self._evaluated(evaluator(record.case()))
            case EvaluateTwice(record):
                case = record.case()
                assert case.direction is not None
                return self._evaluated(twice(case, case.direction))
            case AskUnsupported(dtype):
                return Unsupported(twice.unsupported(dtype), self._has_forked())
            case AskRefuses(tensors):
                refused = evaluator.refuses([tensor_of(each) for each in tensors])
                return Refused(refused, self._has_forked())
            case AskValues(record):
                ask = evaluator.values
            case AskElementwise(record):
                ask = evaluator.elementwise
        try:
            return Values(lists(ask(record.case())), self._has_forked())
        except CallFailed as failure:
            return Failed(str(failure), self._has_forked())

    def _evaluated(self, found: Evaluation) -> Evaluated:
        values = None if found.values is None else lists(found.values)
        return Evaluated(values, found.breaches, found.raised, self._has_forked())

    def _load(self, request: Load) -> Loaded | NotLoaded:
        sys.path[:] = request.path
        os.chdir(request.directory)
        torch.set_num_threads(request.threads)
        try:
            subject = load(request.name, request.kind)
        except (SubjectError, UsageError) as error:
            return NotLoaded(str(error), isinstance(error, SubjectImportError))
        found = bool(flushing())
        if found:
            torch.set_flush_denormal(False)
        self._subject = Subject(**{**vars(subject), "function": self._watched(subject.function)})
        accumulation = subject.accumulation
        return Loaded(
            name=subject.name,
            kind=str(subject.kind),
            stated={
                dtype: (str(stated.grade), stated.reason)
                for dtype, stated in subject.stated.items()
            },
            dtypes=subject.dtypes,
            devices=subject.devices,
            accumulation=None
            if accumulation is None
            else (accumulation.name, accumulation.precision, accumulation.emax, accumulation.width),
            activation_ulps=subject.activation_ulps,
            flush_to_zero=subject.flush_to_zero,
            flushing=found,
        )

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The subject's function; whoever comes back from it is looked at."""

        def watched(*arguments: torch.Tensor) -> Any:
            started = time.monotonic()
            try:
                return function(*arguments)
            except KeyboardInterrupt:
                raise _Interrupted from None
            finally:
                self._require_self()
                if time.monotonic() - started > _LONG_SECONDS:
                    self._channel.sendall(frame(Returned()))

        return watched

    def _require_self(self) -> None:
        """End this process if it is not the one that was asked."""
        if os.getpid() != self._process:
            self.note(CAME_BACK)
            os._exit(0)

    def _has_forked(self) -> bool:
        """Whether there are children now and were none before: a library that is no Python may
        fork without a note."""
        before, self._children = self._children, has_children()
        return self._children and not before
