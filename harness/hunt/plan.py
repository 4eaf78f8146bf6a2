"""What to hunt: one subject in one dtype on one device, and how hard."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from harness.errors import UsageError
from harness.grade import Grade
from harness.judge import Plan as VerifyPlan
from harness.subjects import Kind, Subject
from harness.sweep.plan import Plan as SweepPlan
from harness.target import Target, require_target
from reference.bounds import default_arithmetic

DEFAULT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Plan(Target):
    """A hunt. It ends after `seconds` or `evaluations` (inputs judged), whichever comes first;
    None is no limit, but not for both.

    `known` starts from inputs that made public libraries go wrong, `cold` leaves the finds of
    earlier hunts out. Equal seeds and evaluations give equal finds.
    """

    subject: Subject
    dtype: str
    device: str
    seed: int
    seconds: float | None = DEFAULT_SECONDS
    evaluations: int | None = None
    known: bool = True
    cold: bool = False
    activation_ulps: float | None = None
    locator: str | None = None

    @property
    def sweep(self) -> SweepPlan:
        """All numbers of the format (for a tanh-gradient all y in [-1, 1]) as a sweep has them."""
        stop = 1 << self.format.width - 1
        if self.kind is Kind.TANH_GRADIENT:
            stop = self.format.to_bits(1.0) + 1
        return SweepPlan(self.subject, self.dtype, self.device, (0, stop), (0, stop))

    @property
    def verification(self) -> VerifyPlan:
        """The subject as `harness.verify` judges single cases."""
        return VerifyPlan(
            self.subject,
            self.dtype,
            self.device,
            required=Grade.TEXTBOOK,
            examples=1,
            seed=self.seed,
            activation_ulps=self.activation_ulps,
            locator=self.locator,
        )


def make_plan(
    subject: Subject,
    *,
    dtype: str,
    device: str = "cpu",
    seed: int = 0,
    seconds: float | None = DEFAULT_SECONDS,
    evaluations: int | None = None,
    known: bool = True,
    cold: bool = False,
    activation_ulps: float | None = None,
    locator: str | None = None,
) -> Plan:
    """A plan for a hunt.

    Raises UsageError for an unknown dtype, a budget that is none, a negative seed and a negative
    tolerance; CannotVerify for a dtype or device that the subject does not support.
    """
    format = require_target(subject, dtype, device)
    try:
        default_arithmetic(format, activation_ulps=activation_ulps)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if seconds is None and evaluations is None:
        raise UsageError("a hunt without a budget; expected seconds or evaluations; give one")
    if seconds is not None and not (isfinite(seconds) and seconds > 0):
        raise UsageError(f"--budget {seconds:g}; expected a finite number of seconds above 0")
    if evaluations is not None and evaluations < 1:
        raise UsageError(f"--evaluations {evaluations}; expected 1 or more")
    if seed < 0:
        raise UsageError(f"--seed {seed}; expected a whole number of 0 or more")
    return Plan(
        subject,
        dtype,
        device,
        seed,
        seconds=seconds,
        evaluations=evaluations,
        known=known,
        cold=cold,
        activation_ulps=activation_ulps,
        locator=locator,
    )
