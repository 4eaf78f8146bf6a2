"""A subject that lives in a process of its own, and the processes that such subjects live in."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, NoReturn, Self

from harness.errors import CannotVerify
from harness.grade import Grade
from harness.inert import inert
from harness.isolate.limits import Limits
from harness.isolate.lost import Lost
from harness.isolate.patience import Patience
from harness.isolate.process import Gone, Process, Zygote
from harness.isolate.records import Answer, Begin, Done, Load, Loaded, NotLoaded, Request
from harness.subjects import Kind, Stated, Subject, SubjectError, SubjectImportError
from reference.formats import Format

#: How long a subject's import may take, which may compile, or import another framework.
_LOAD_SECONDS: Final = 300.0


class Isolation:
    """Where isolated subjects live: a context, at whose end their processes are ended.

    The process that theirs are forked from is started at once. Raises CannotVerify where the system
    cannot fork.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._zygote = Zygote()
        self.functions: list[IsolatedFunction] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as stack:
            stack.callback(self._zygote.close)
            for function in self.functions:
                stack.callback(function.close)

    def subject(self, name: str, kind: Kind | str | None = None) -> Subject:
        """The subject that `name` stands for, as `harness.subjects.load` takes it, with its
        declarations, and an IsolatedFunction for its function.

        Raises SubjectError and SubjectImportError as `load` does, the latter too where its import
        loses the process.
        """
        function = IsolatedFunction(self, name, kind)
        self.functions.append(function)
        return function.load()

    def process(self, memory: int) -> Process:
        """Another process, forked, with so much memory."""
        limits = replace(self.limits, memory=memory)
        try:
            return Process(self._zygote, limits)
        except Gone:
            # A subject has ended it, and its own with it.
            self._zygote.close()
            self._zygote = Zygote()
            return Process(self._zygote, limits)


class IsolatedFunction:
    """The function of a subject in another process, which cannot be called from here: `ask`."""

    def __init__(self, isolation: Isolation, name: str, kind: Kind | str | None) -> None:
        self._isolation = isolation
        self.name = name
        self._kind = None if kind is None else str(kind)
        self._process: Process | None = None
        self._begun: Begin | None = None
        #: What was answered last, of each type of request, and which types the process at hand has
        #: answered.
        self._good: dict[type, tuple[Begin, Request]] = {}
        self._warm: set[type] = set()
        self._patience: dict[tuple[str, Begin], Patience] = {}
        self._printed = 0
        self._began = b""
        self._took = 0.0
        #: Whether loading the subject has switched flush-to-zero on.
        self.flushing = False

    def __call__(self, *_arguments: Any) -> NoReturn:
        raise TypeError(f"{self.name} is isolated, and cannot be called from this process")

    @property
    def printed(self) -> tuple[int, str]:
        """How many bytes the subject has printed, and the first of them as inert text."""
        size, began = self._printed, self._began
        if self._process is not None:
            size, began = size + self._process.printed, began or self._process.began
        return size, inert(began.decode(errors="replace"))

    def load(self) -> Subject:
        """The subject, loaded in its first process. Raises as `Isolation.subject` does."""
        try:
            loaded = self._start(self.limits.memory)
        except Lost as lost:
            self._drop()
            raise SubjectImportError(
                f"{self.name!r} cannot be imported: its import {_past(lost)}; expected an import "
                "without a fault; import it in Python to see more"
            ) from None
        self.flushing = loaded.flushing
        return Subject(
            name=loaded.name,
            kind=Kind(loaded.kind),
            function=self,
            stated={
                dtype: Stated(Grade(grade), reason)
                for dtype, (grade, reason) in loaded.stated.items()
            },
            dtypes=loaded.dtypes,
            devices=loaded.devices,
            accumulation=None if loaded.accumulation is None else Format(*loaded.accumulation),
            activation_ulps=loaded.activation_ulps,
            flush_to_zero=loaded.flush_to_zero,
        )

    @property
    def limits(self) -> Limits:
        """What the subject may take."""
        return self._isolation.limits

    def patience(self, dtype: str, begin: Begin) -> Patience:
        """How long calls may take in a dtype, where cases begin so."""
        return self._patience.setdefault((dtype, begin), Patience(self.limits))

    def ask(self, begin: Begin, request: Request, patience: Patience) -> Answer:
        """The answer to a request about a case, from the process at hand or another one.

        Raises Lost, after which the next request finds another process.
        """
        started = time.monotonic()
        try:
            process = self._ready(begin, type(request), patience)
            asked = time.monotonic()
            first = type(request) not in self._good
            answer = process.ask(request, patience.seconds(first=first))
        except Lost as lost:
            patience.lost(time.monotonic() - started, lost)
            self._drop()
            raise
        self._took = time.monotonic() - asked
        patience.answered(self._took)
        self._good[type(request)] = begin, request
        self._warm.add(type(request))
        return answer

    def exhausted(self, raised: str, patience: Patience) -> Lost:
        """Give up the process at hand, whose last answer is that it has raised for want of memory;
        what to raise."""
        assert self._process is not None
        lost = self._process.exhausted(f" ({raised})")
        patience.lost(self._took, lost)
        self._drop()
        return lost

    def close(self) -> None:
        """End the process."""
        self._drop()

    def _ready(self, begin: Begin, request: type, patience: Patience) -> Process:
        """The process, loaded and at work on such cases. One that takes the place of another is
        first asked what that has answered last, for it may have to import and to compile."""
        memory = patience.memory
        if self._process is not None and self._process.limits.memory != memory:
            self._drop()
        if self._process is None:
            try:
                self._start(memory)
            except (SubjectError, CannotVerify) as error:
                raise Lost(f"could not be loaded again: {error}") from None
        if request in self._good and request not in self._warm:
            before, answered = self._good[request]
            self._begin(before).ask(answered, patience.first_seconds())
            self._warm.add(request)
        return self._begin(begin)

    def _begin(self, begin: Begin) -> Process:
        assert self._process is not None
        if self._begun != begin:
            answer = self._process.ask(begin, _LOAD_SECONDS)
            assert isinstance(answer, Done)
            self._begun = begin
        return self._process

    def _start(self, memory: int) -> Loaded:
        import torch

        self._process = self._isolation.process(memory)
        answer = self._process.ask(
            Load(
                self.name,
                self._kind,
                tuple(sys.path),
                os.getcwd(),
                torch.get_num_threads(),
            ),
            _LOAD_SECONDS,
        )
        if isinstance(answer, NotLoaded):
            self._drop()
            raise (SubjectImportError if answer.imports else SubjectError)(answer.message)
        assert isinstance(answer, Loaded)
        return answer

    def _drop(self) -> None:
        process, self._process, self._begun = self._process, None, None
        self._warm.clear()
        if process is not None:
            process.close()
            self._printed += process.printed
            self._began = self._began or process.began


def _past(lost: Lost) -> str:
    """How an import was lost, in words that follow it."""
    return f"gave {lost}" if lost.hung else str(lost)
