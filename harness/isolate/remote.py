"""The evaluators of an isolated subject: the face of those in this process, the work in another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch

from harness.case import Case
from harness.direction import Direction
from harness.evaluate import Evaluation, quantities_of
from harness.isolate.lost import Lost
from harness.isolate.pictures import pictures
from harness.isolate.records import (
    AskElementwise,
    AskRefuses,
    AskUnsupported,
    AskValues,
    Begin,
    CaseRecord,
    Evaluate,
    Evaluated,
    EvaluateTwice,
    Failed,
    Refused,
    Request,
    Unsupported,
)
from harness.isolate.records import Values as ValuesRecord
from harness.isolate.subject import IsolatedFunction
from harness.laws import CallFailed, Values
from harness.subjects import Subject

#: What Python, C++ and torch say where memory cannot be had.
_NO_MEMORY: Final = re.compile(
    r"(raised )?MemoryError\b|.*(std::bad_alloc|can't allocate memory|Cannot allocate memory)"
)


class _Remote:
    """Asks an isolated subject about cases of one dtype on one device.

    `flush_to_zero` is the mode that the subject is to find.
    """

    def __init__(self, subject: Subject, dtype: str, device: str, flush_to_zero: bool) -> None:
        function = subject.function
        assert isinstance(function, IsolatedFunction)
        self._function = function
        self._begin = Begin(device, flush_to_zero)
        self.patience = function.patience(dtype, self._begin)

    def _ask(self, request: Request) -> Any:
        """The answer. Raises Lost, also where the subject has asked for more memory than it may
        have: what it still holds would count against the cases that follow."""
        answer = self._function.ask(self._begin, request, self.patience)
        raised = answer.raised if isinstance(answer, Evaluated) else None
        raised = answer.message if isinstance(answer, Failed) else raised
        if raised is not None and _NO_MEMORY.match(raised):
            raise self._function.exhausted(raised, self.patience)
        return answer

    def _evaluate(self, request: Request) -> Evaluation:
        try:
            found = self._ask(request)
        except Lost as lost:
            return Evaluation(None, {}, raised=str(lost), lost=True)
        assert isinstance(found, Evaluated)
        return Evaluation(found.values, found.breaches, found.raised)


class IsolatedEvaluator(_Remote):
    """`harness.evaluate.Evaluator` for an isolated subject: to lose its process is to fail."""

    def __init__(self, subject: Subject, dtype: str, device: str, flush_to_zero: bool) -> None:
        super().__init__(subject, dtype, device, flush_to_zero)
        self.quantities = quantities_of(subject.kind)

    def __call__(self, case: Case) -> Evaluation:
        """Evaluate `case`."""
        return self._evaluate(Evaluate(CaseRecord.of(case)))

    def values(self, case: Case) -> Values:
        """What one call gives. Raises CallFailed if that is no result."""
        return self._values(AskValues(CaseRecord.of(case)), case)

    def elementwise(self, case: Case) -> Values:
        """`output` and `bias_gradient` of an activation on the vector `case.inputs`. Raises
        CallFailed."""
        return self._values(AskElementwise(CaseRecord.of(case)), case)

    def refuses(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether the subject raises when it is called with these. Raises CallFailed where it does
        neither that nor return."""
        try:
            answer = self._ask(AskRefuses(pictures(tensors)))
        except Lost as lost:
            raise CallFailed(f"{lost}, called with arguments that do not fit each other") from None
        assert isinstance(answer, Refused)
        return answer.refused

    def _values(self, request: Request, case: Case) -> Values:
        try:
            answer = self._ask(request)
        except Lost as lost:
            raise CallFailed(f"{lost}, called on {case.to_json()}") from None
        if isinstance(answer, Failed):
            raise CallFailed(answer.message)
        assert isinstance(answer, ValuesRecord)
        return answer.values


class IsolatedSecondOrderEvaluator(_Remote):
    """`harness.second_order.SecondOrderEvaluator` for an isolated subject."""

    def unsupported(self, dtype: str) -> str | None:
        """Why the subject has no double backward in `dtype`; None if it has one."""
        try:
            answer = self._ask(AskUnsupported(dtype))
        except Lost as lost:
            return f"differentiated twice, it {lost}"
        assert isinstance(answer, Unsupported)
        return answer.reason

    def __call__(self, case: Case, direction: Direction) -> Evaluation:
        """H v at `case`."""
        return self._evaluate(EvaluateTwice(CaseRecord.of(replace(case, direction=direction))))
