"""A subject on scattered numbers, judged by the bulk oracle.

Besides subjects that a sweep can take, an activation may be one whose gradient cannot be had: a
function of tensors that autograd cannot trace, or a plain function of Python floats such as
`math:tanh`. Its output alone is hunted then.

Where the subject raises, its arguments are halved until the culprits are found; the others are
judged all the same.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from harness.errors import CannotVerify, one_line
from harness.hunt import scores
from harness.hunt.plan import Plan
from harness.hunt.scores import Objective
from harness.subjects import Kind
from harness.subjects.output_only import works_on_floats
from harness.sweep.apply import Arguments, Subject, SubjectFailed, carried, probe
from harness.sweep.oracle import LONGEST, oracle
from harness.tensors import torch_dtype
from reference import certified
from reference.bounds import default_arithmetic
from reference.certified.answers import Judgement

Bits = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

#: The most numbers in one call.
MOST: Final = LONGEST
#: As many where each is a call of its own.
MOST_SINGLE: Final = 256
#: As many at least, however slow the subject is.
LEAST: Final = 16
_BATCH_SECONDS: Final = 0.25
#: From here on, in seconds, a call of one number is not worth more calls to time it well.
_SLOW_CALL: Final = 0.01
#: So many culprits are looked for in one call; what fails beyond them is not told apart.
_CULPRITS: Final = 16

_INTEGER: Final = {16: torch.int16, 32: torch.int32, 64: torch.int64}


class Form(Enum):
    """How a subject is called."""

    SWEPT = "as in a sweep"
    OUTPUT_ONLY = "on tensors, without a gradient"
    SCALAR = "on Python floats, one by one"


class Failure(NamedTuple):
    """An argument at which the subject raised or returned what it may not, and what it said."""

    bits: int
    message: str


class Evaluated(NamedTuple):
    """n numbers, judged. `results` and `judgements` are in the order of `Evaluator.quantities`,
    `scores` has the shape (objectives, n), `scaled` the gradient's scaled errors (n,), None without
    a gradient. Holds until the next evaluation."""

    bits: Bits
    results: tuple[Floats, ...]
    judgements: tuple[Judgement, ...]
    scores: Float64
    scaled: Float64 | None
    failures: tuple[Failure, ...]


class Evaluator:
    """Calls and judges a plan's subject on numbers. One thread at a time.

    Calls the subject a few times to find out its form; raises CannotVerify for one that cannot be
    called on numbers in any way.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._format = plan.format
        self._dtype = torch_dtype(plan.dtype)
        self._function: Callable[..., Any] = plan.subject.function
        #: Why a neuron is called once for each input, if it is.
        self.unbatched: str | None = None
        self.sweep = plan.sweep
        self.form = self._find_form()
        self._subject = Subject(self.sweep) if self.form is Form.SWEPT else None
        self._oracle = oracle(self.sweep)
        declared = plan.activation_ulps
        if declared is None:
            declared = plan.subject.activation_ulps
        arithmetic = default_arithmetic(self._format, activation_ulps=declared)
        self._activation_ulps = arithmetic.activation_ulps
        self.quantities, self.objectives = self._aims()
        #: The most numbers that one evaluation may take.
        self.most = self._most_at_once()

    @np.errstate(all="ignore")
    def __call__(self, bits: Bits) -> Evaluated:
        """Judge the numbers with these bit patterns, at most `most`."""
        failures: list[Failure] = []
        columns = list(self._call(bits, failures, [_CULPRITS]))
        results = tuple(
            carried(np.concatenate(column), self._plan.dtype)
            for column in zip(*columns, strict=True)
        )
        x = carried(bits, self._plan.dtype)
        if self._plan.kind is Kind.NEURON:
            # The preactivation (-0 * 1) + 0 is +0.
            x = np.where(x == 0, x.dtype.type(0), x)
        if len(self.quantities) == 1 and self._plan.kind is Kind.ACTIVATION:
            judgements = (certified.tanh(x, format=self._format).judge(results[0]),)
            return self._scored(bits, x, results, judgements, failures)
        return self._scored(bits, x, results, self._oracle.judge(x, None, results), failures)

    def scaled_errors(self, bits: Bits, gradient: Floats) -> Float64:
        """The certified scaled errors of gradients, shape (n,)."""
        return self._oracle.scaled_errors(carried(bits, self._plan.dtype), None, gradient)

    def _scored(
        self,
        bits: Bits,
        x: Floats,
        results: tuple[Floats, ...],
        judgements: tuple[Judgement, ...],
        failures: list[Failure],
    ) -> Evaluated:
        rows = []
        scaled = None
        if "output" in self.quantities:
            rows.append(scores.sizes(judgements[0]))
        if "gradient" in self.quantities:
            judged = judgements[-1]
            ulps = scores.sizes(judged)
            raw = self._plan.kind is Kind.TANH_GRADIENT
            output = x if raw else judgements[0].rounded
            tolerance = 0.0 if raw else self._activation_ulps
            rows.append(ulps)
            ratios = scores.textbook_ratios(ulps, output, judged.rounded, tolerance, self._format)
            rows.append(np.where(judged.unfaithful, ratios, 0.0))
            scaled = scores.scaled_errors(ulps, judged.rounded, self._format)
        return Evaluated(bits, results, judgements, np.stack(rows), scaled, tuple(failures))

    def _aims(self) -> tuple[tuple[str, ...], tuple[Objective, ...]]:
        gradient = (scores.GRADIENT, scores.GRADIENT_RATIO)
        if self._plan.kind is Kind.TANH_GRADIENT:
            return ("gradient",), gradient
        if self.form is Form.SWEPT:
            return ("output", "gradient"), (scores.OUTPUT, *gradient)
        return ("output",), (scores.OUTPUT,)

    def _call(
        self, bits: Bits, failures: list[Failure], patience: list[int]
    ) -> Iterator[tuple[Bits, ...]]:
        """The results in pieces; NaN for the culprits."""
        try:
            yield self._results(bits)
            return
        except SubjectFailed as error:
            reason = str(error)
        if len(bits) > 1 and patience[0] > 0:
            middle = len(bits) // 2
            yield from self._call(bits[:middle], failures, patience)
            yield from self._call(bits[middle:], failures, patience)
            return
        patience[0] -= 1
        if len(bits) == 1:
            failures.append(Failure(int(bits[0]), reason))
        nan = np.full(len(bits), self._format.to_bits(float("nan")), bits.dtype)
        yield (nan,) * len(self.quantities)

    def _results(self, bits: Bits) -> tuple[Bits, ...]:
        if self._subject is not None:
            return self._subject(Arguments(bits, None)).quantities()
        try:
            call = self._scalars if self.form is Form.SCALAR else self._outputs
            return (call(bits),)
        except SubjectFailed:
            raise
        except (Exception, SystemExit) as error:
            raise SubjectFailed(f"raised {one_line(error)}") from error

    def _scalars(self, bits: Bits) -> Bits:
        # The quickest way from a function of floats to an array: no float is boxed twice.
        values = torch.from_numpy(bits.view(np.int64)).clone().view(torch.float64)
        values.apply_(self._function)
        found: Bits = values.view(torch.int64).numpy().view(np.uint64)
        return found

    def _outputs(self, bits: Bits) -> Bits:
        integers = torch.from_numpy(bits.view(f"i{bits.itemsize}"))
        x = integers.to(self._plan.device, copy=True).view(self._dtype)
        with torch.no_grad():
            y = self._function(x)
        if not isinstance(y, torch.Tensor):
            raise SubjectFailed(f"the result is a {type(y).__name__}; expected a torch.Tensor")
        if y.shape != x.shape or y.dtype is not self._dtype:
            raise SubjectFailed(
                f"the result is {y.dtype} of shape {tuple(y.shape)}; expected {self._dtype} of "
                f"shape {tuple(x.shape)}"
            )
        found: Bits = (
            y.detach().contiguous().view(_INTEGER[self._format.width]).cpu().numpy()
        ).view(bits.dtype)
        return found

    def _most_at_once(self) -> int:
        """A batch; for a subject that takes numbers one by one and its time over each, as many as
        take a quarter of a second. (So it depends on time only for subjects that are slow.)"""
        one_by_one = self.form is Form.SCALAR or not self.sweep.batched
        most = MOST if self.sweep.batched else MOST_SINGLE
        if not one_by_one:
            return most
        seconds = self._seconds(1)
        if seconds < _SLOW_CALL:
            seconds = max(0.0, min(self._seconds(9) for _ in range(3)) - seconds) / 8
        while most > LEAST and most * seconds > _BATCH_SECONDS:
            most //= 2
        return most

    def _seconds(self, count: int) -> float:
        """How long the subject takes for so many numbers."""
        bits = np.full(count, self._format.to_bits(0.5), f"u{self._format.width // 8}")
        started = time.perf_counter()
        self._results(bits)
        return time.perf_counter() - started

    def _find_form(self) -> Form:
        with warnings.catch_warnings():
            # A function of floats that is shown a tensor makes torch warn.
            warnings.simplefilter("ignore")
            return self._tried_form()

    def _tried_form(self) -> Form:
        try:
            self.sweep, self.unbatched = probe(self.sweep)
            return Form.SWEPT
        except CannotVerify as error:
            reason = error
        if self._plan.kind is not Kind.ACTIVATION:
            raise reason
        if self._works_on_tensors():
            return Form.OUTPUT_ONLY
        if not works_on_floats(self._function):
            raise reason
        if self._plan.dtype != "float64" or self._plan.device != "cpu":
            raise CannotVerify(
                f"{self._plan.subject.name} works on Python floats, which are float64 on the cpu; "
                f"got {self._plan.dtype} on {self._plan.device}; leave --dtype and --device out"
            )
        return Form.SCALAR

    def _works_on_tensors(self) -> bool:
        bits = np.array(
            [self._format.to_bits(value) for value in (0.25, 0.5, 0.75)],
            dtype=f"u{self._format.width // 8}",
        )
        try:
            self._outputs(bits)
        except (Exception, SystemExit):
            return False
        return True
