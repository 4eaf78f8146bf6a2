"""One case as an assertion, and the test that a failure hands over."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch

import harness
from harness.api import make_plans, named_subject
from harness.case import Case
from harness.direction import Direction
from harness.grade import Grade
from harness.one_case import judge_case
from harness.pasted import pasted_test
from harness.verdict import VerificationError
from tests.harness import faulty
from tests.harness.second_order_subjects import FAULTY, UNREPEATABLE

CASE = Case("float32", (), (), 0.5, 1.0)
DOWN = Direction((1.0,), (-1.0,), 0.5)
FAR = Case("float32", (), (), 9.0, 1.0)


def without_the_square(x: Any, w: Any, b: Any, g: Any) -> Any:
    """A neuron whose derivative lacks the square."""
    y = torch.tanh((x * w).sum() + b)
    d = g * (1 - y)
    return y, d * w, d * x, d


def test_what_earns_its_grade_passes() -> None:
    """A built-in, a callable, a case as JSON; what is stated wrong passes as such."""
    harness.check("textbook", CASE)
    harness.check(torch.tanh, CASE.to_json(), kind="activation", require="textbook")
    harness.check("aten-tanh-gradient", Case("float32", (0.5,), (), 0.0, 1.0))
    harness.check("exponential", Case("float32", (), (), 2.0**-7, 1.0))


def test_what_does_not_is_described() -> None:
    """As a verification describes it."""
    with pytest.raises(VerificationError, match="bias_gradient: wrong") as failed:
        harness.check(without_the_square, CASE)
    assert CASE.to_json() in str(failed.value)
    with pytest.raises(VerificationError, match="graded textbook, required stable"):
        harness.check("textbook", FAR, require="stable")
    with pytest.raises(VerificationError, match="raised ArithmeticError"):
        harness.check(faulty.raises, Case("float32", (1.0, 2.0), (1.0, 2.0), 0.0, 1.0))


def test_laws() -> None:
    """A required one fails; an observed one only if it is asked for."""
    with pytest.raises(VerificationError, match="breaks the law inputs-untouched"):
        harness.check(faulty.writes_inputs, Case("float32", (1.0, 2.0), (1.0, 2.0), 0.0, 1.0))

    def silent(x: Any, w: Any, b: Any, g: Any) -> Any:
        y = torch.tanh((x * w).sum() + b)
        d = g * (1 - y * y)
        return y, d * w, d * x, d

    harness.check(silent, CASE)
    with pytest.raises(VerificationError, match="breaks the law mismatch-raises"):
        harness.check(silent, CASE, strict_laws=True)


def test_the_second_order() -> None:
    """Of a case with a direction."""
    along = Case("float32", (), (), 1.0, 1.0, direction=Direction((), (), 1.0))
    harness.check("torch-tanh", along)
    # Stated wrong in its first order, of which this is no case.
    harness.check("exponential", along)
    subject = next(each for each in FAULTY.values() if each.kind is harness.Kind.ACTIVATION)
    with pytest.raises(VerificationError, match="bias_hessian_product: wrong"):
        harness.check(subject, along)


def test_a_case_of_the_second_order_is_held_to_its_own_requirement() -> None:
    """As in a verification: textbook, though more is required of the first order."""
    along = Case("float32", (), (), 7.0, 1.0, direction=Direction((), (), 1.0))
    (plan,) = make_plans(
        [named_subject(torch.tanh, "activation")],
        dtypes=["float32"],
        devices=["cpu"],
        require="faithful",
        examples=1,
        seed=0,
        activation_ulps=None,
    )
    verdict = judge_case(plan, along)
    assert (Grade.TEXTBOOK, Grade.TEXTBOOK, None) == (
        verdict.grade,
        verdict.required,
        verdict.failure,
    )
    with pytest.raises(VerificationError, match="graded textbook, required faithful"):
        harness.check(torch.tanh, along, kind="activation", require="faithful")
    neuron = next(each for each in FAULTY.values() if each.kind is harness.Kind.NEURON)
    (plan,) = make_plans(
        [named_subject(neuron)],
        dtypes=["float32"],
        devices=["cpu"],
        require=None,
        examples=1,
        seed=0,
        activation_ulps=None,
    )
    assert judge_case(plan, Case("float32", (0.5,), (0.5,), 0.5, 1.0, direction=DOWN)).passed


@pytest.mark.parametrize(
    ("subject", "case", "message"),
    [
        ("textbook", Case("float32", (1.0,), (), 0.0, 1.0), "which fits a tanh-gradient"),
        ("aten-tanh-gradient", Case("float32", (1.0,), (1.0,), 0.0, 1.0), "which fits a neuron"),
        (
            "aten-tanh-gradient",
            Case("float32", (), (), 0.0, 1.0, direction=Direction((), (), 1.0)),
            "has no second order; leave the direction out",
        ),
    ],
)
def test_a_case_that_does_not_fit(subject: str, case: Case, message: str) -> None:
    """One line says so."""
    with pytest.raises(harness.UsageError, match=message):
        harness.check(subject, case)


def test_a_graph_that_cannot_be_kept() -> None:
    """Fails an activation; of a neuron it is observed."""
    along = Case("float32", (), (), 1.0, 2.0, direction=Direction((), (), 1.0))
    halves = UNREPEATABLE[next(iter(UNREPEATABLE))][0]
    with pytest.raises(VerificationError, match="breaks the law retain-graph"):
        harness.check(halves, along, kind="activation")

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        y = halves((x * w).sum() + b)
        (d,) = torch.autograd.grad(y, b, g, create_graph=True)
        return y, d * w, d * x, d

    (plan,) = make_plans(
        [named_subject(neuron)],
        dtypes=["float32"],
        devices=["cpu"],
        require=None,
        examples=1,
        seed=0,
        activation_ulps=None,
    )
    broken = [law.name for law in judge_case(plan, along).broken_laws]
    assert "retain-graph" not in broken


@pytest.mark.parametrize("text", ["", "{}", CASE.to_json().replace("float32", "float8")])
def test_text_that_is_no_case(text: str) -> None:
    """One line."""
    with pytest.raises(harness.UsageError, match=r"^case: ") as failed:
        harness.check("textbook", text)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("subject", "options"),
    [
        pytest.param(without_the_square, {}, id="a function that can be imported"),
        pytest.param("exponential", {"require": "textbook"}, id="a built-in"),
        pytest.param(faulty.writes_inputs, {}, id="a broken law"),
        pytest.param(lambda *a: without_the_square(*a), {}, id="a local function"),
        pytest.param(
            next(each for each in FAULTY.values() if each.kind is harness.Kind.ACTIVATION),
            {},
            id="a second derivative",
        ),
    ],
)
def test_a_failure_as_a_test(subject: Any, options: dict[str, str]) -> None:
    """It stands in the message, and fails when it is pasted and run."""
    verification = harness.verify(
        subject, dtypes=["float32"], devices=["cpu"], examples=30, seed=1, **options
    )
    (verdict,) = verification.verdicts
    source = pasted_test(verdict)
    assert source is not None
    with pytest.raises(VerificationError) as failed:
        verification.raise_for_failure()
    assert source in str(failed.value)
    (function,) = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    assert function.name.startswith("test_")
    names: dict[str, Any] = {"subject": subject}
    exec(source, names)
    with pytest.raises(VerificationError):
        names[function.name]()


def test_a_pass_has_no_test() -> None:
    """Nothing is to be pasted."""
    (verdict,) = harness.verify(
        "textbook", dtypes=["float32"], devices=["cpu"], examples=14, seed=1
    ).verdicts
    assert pasted_test(verdict) is None
