"""One case as an assertion, and the test that a failure hands over."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch

import harness
from harness.case import Case
from harness.direction import Direction
from harness.pasted import pasted_test
from harness.verdict import VerificationError
from tests.harness import faulty
from tests.harness.second_order_subjects import FAULTY

CASE = Case("float32", (), (), 0.5, 1.0)
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
    subject = next(each for each in FAULTY.values() if each.kind is harness.Kind.ACTIVATION)
    with pytest.raises(VerificationError, match="bias_hessian_product: wrong"):
        harness.check(subject, along)


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
