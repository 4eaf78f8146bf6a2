"""The second order in a verification: what fails by it, what does not, and what is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.explain import explain_case
from harness.grade import Grade
from harness.judge import Plan
from harness.second_order import RETAIN_GRAPH
from harness.second_order_verifier import (
    SecondOrderJudge,
    second_order_shares,
    verify_second_order,
)
from harness.strategies import Regime, regimes_for
from harness.subjects import Kind, Subject, load
from harness.verifier import verify_one
from tests.harness.second_order_subjects import FAULTY, SOUND, UNREPEATABLE, WITHOUT, activation
from tests.harness.test_shrink import is_small

ACTIVATIONS = {name: each for name, each in FAULTY.items() if each.kind is Kind.ACTIVATION}
NEURONS = {name: each for name, each in FAULTY.items() if each.kind is Kind.NEURON}


def plan_of(subject: Subject, dtype: str = "float32", examples: int = 60) -> Plan:
    """A plan that asks for what is asked of any subject."""
    return Plan(subject, dtype, "cpu", Grade.TEXTBOOK, examples, seed=1)


@pytest.mark.parametrize("subject", SOUND.values(), ids=SOUND)
def test_sound_subjects_pass(subject: Subject) -> None:
    """Whether somebody asks for a second order or not."""
    for asked in (None, Grade.TEXTBOOK):
        plan = replace(plan_of(subject), second_order=asked)
        found = verify_second_order(plan, shrink=True)
        assert found.verdict is not None
        assert (None, None) == (found.verdict.failure, found.unsteady)
        assert found.law.passed
        assert found.verdict.grade is not None
        assert found.verdict.examples == sum(second_order_shares(plan).values())


@pytest.mark.parametrize("subject", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_an_activation_promises_a_second_derivative(subject: Subject) -> None:
    """A wrong one fails the verdict, with a small case, whatever the first is worth."""
    plan = plan_of(subject)
    verdict = verify_one(plan)
    assert "the second order is graded wrong, required textbook" == verdict.failure
    assert verdict.second_order is not None
    shown = verdict.second_order.counterexample
    assert shown is not None
    assert shown.element is not None
    assert shown.element.grade == "wrong"
    assert is_small(shown.case)
    again = SecondOrderJudge(plan)(shown.case).judgement
    assert again is not None
    assert Grade.WRONG is again.grade


@pytest.mark.parametrize("subject", NEURONS.values(), ids=NEURONS)
def test_a_neuron_does_not(subject: Subject) -> None:
    """Its grade is reported, and fails the verdict of those who ask."""
    quiet = verify_second_order(plan_of(subject), shrink=True).verdict
    assert quiet is not None
    assert (Grade.WRONG, None, None) == (quiet.grade, quiet.required, quiet.failure)
    asked = replace(plan_of(subject), second_order=Grade.TEXTBOOK)
    loud = verify_second_order(asked, shrink=True).verdict
    assert loud is not None
    assert "the second order is graded wrong, required textbook" == loud.failure
    assert loud.counterexample is not None


@pytest.mark.parametrize(("subject", "reason"), WITHOUT.values(), ids=WITHOUT)
def test_without_a_second_order(subject: Subject, reason: str) -> None:
    """No failure, unless somebody asks for it: then the reason is one."""
    plan = plan_of(subject)
    if subject.kind is Kind.TANH_GRADIENT:
        found = verify_second_order(plan, shrink=True)
        assert (None, False) == (found.verdict, found.law.applies)
        return
    quiet = verify_second_order(plan, shrink=True).verdict
    assert quiet is not None
    assert (None, None) == (quiet.failure, quiet.grade)
    assert reason in (quiet.unsupported or "")
    assert (subject.kind is Kind.ACTIVATION) == (quiet.examples > 0)
    asked = verify_second_order(replace(plan, second_order=Grade.TEXTBOOK), shrink=True).verdict
    assert asked is not None
    assert reason in (asked.failure or "")


@pytest.mark.parametrize(("function", "message"), UNREPEATABLE.values(), ids=UNREPEATABLE)
def test_a_backward_pass_that_does_not_repeat_fails(function: object, message: str) -> None:
    """By the law, with a small case that `explain` shows broken again."""
    subject = activation(function, "unrepeatable")  # type: ignore[arg-type]
    verdict = verify_one(plan_of(subject))
    (law,) = verdict.broken_laws
    assert RETAIN_GRAPH == law.name
    assert law.counterexample is not None
    assert message in law.counterexample.message
    assert is_small(law.counterexample.case)
    assert f"breaks the law {RETAIN_GRAPH}" in explain_case(subject, law.counterexample.case)


def test_no_more_is_asked_than_of_the_first_order() -> None:
    """A subject that may be wrong may have a wrong second derivative; one known to be wrong too."""
    for plan in (
        replace(plan_of(load("sigmoid")), required=Grade.WRONG),
        replace(plan_of(load("sigmoid")), expected_wrong=True),
    ):
        verdict = verify_second_order(plan, shrink=True).verdict
        assert verdict is not None
        assert (Grade.WRONG, None) == (verdict.grade, verdict.failure)


@pytest.mark.parametrize("examples", [1, 10, 100, 500, 1000, 5000])
def test_shares(examples: int) -> None:
    """Every regime but the costliest has a case, and a small part of the examples is enough."""
    shares = second_order_shares(plan_of(load("torch-tanh"), examples=examples))
    assert {*regimes_for(Kind.ACTIVATION)} - {Regime.VERY_LONG} == set(shares)
    assert min(shares.values()) >= 1
    assert sum(shares.values()) <= max(4 * len(shares), examples // 16)
    if examples >= 100:
        assert sorted(shares.values())[1] >= 4


def test_equal_seeds_find_the_same() -> None:
    """The verdict is a function of the plan."""
    subject = FAULTY[next(iter(ACTIVATIONS))]
    first, second = (verify_second_order(plan_of(subject), shrink=True) for _ in range(2))
    assert first == second
