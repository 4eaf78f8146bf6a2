"""Verdicts: what a verification found. Frozen records, and the JSON they are published as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from harness.case import Case
from harness.grade import Grade

SCHEMA = "neuron-harness/verification/1"

#: Exit statuses of the command line (documented in the README).
EXIT_OK = 0
EXIT_VIOLATION = 1
EXIT_USAGE = 2
EXIT_NOTHING = 3
EXIT_INCONCLUSIVE = 5


@dataclass(frozen=True, slots=True)
class ElementReport:
    """One float of a case beside what it should be, as text and ulps, ready to print. `grade` is
    "unjudged" where there is none; `bound_ulps` is how far off it may be to earn the grade
    `required`."""

    quantity: str
    index: int | None
    grade: str
    computed: str
    exact: str
    rounded: str
    ulps: float | None
    required: Grade
    bound_ulps: float | None

    @property
    def place(self) -> str:
        """The name of the float: a quantity, with an index where it is a vector."""
        return self.quantity if self.index is None else f"{self.quantity}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The smallest case found that breaks a requirement, and how it does."""

    case: Case
    message: str
    element: ElementReport | None = None


@dataclass(frozen=True, slots=True)
class QuantityVerdict:
    """The worst of one quantity over all cases. `max_ulp` is over errors that have a size;
    `nonfinite_mismatch` counts the cases with one that has none and that nothing explains."""

    grade: Grade | None
    max_ulp: float
    max_bound_ratio: float
    nonfinite_mismatch: int
    worst_case: Case | None


@dataclass(frozen=True, slots=True)
class LawVerdict:
    """Whether a law held in every case in which it was checked, and the smallest in which it did
    not. `applies` is whether the kind of subject can break it at all, `required` whether a breach
    fails the verdict, `checked` the number of cases."""

    name: str
    passed: bool
    counterexample: Counterexample | None = None
    applies: bool = True
    required: bool = True
    checked: int = 0


@dataclass(frozen=True, slots=True)
class SecondOrderVerdict:
    """The Hessian-vector product of one subject in one dtype on one device.

    `required` is the grade it had to earn, None where it is only reported; `asked_for` whether
    somebody said so. `unsupported` is why the subject cannot be differentiated twice, in one line.
    `error` is what a second backward pass raised.
    """

    required: Grade | None
    asked_for: bool
    unsupported: str | None
    grade: Grade | None
    examples: int
    unjudged: int
    hazards: int
    quantities: dict[str, QuantityVerdict]
    counterexample: Counterexample | None = None
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the subject earned what was required of it."""
        return self.failure is None

    @property
    def failure(self) -> str | None:
        """One line that says why this is not a pass; None for a pass."""
        if self.required is None:
            return None
        if self.unsupported is not None:
            return f"has no second order: {self.unsupported}" if self.asked_for else None
        if self.error is not None:
            return f"differentiated twice, it {self.error}"
        if self.grade is None:
            return "nothing of the second order was judged" if self.asked_for else None
        if self.grade.meets(self.required):
            return None
        return f"the second order is graded {self.grade}, required {self.required}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One subject in one dtype on one device.

    `required` is the grade it had to earn, `expected_wrong` whether it is a built-in subject stated
    to be wrong, which fails by *not* being caught. `regimes` counts the cases drawn in each;
    `hazards` those with a result that only an overflow on the way explains. `seconds` is wall time,
    and stays out of the JSON so that equal runs print equal JSON. `locator` is the name by which
    the command line finds the subject, None if by none; `activation_ulps` the error its tanh was
    allowed, None for the default. `second_order` is None for a kind that has none.
    """

    subject: str
    kind: str
    dtype: str
    device: str
    required: Grade
    expected_wrong: bool
    reason: str
    grade: Grade | None
    examples: int
    unjudged: int
    hazards: int
    regimes: dict[str, int]
    quantities: dict[str, QuantityVerdict]
    laws: tuple[LawVerdict, ...]
    counterexample: Counterexample | None
    error: str | None
    seconds: float
    locator: str | None = None
    activation_ulps: float | None = None
    second_order: SecondOrderVerdict | None = None

    @property
    def broken_laws(self) -> tuple[LawVerdict, ...]:
        """The laws that were broken and may not be."""
        return tuple(law for law in self.laws if law.required and not law.passed)

    @property
    def observed_breaches(self) -> tuple[LawVerdict, ...]:
        """The laws that were broken and may be: reported, no failure."""
        return tuple(law for law in self.laws if not law.required and not law.passed)

    @property
    def nothing_judged(self) -> bool:
        """Whether no case could be judged: neither a pass nor a violation."""
        return (
            self.error is None
            and self.grade is None
            and not self.broken_laws
            and self._second_order_failure is None
        )

    @property
    def _second_order_failure(self) -> str | None:
        return None if self.second_order is None else self.second_order.failure

    @property
    def passed(self) -> bool:
        """Whether the subject earned what was required of it."""
        if self.error is not None or self.grade is None:
            return False
        if self.broken_laws or self._second_order_failure is not None:
            return False
        if self.expected_wrong:
            return self.grade is Grade.WRONG
        return self.grade.meets(self.required)

    @property
    def failure(self) -> str | None:
        """One line that says why the verdict is not a pass; None for a pass."""
        if self.passed:
            return None
        if self.error is not None:
            return self.error
        faults = []
        broken = [law.name for law in self.broken_laws]
        if broken:
            faults.append(f"breaks the law {', '.join(broken)}")
        if self.grade is None:
            if self.nothing_judged:
                faults.append(
                    f"nothing was judged in {self.examples} cases: every bound is vacuous"
                )
        elif self.expected_wrong:
            if self.grade is not Grade.WRONG:
                faults.append(
                    f"stated wrong ({self.reason}), but graded {self.grade} in {self.examples} "
                    "cases: the search has become weaker; raise --examples"
                )
        elif not self.grade.meets(self.required):
            faults.append(f"graded {self.grade}, required {self.required}")
        # A wrong gradient has a wrong derivative, which is no second fault.
        if self._second_order_failure is not None and not faults:
            faults.append(self._second_order_failure)
        return "; ".join(faults)


class VerificationError(AssertionError):
    """A subject did not earn what was required of it; the message shows the smallest case."""


@dataclass(frozen=True, slots=True)
class Verification:
    """All verdicts of one run, and the environment they hold in."""

    environment: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether something was verified and all of it passed."""
        return self.exit_status == EXIT_OK

    @property
    def exit_status(self) -> int:
        """0 all as required; 1 a violation; 3 nothing was verified; 5 interrupted midway."""
        failed = [verdict for verdict in self.verdicts if not verdict.passed]
        if any(not verdict.nothing_judged for verdict in failed):
            return EXIT_VIOLATION
        if self.interrupted:
            return EXIT_INCONCLUSIVE
        return EXIT_NOTHING if failed or not self.verdicts else EXIT_OK

    def raise_for_failure(self) -> None:
        """Raise VerificationError, with the smallest counterexample, unless everything passed."""
        __tracebackhide__ = True
        if not self.passed:
            _raise(self)

    def to_json(self) -> bytes:
        """The verification as JSON (schema neuron-harness/verification/1), indented."""
        record = {
            "schema": SCHEMA,
            "environment": self.environment,
            "interrupted": self.interrupted,
            "verdicts": [_verdict_record(verdict) for verdict in self.verdicts],
        }
        return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def _raise(verification: Verification) -> NoReturn:
    __tracebackhide__ = True
    from harness.failure import describe
    from harness.pasted import pasted_test

    failed = [verdict for verdict in verification.verdicts if not verdict.passed]
    if failed:
        told = "\n".join(describe(verdict) for verdict in failed)
        tests = [test for verdict in failed if (test := pasted_test(verdict)) is not None]
        if tests:
            told += f"\n\nAs a test:\n\n{tests[0]}"
        raise VerificationError(told)
    if verification.interrupted:
        raise VerificationError(
            f"the verification was interrupted after {len(verification.verdicts)} verdicts"
        )
    raise VerificationError("nothing was verified; expected at least one dtype and device")


def case_record(case: Case | None) -> dict[str, Any] | None:
    """A case as the JSON object that `Case.to_json` prints."""
    return None if case is None else msgspec.json.decode(case.to_json())


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    return {
        "subject": verdict.subject,
        "kind": verdict.kind,
        "dtype": verdict.dtype,
        "device": verdict.device,
        "required": verdict.required,
        "grade": verdict.grade,
        "passed": verdict.passed,
        "examples": verdict.examples,
        "unjudged": verdict.unjudged,
        "hazards": verdict.hazards,
        "regimes": verdict.regimes,
        "quantities": _quantities_record(verdict.quantities),
        "laws": [
            {
                "name": law.name,
                "passed": law.passed,
                "applies": law.applies,
                "required": law.required,
                "checked": law.checked,
                "counterexample": _counterexample_record(law.counterexample),
            }
            for law in verdict.laws
        ],
        "second_order": _second_order_record(verdict.second_order),
        "counterexample": _counterexample_record(verdict.counterexample),
        "failure": verdict.failure,
        "error": verdict.error,
    }


def _quantities_record(quantities: dict[str, QuantityVerdict]) -> dict[str, Any]:
    return {
        name: {
            "grade": quantity.grade,
            "max_ulp": quantity.max_ulp,
            "max_bound_ratio": quantity.max_bound_ratio,
            "nonfinite_mismatch": quantity.nonfinite_mismatch,
            "worst_case": case_record(quantity.worst_case),
        }
        for name, quantity in quantities.items()
    }


def _second_order_record(verdict: SecondOrderVerdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "required": verdict.required,
        "grade": verdict.grade,
        "passed": verdict.passed,
        "unsupported": verdict.unsupported,
        "examples": verdict.examples,
        "unjudged": verdict.unjudged,
        "hazards": verdict.hazards,
        "quantities": _quantities_record(verdict.quantities),
        "counterexample": _counterexample_record(verdict.counterexample),
        "failure": verdict.failure,
        "error": verdict.error,
    }


def _counterexample_record(counterexample: Counterexample | None) -> dict[str, Any] | None:
    if counterexample is None:
        return None
    return {"case": case_record(counterexample.case), "message": counterexample.message}


def worst_grade(grades: Sequence[Grade | None]) -> Grade | None:
    """The worst of the grades there are; None if there are none."""
    known = [grade for grade in grades if grade is not None]
    return Grade.worst(known) if known else None
