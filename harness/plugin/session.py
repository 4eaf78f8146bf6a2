"""One verification within a test: by hypothesis' settings, and first with what failed before."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import settings

from harness.api import fresh_seed, make_plans, named_subject, run_plans
from harness.errors import UsageError
from harness.judge import Plan
from harness.one_case import judge_case
from harness.pasted import smallest_case
from harness.plugin.examples import Examples
from harness.plugin.options import Options
from harness.subjects import Subject
from harness.verdict import Verdict, Verification

#: What a test has verified, as rows of the summary.
ROWS: Final = pytest.StashKey[list[dict[str, Any]]]()


class VerifyNeuron:
    """Verifies subjects in the dtype and on the device of one test."""

    def __init__(self, item: pytest.Item, dtype: str, device: str, options: Options) -> None:
        self.dtype = dtype
        self.device = device
        self._item = item
        self._options = options

    def __call__(self, subject: str | Subject | Callable[..., Any]) -> Verdict:
        """The verdict on a subject, as `harness.verify` takes one.

        Raises VerificationError unless the subject earns what is required. The test is skipped
        where the subject does not support its dtype or device.
        """
        __tracebackhide__ = True
        plan = self._plan(subject)
        name = f"{self._item.nodeid} {plan.subject.name}"
        examples = Examples(_settings().database, name)
        for case in examples.kept():
            verdict = judge_case(plan, case)
            if not verdict.passed:
                return self._finish(Verification({}, (verdict,)))
            examples.forget(case)
        verification = run_plans([plan])
        if verification.interrupted:
            raise KeyboardInterrupt
        (verdict,) = verification.verdicts
        smallest = None if verdict.passed else smallest_case(verdict)
        if smallest is not None:
            examples.keep(smallest)
        return self._finish(verification)

    def _plan(self, subject: Any) -> Plan:
        options = self._options
        try:
            named = named_subject(subject, options.kind)
            for what, value, supported in (
                ("dtype", self.dtype, named[1].dtypes),
                ("device", self.device, named[1].devices),
            ):
                if supported is not None and value not in supported:
                    pytest.skip(f"{named[1].name} does not support the {what} {value}")
            (plan,) = make_plans(
                [named],
                dtypes=[self.dtype],
                devices=[self.device],
                require=options.require,
                examples=options.examples or _settings().max_examples,
                seed=self._seed() if options.seed is None else options.seed,
                activation_ulps=options.activation_ulps,
                strict_laws=options.strict_laws,
                second_order=options.second_order,
            )
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        return plan

    def _seed(self) -> int:
        """That of `--hypothesis-seed`; else the test's own if hypothesis is derandomized, which
        draws the same cases in every run; else a fresh one."""
        given = self._item.config.getoption("--hypothesis-seed", None)
        if given is not None and str(given).isdigit():
            return int(given)
        if _settings().derandomize:
            return zlib.crc32(self._item.nodeid.encode())
        return fresh_seed()

    def _finish(self, verification: Verification) -> Verdict:
        """Note the figures as properties of the test, which end in its JUnit XML, too."""
        __tracebackhide__ = True
        (verdict,) = verification.verdicts
        properties = self._item.user_properties
        properties.append(("neuron_harness.grade", str(verdict.grade or "none")))
        properties.append(("neuron_harness.required", str(verdict.required)))
        for name, quantity in verdict.quantities.items():
            properties.append((f"neuron_harness.max_ulp.{name}", quantity.max_ulp))
        self._item.stash.setdefault(ROWS, []).append(row_of(verdict))
        verification.raise_for_failure()
        return verdict


def _settings() -> settings:
    """hypothesis' settings, as a profile or the command line has left them."""
    current = settings.default
    assert current is not None
    return current


def row_of(verdict: Verdict) -> dict[str, Any]:
    """What the summary shows of a verdict, in types that travel between processes."""
    return {
        "subject": verdict.subject,
        "dtype": verdict.dtype,
        "device": verdict.device,
        "grade": str(verdict.grade or "none"),
        "required": str(verdict.required),
        "passed": verdict.passed,
        "examples": verdict.examples,
        "max_ulp": {name: worst.max_ulp for name, worst in verdict.quantities.items()},
    }
