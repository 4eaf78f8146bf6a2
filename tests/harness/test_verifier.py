"""Verification of one subject: which cases, what is counted, what is found, how small it gets."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

from harness.api import make_plans
from harness.case import DTYPES, Case, Layout
from harness.evaluate import CALL_LAWS
from harness.flush import flushing, subnormals_kept
from harness.grade import Grade
from harness.judge import Due, Finding, Judge, Plan, every_law, no_law
from harness.laws import LAWS, Seen
from harness.second_order import RETAIN_GRAPH
from harness.strategies import Regime, regimes_for
from harness.subjects import Kind, Stated, Subject, builtin_names, load
from harness.verdict import Counterexample, Verdict
from harness.verifier import verify_one
from reference.formats import BFLOAT16
from tests.flushed import in_flushing_thread
from tests.harness import faulty
from tests.harness.breaking import (
    BREAKING,
    Breaking,
    gradient,
    strideless,
    two_slopes,
    vector_apart,
)

EXAMPLES = 200
#: The module, which the package's attribute of that name is not.
engine = sys.modules[verify_one.__module__]


def plan_of(subject: Subject | faulty.Neuron, dtype: str = "float32", **changes: Any) -> Plan:
    """A plan to verify a subject as the command line would."""
    if not isinstance(subject, Subject):
        subject = Subject(subject.__name__, Kind.NEURON, subject)
    options = {"require": None, "examples": 40, "seed": 1, "activation_ulps": None, **changes}
    (plan,) = make_plans([(None, subject)], dtypes=[dtype], devices=["cpu"], **options)
    return plan


@cache
def verified(subject: faulty.Neuron, dtype: str, examples: int) -> Verdict:
    """The verdict on a subject, worked out once."""
    with subnormals_kept():
        return verify_one(plan_of(subject, dtype, examples=examples))


def counterexamples(verdict: Verdict) -> list[Counterexample]:
    """All that a verdict holds."""
    found = [verdict.counterexample, *(law.counterexample for law in verdict.broken_laws)]
    return [each for each in found if each is not None]


def is_readable(case: Case) -> bool:
    """Whether a case is one to understand at a glance: few lanes, and floats of few digits."""
    floats = [*case.inputs, *case.weights, case.bias, case.upstream_gradient]
    mantissas = [math.frexp(value)[0] for value in floats if math.isfinite(value)]
    return len(case.inputs) <= 2 and all(mantissa * 2**4 % 1 == 0 for mantissa in mantissas)


class TestCases:
    """Which cases a verification looks at."""

    def test_every_regime_is_drawn_even_for_one_example(self) -> None:
        """One case of each, and the counts add up."""
        for name in ("textbook", "aten-tanh-gradient"):
            plan = plan_of(load(name), examples=1)
            verdict = verify_one(plan)
            regimes = regimes_for(plan.subject.kind)
            assert {str(regime): 1 for regime in regimes} == verdict.regimes
            assert len(regimes) == verdict.examples == plan.cases

    @pytest.mark.parametrize("examples", [14, 40, 41, 1000])
    def test_the_examples_are_shared_out(self, examples: int) -> None:
        """Equal shares that add up to what was asked for; the first regimes take the rest, and
        those whose cases are costly get less, but one at least."""
        plan = plan_of(faulty.right, examples=examples)
        verdict = verify_one(plan)
        assert examples == verdict.examples == sum(verdict.regimes.values()) == plan.cases
        long = {name: verdict.regimes[name] for name in ("long", "very-long")}
        shares = [each for name, each in verdict.regimes.items() if name not in long]
        assert [max(1, shares[-1] // 2), max(1, shares[-1] // 16)] == list(long.values())
        assert shares == sorted(shares, reverse=True)
        assert max(shares) - min(shares) <= 1
        assert list(map(str, regimes_for("neuron"))) == list(verdict.regimes)

    def test_on_case_is_told_of_each(self) -> None:
        """A progress bar gets as many steps as there are cases."""
        steps: list[None] = []
        plan = plan_of(faulty.right, examples=15)
        verify_one(plan, lambda: steps.append(None))
        assert plan.cases == len(steps)

    def seen(self, subject: Subject, dtype: str = "bfloat16", seed: int = 1) -> list[str]:
        """The cases that a verification with this seed shows the subject."""
        judged: list[str] = []

        class Recording(Judge):
            def __call__(self, case: Case, due: Due = no_law) -> Finding:
                judged.append(case.to_json())
                return super().__call__(case, due)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "Judge", Recording)
            verify_one(plan_of(subject, dtype, seed=seed))
        return judged

    def test_a_seed_decides_the_cases(self) -> None:
        """The same for every subject with a seed, others with another seed or dtype."""
        subject, other = load("textbook"), load("torch-tanh")
        first = self.seen(subject)
        assert first == self.seen(subject) == self.seen(other)
        assert len(set(first)) > 30
        # What every seed starts with is the simplest case of each regime.
        assert len(set(first) & set(self.seen(subject, seed=2))) <= len(Regime)
        assert set(first).isdisjoint(self.seen(subject, "float16"))


#: A sum accumulated in bfloat16 has no bound beyond 2^8 terms.
NARROW = Subject("narrow", Kind.NEURON, faulty.right, accumulation=BFLOAT16)


class TestCounts:
    """What a verdict counts is what its cases were."""

    @pytest.mark.parametrize(
        ("subject", "dtype"),
        [
            pytest.param(NARROW, "bfloat16", id="long sums in bfloat16 are unjudged"),
            pytest.param(load("textbook"), "float32", id="sums that overflow are hazards"),
        ],
    )
    def test_counts_and_worsts(
        self, subject: Subject, dtype: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unjudged cases, hazards, and the worst of each quantity, against a count of our own."""
        findings: list[Finding] = []

        class Recording(Judge):
            def __call__(self, case: Case, due: Due = no_law) -> Finding:
                findings.append(super().__call__(case, due))
                return findings[-1]

        monkeypatch.setattr(engine, "Judge", Recording)
        verdict = verify_one(plan_of(subject, dtype, examples=260))
        # What follows is the second pass, which shrinks and is not counted.
        judgements = [finding.judgement for finding in findings[: verdict.examples]]
        judged = [judgement for judgement in judgements if judgement is not None]
        assert verdict.examples == len(judged)
        assert verdict.unjudged == sum(judgement.unjudged for judgement in judged)
        assert verdict.hazards == sum(judgement.hazard for judgement in judged)
        assert verdict.unjudged or subject is not NARROW
        assert verdict.hazards or subject is NARROW
        for name, quantity in verdict.quantities.items():
            elements = [each for judgement in judged for each in judgement.quantities[name]]
            grades = [each.grade for each in elements if each.grade is not None]
            sizes = [abs(each.ulps) for each in elements if each.ulps is not None]
            ratios = [each.bound_ratio for each in elements if each.bound_ratio is not None]
            assert quantity.grade == Grade.worst(grades)
            assert quantity.max_bound_ratio == max(ratios)
            assert quantity.max_ulp <= max(sizes)
            assert quantity.worst_case is not None
            again = Judge(plan_of(subject, dtype))(quantity.worst_case).judgement
            assert again is not None
            known = [each.grade for each in again.quantities[name] if each.grade is not None]
            assert quantity.grade == Grade.worst(known)

    def test_nothing_is_counted_that_did_not_occur(self) -> None:
        """An exact neuron in binary64 arithmetic on easy cases has neither hazards nor unjudged."""
        verdict = verified(faulty.right, "float32", 14)
        assert 0 == verdict.unjudged
        assert dict.fromkeys([*(law.name for law in LAWS), RETAIN_GRAPH], True) == {
            law.name: law.passed or law.name == "mismatch-raises" for law in verdict.laws
        }


ALL_FAULTY = (*faulty.MATHEMATICS, *faulty.FORM, *faulty.RAISING, *faulty.CONDUCT)


def check_found(subject: faulty.Neuron, dtype: str, examples: int) -> None:
    """The fault is found, named for what it is, and shown by a small case."""
    verdict = verified(subject, dtype, examples)
    assert not verdict.passed
    assert verdict.failure is not None
    found = counterexamples(verdict)
    assert found
    if subject in faulty.MATHEMATICS:
        assert verdict.failure.endswith("graded wrong, required textbook")
        assert verdict.counterexample is not None
        assert verdict.counterexample.element is not None
        assert Grade.WRONG == verdict.counterexample.element.grade
    elif subject in faulty.FORM:
        assert "breaks the law structure" == verdict.failure
        assert found[0].message.startswith(faulty.FORM[subject].split("torch.float")[0])
        assert Counter({None: 4}) == Counter(each.grade for each in verdict.quantities.values())
    elif subject in faulty.RAISING:
        assert faulty.RAISING[subject] == verdict.error == verdict.failure
    else:
        law, message = faulty.CONDUCT[subject]
        assert [law] == [each.name for each in verdict.broken_laws]
        assert f"breaks the law {law}" in verdict.failure
        assert message in next(each.message for each in found if each is not verdict.counterexample)
    for each in found:
        assert each.case.dtype == dtype
        if subject is faulty.last_lane:
            assert 8 == len(each.case.inputs)
        else:
            assert is_readable(each.case)
        # The law `layout` compares the contiguous case with the strided one.
        strided = subject is faulty.ignores_strides and not each.message.startswith("laid out ")
        assert each.case.layout is (Layout.STRIDED if strided else Layout.CONTIGUOUS)


def _thinned() -> list[Any]:
    """Each faulty subject with one dtype, and faults of the mathematics with two."""
    chosen = []
    for index, subject in enumerate(ALL_FAULTY):
        some = 2 if subject in faulty.MATHEMATICS[:2] else 1
        examples = 130 if subject in faulty.MATHEMATICS else 14
        for step in range(some):
            dtype = DTYPES[(index + 2 * step) % len(DTYPES)]
            chosen.append(
                pytest.param(subject, dtype, examples, id=f"{subject.__name__} in {dtype} is found")
            )
    return chosen


class TestFaults:
    """Every faulty neuron is found, and the case that shows it is small."""

    @pytest.mark.parametrize(("subject", "dtype", "examples"), _thinned())
    def test_found(self, subject: faulty.Neuron, dtype: str, examples: int) -> None:
        """Within 200 examples; what fails on every call, within one example of each regime."""
        check_found(subject, dtype, examples)

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("subject", ALL_FAULTY, ids=lambda each: f"{each.__name__} is found")
    def test_found_in_every_dtype(self, subject: faulty.Neuron, dtype: str) -> None:
        """Within 200 examples, for three seeds."""
        check_found(subject, dtype, EXAMPLES)
        for seed in (2, 3):
            with subnormals_kept():
                assert not verify_one(plan_of(subject, dtype, examples=EXAMPLES, seed=seed)).passed

    def test_the_smallest_case_shows_the_fault_again(self) -> None:
        """A counterexample is a case that breaks the requirement, and its figures are its own."""
        verdict = verified(faulty.next_lane, "float32", EXAMPLES)
        assert verdict.counterexample is not None
        assert verdict.counterexample.element is not None
        finding = Judge(plan_of(faulty.next_lane))(verdict.counterexample.case)
        assert finding.judgement is not None
        assert Grade.WRONG is finding.judgement.grade
        assert "weight_gradient" == verdict.counterexample.element.quantity

    def test_unsteady_subjects_are_reported(self) -> None:
        """A fault that does not come up when the same cases are run again: the law `repeatable`."""
        calls: list[int] = []

        def once(*arguments: Any) -> Any:
            calls.append(1)
            y, dx, dw, d = faulty.right(*arguments)
            # Wrong in both calls of the first case of the first pass, and never again.
            return (y * 0 + 0.25 if len(calls) < 3 else y), dx, dw, d

        verdict = verify_one(plan_of(once, examples=14))
        # Padded with zeros, the same case was right already.
        broken = "repeatable, zero-padding"
        assert f"breaks the law {broken}; graded wrong, required textbook" == verdict.failure
        assert verdict.counterexample is not None
        assert "output is wrong" == verdict.counterexample.message
        law = verdict.broken_laws[0]
        assert law.counterexample is not None
        assert verdict.counterexample.case == law.counterexample.case
        assert "not found again" in law.counterexample.message

    def test_a_flaky_raise_is_reported(self) -> None:
        """So is an exception that is raised only once."""
        calls: list[int] = []

        def once(*arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == 2:
                raise OSError("device lost")
            return faulty.right(*arguments)

        verdict = verify_one(plan_of(once, examples=14))
        assert "raised OSError: device lost" == verdict.failure
        assert ["repeatable"] == [law.name for law in verdict.broken_laws]


class TestSound:
    """No alarm where there is no fault."""

    @pytest.mark.parametrize(
        ("subject", "dtype"),
        [
            pytest.param(each, DTYPES[index % 4], id=f"{each.__name__} in {DTYPES[index % 4]}")
            for index, each in enumerate(faulty.SOUND)
        ],
    )
    def test_no_alarm(self, subject: faulty.Neuron, dtype: str) -> None:
        """Sound neurons earn `textbook`."""
        verdict = verified(subject, dtype, 65)
        assert verdict.passed, verdict

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("subject", faulty.SOUND, ids=lambda each: each.__name__)
    def test_no_alarm_in_any_dtype(self, subject: faulty.Neuron, dtype: str) -> None:
        """In a thousand cases each."""
        assert verified(subject, dtype, 1000).passed

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_textbook_is_never_wrong(self, dtype: str) -> None:
        """The measure of the bounds: 100,000 cases, not one that nothing explains.

        From many seeds, because hypothesis slows down as it remembers what it drew in a run.
        """
        examples = 0
        for seed in range(25):
            verdict = verify_one(plan_of(load("textbook"), dtype, examples=4_050, seed=seed))
            assert Grade.TEXTBOOK is verdict.grade
            assert verdict.passed
            examples += verdict.examples
        assert 100_000 <= examples

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_textbook_in_a_few_cases(self, dtype: str) -> None:
        """The same in fifty."""
        verdict = verify_one(plan_of(load("textbook"), dtype, examples=52))
        assert (52, True, Grade.TEXTBOOK) == (verdict.examples, verdict.passed, verdict.grade)


class TestLaws:
    """Laws in a verification: each case some of them, every one in every regime."""

    @pytest.mark.parametrize("name", ["textbook", "torch-tanh", "aten-tanh-gradient"])
    def test_every_law_is_checked_in_every_regime(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Wherever one of the regime's cases is its concern; what a verdict counts is that."""
        findings: list[Finding] = []

        class Recording(Judge):
            def __call__(self, case: Case, due: Due = no_law) -> Finding:
                findings.append(super().__call__(case, due))
                return findings[-1]

        monkeypatch.setattr(engine, "Judge", Recording)
        subject = load(name)
        verdict = verify_one(plan_of(subject, examples=60))
        assert verdict.passed
        checked = Counter(law for each in findings for law in each.checked)
        for law in verdict.laws:
            if law.name in CALL_LAWS:
                assert (law.applies, law.required, law.checked) == (True, True, len(findings))
            elif law.name != RETAIN_GRAPH:
                assert law.checked == checked[law.name]
                assert law.applies == (law.checked > 0)
        start = 0
        for count in verdict.regimes.values():
            part = findings[start : start + count]
            start += count
            for law in LAWS:
                check = law.checks.get(subject.kind)
                concerned = [
                    each
                    for each in part
                    if check is not None
                    and each.evaluation.values is not None
                    and check.concerns(Seen(each.case, each.evaluation.values))
                ]
                if concerned:
                    assert law.name in concerned[0].checked

    @pytest.mark.parametrize(
        "breaking",
        [each for each in BREAKING if each.function in (two_slopes, vector_apart, gradient)],
        ids=lambda each: f"{each.function.__name__} breaks {each.law}",
    )
    def test_observed_laws_fail_only_if_strict(self, breaking: Breaking) -> None:
        """A subject that earns its grade; the case that is shown breaks the law, and is small."""
        plan = plan_of(breaking.subject, examples=100)
        verdict = verify_one(plan)
        assert verdict.passed
        law = next(law for law in verdict.observed_breaches if law.name == breaking.law)
        assert law.counterexample is not None
        assert breaking.message in law.counterexample.message
        assert is_readable(law.counterexample.case)
        found = Judge(plan)(law.counterexample.case, every_law)
        assert law.counterexample.message == found.breaches[breaking.law]
        strict = verify_one(replace(plan, strict_laws=True))
        assert not strict.passed
        assert breaking.law in str(strict.failure)
        assert all(law.required for law in strict.laws)

    def test_a_required_law_fails_a_subject_of_the_right_grade(self) -> None:
        """An activation that misreads strides, which no lifted neuron shows it."""
        subject = Subject("strideless", Kind.ACTIVATION, strideless)
        verdict = verify_one(plan_of(subject, examples=60))
        assert (Grade.TEXTBOOK, "breaks the law layout") == (verdict.grade, verdict.failure)

    def test_a_law_of_built_ins(self) -> None:
        """Mismatched arguments are an error: required of them, observed of others."""
        for subject, required in ((load("textbook"), True), (faulty.right, False)):
            verdict = verify_one(plan_of(subject, examples=14))
            laws = {law.name: law for law in verdict.laws}
            assert required == laws["mismatch-raises"].required == laws["mismatch-raises"].passed
            assert verdict.passed

    def test_no_law_is_checked_of_a_subject_that_is_not_repeatable(self) -> None:
        """They would all say the same."""
        verdict = verified(faulty.changes_its_mind, "float32", 14)
        assert {"repeatable"} == {law.name for law in verdict.laws if not law.passed}
        others = {law.name for law in verdict.laws} - {*CALL_LAWS, RETAIN_GRAPH}
        assert {0} == {law.checked for law in verdict.laws if law.name in others}


class TestRequirements:
    """What a subject is held to."""

    @pytest.mark.parametrize("name", builtin_names())
    def test_built_ins_earn_what_they_state(self, name: str) -> None:
        """Each in binary32, the wrong ones by being caught."""
        subject = load(name)
        verdict = verify_one(plan_of(subject, examples=78))
        assert verdict.passed, verdict.failure
        assert subject.stated["float32"].grade is verdict.required
        assert (verdict.grade is Grade.WRONG) == verdict.expected_wrong

    def test_worse_than_stated_fails(self) -> None:
        """A subject that states more than it earns; the smallest case is one that shows it."""
        claim = {"float32": Stated(Grade.STABLE, "a claim")}
        subject = Subject("boasting", Kind.NEURON, faulty.right, claim)
        verdict = verify_one(plan_of(subject, examples=130))
        assert "graded textbook, required stable" == verdict.failure
        assert verdict.counterexample is not None
        element = verdict.counterexample.element
        assert element is not None
        assert (Grade.TEXTBOOK, Grade.STABLE) == (element.grade, element.required)
        assert element.ulps is not None
        assert element.bound_ulps is not None
        assert abs(element.ulps) > element.bound_ulps

    def test_stated_wrong_but_not_caught_fails(self) -> None:
        """Then the search has become weaker."""
        claim = {"float32": Stated(Grade.WRONG, "a slander")}
        verdict = verify_one(plan_of(Subject("maligned", Kind.NEURON, faulty.right, claim)))
        assert not verdict.passed
        assert verdict.failure is not None
        assert verdict.failure.startswith(
            "stated wrong (a slander), but graded textbook in 40 cases"
        )
        assert "the search has become weaker" in verdict.failure

    def test_stated_wrong_and_caught_still_keeps_the_laws(self) -> None:
        """Being wrong is no licence to write to the inputs."""

        def wrong(x: Any, w: Any, b: Any, g: Any) -> Any:
            b.detach().add_(1)
            return faulty.divides(x, w, b, g)

        claim = {"float32": Stated(Grade.WRONG, "it divides")}
        verdict = verify_one(plan_of(Subject("rude", Kind.NEURON, wrong, claim)))
        assert "breaks the law inputs-untouched" == verdict.failure

    def test_require_overrides_what_is_stated(self) -> None:
        """In both directions."""
        sigmoid = load("sigmoid")
        assert "graded wrong, required textbook" == (
            verify_one(plan_of(sigmoid, require="textbook", examples=130)).failure
        )
        assert verify_one(plan_of(sigmoid, require="wrong")).passed
        assert not verify_one(plan_of(load("textbook"), require="correct", examples=130)).passed

    def test_activation_ulps(self) -> None:
        """The error allowed to tanh decides whether an output of a few ulps is explained."""

        def rough(x: Any, w: Any, b: Any, g: Any) -> Any:
            y, dx, dw, d = faulty.right(x, w, b, g)
            return torch.where(y.abs() < 0.9, y * (1 + 6 * 2.0**-23), y), dx, dw, d

        strict = verify_one(plan_of(rough, examples=65))
        assert "graded wrong, required textbook" == strict.failure
        lenient = verify_one(plan_of(rough, examples=65, activation_ulps=16.0))
        assert lenient.passed, lenient.failure
        assert 16.0 == lenient.activation_ulps


class TestFlushToZero:
    """A process found flushing is allowed what it loses, and no more."""

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_textbook_still_passes(self, dtype: str) -> None:
        """It runs with the flag on, is judged by bounds that know, and the flag stays as found."""
        seen: list[bool] = []

        def neuron(*arguments: Any) -> Any:
            seen.append(bool(flushing()))
            return faulty.right(*arguments)

        def run() -> tuple[bool, Verdict, bool]:
            plan = plan_of(neuron, dtype, examples=39)
            with subnormals_kept():
                verdict = verify_one(plan)
            return plan.flush_to_zero, verdict, bool(flushing())

        detected, verdict, left = in_flushing_thread(run)
        assert (True, True) == (detected, left)
        assert {True} == set(seen)
        assert verdict.passed, verdict.failure

    def test_a_fault_is_still_found(self) -> None:
        """Flushing explains no division."""

        def run() -> Verdict:
            plan = plan_of(faulty.divides)
            with subnormals_kept():
                return verify_one(plan)

        assert "graded wrong, required textbook" == in_flushing_thread(run).failure

    def test_flushing_in_secret_is_wrong(self) -> None:
        """A subject that loses subnormals in a process that keeps them, and does not declare it."""

        def neuron(*arguments: Any) -> Any:
            torch.set_flush_denormal(True)
            try:
                return faulty.right(*arguments)
            finally:
                torch.set_flush_denormal(False)

        undeclared = verify_one(plan_of(neuron, examples=130))
        assert "graded wrong, required textbook" == undeclared.failure
        declared = Subject("declared", Kind.NEURON, neuron, flush_to_zero=True)
        assert verify_one(plan_of(declared, examples=130)).passed


class TestKinds:
    """All that can be a subject."""

    @pytest.mark.parametrize(
        ("kind", "function"),
        [
            pytest.param(Kind.ACTIVATION, torch.tanh, id="a function is an activation"),
            pytest.param(Kind.ACTIVATION, torch.nn.Tanh(), id="a module is an activation"),
            pytest.param(
                Kind.TANH_GRADIENT, lambda y, dy: dy * (1 - y * y), id="a lambda is a gradient"
            ),
        ],
    )
    def test_sound(self, kind: Kind, function: Any) -> None:
        """Each earns `textbook`."""
        verdict = verify_one(plan_of(Subject("tested", kind, function), examples=65))
        assert (True, str(kind)) == (verdict.passed, verdict.kind)

    def test_faulty(self) -> None:
        """An activation with another slope, and a gradient that divides, are wrong."""

        class Slope(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return torch.tanh(x)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

        activation = Subject("tested", Kind.ACTIVATION, Slope.apply)
        assert "graded wrong, required textbook" == verify_one(plan_of(activation)).failure
        gradient = Subject("tested", Kind.TANH_GRADIENT, lambda y, dy: dy / (1 - y * y))
        verdict = verify_one(plan_of(gradient))
        assert "graded wrong, required textbook" == verdict.failure
        assert verdict.counterexample is not None
        assert () == verdict.counterexample.case.weights
        assert is_readable(verdict.counterexample.case)
