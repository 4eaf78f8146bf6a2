"""Transformed cases: where a law speaks, and where it has nothing to say."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from harness.case import Case, Layout
from harness.subjects import Kind
from tests.harness import faulty
from tests.harness.laws.looking import breach, finding

CASE = Case("float32", (1.5, 0.25), (0.5, -1.0), 0.25, 2.0)


def domain(name: str, case: Case, kind: Kind = Kind.NEURON) -> bool:
    """Whether a law broken by every other call is seen to be: whether it speaks of the case."""
    calls: list[int] = []

    def never_the_same(*arguments: Any) -> Any:
        calls.append(1)
        if kind is Kind.TANH_GRADIENT:
            return torch.full_like(arguments[0], len(calls))
        return tuple(each * 0 + len(calls) for each in faulty.right(*arguments))

    return breach(name, never_the_same, case, kind) is not None


@pytest.mark.parametrize(
    ("name", "changes", "speaks"),
    [
        pytest.param("swap", {}, True, id="swap: two vectors"),
        pytest.param("swap", {"inputs": (), "weights": ()}, False, id="swap: nothing to swap"),
        pytest.param("output-odd", {"inputs": (), "weights": ()}, True, id="odd: a bias will do"),
        pytest.param("gradient-odd", {}, True, id="gradient-odd: a g that is not 0"),
        pytest.param("gradient-odd", {"upstream_gradient": -0.0}, False, id="gradient-odd: g = 0"),
        pytest.param(
            "gradient-odd", {"upstream_gradient": math.nan}, False, id="gradient-odd: g is NaN"
        ),
        pytest.param("doubling", {}, True, id="doubling: ordinary numbers"),
        pytest.param("doubling", {"upstream_gradient": 0.0}, False, id="doubling: g = 0"),
        pytest.param(
            "doubling", {"upstream_gradient": 2.0**127}, False, id="doubling: 2 g overflows"
        ),
        pytest.param(
            "doubling", {"upstream_gradient": 2.0**-126}, False, id="doubling: d may underflow"
        ),
        pytest.param(
            "doubling", {"upstream_gradient": math.inf}, False, id="doubling: g is infinite"
        ),
    ],
)
def test_domain(name: str, changes: dict[str, Any], speaks: bool) -> None:
    """A law says nothing of a case outside its domain."""
    fields = {
        "dtype": "float32",
        "inputs": CASE.inputs,
        "weights": CASE.weights,
        "bias": CASE.bias,
        "upstream_gradient": CASE.upstream_gradient,
        **changes,
    }
    assert speaks == domain(name, Case(**fields))


def test_zeros_of_either_sign_are_equal() -> None:
    """A sum that cancels is +0, and so is its mirror image."""
    case = Case("float32", (1.0,), (1.0,), -1.0, 1.0)
    assert breach("output-odd", faulty.right, case) is None
    assert finding("output-odd", faulty.right, case).checked == ("output-odd",)


def test_specials_are_compared() -> None:
    """inf * 0 is NaN both ways, and an infinite sum saturates both ways."""
    for x, w in ((math.inf, 0.0), (math.inf, -2.0), (math.nan, 1.0)):
        case = Case("float32", (x,), (w,), 0.0, 1.0)
        for name in ("swap", "output-odd", "gradient-even", "gradient-odd"):
            assert breach(name, faulty.right, case) is None


def test_doubling_compares_what_is_far_from_underflow() -> None:
    """A subnormal gradient of an ordinary d is left alone; the ordinary ones are not."""
    case = Case("float32", (1.0, 1.0), (2.0**-140, 1.0), 0.5, 3.0)
    assert breach("doubling", faulty.right, case) is None

    def half(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        return y, torch.where(g.abs() > 4, dx * 0.5, dx), dw, d

    assert "input_gradient[1]" in str(breach("doubling", half, case))


def test_permutation_where_the_sum_is_another() -> None:
    """1/2 + 2^-25 + 2^-25 depends on the order: then there is nothing to compare."""

    def one_by_one(x: Any, w: Any, b: Any, g: Any) -> Any:
        total = b
        for term in x * w:
            total = total + term
        y = torch.tanh(total)
        d = g * (1 - y * y)
        return y, d * w, d * x, d

    small = 2.0**-25
    case = Case("float32", (0.5, small, small), (1.0, 1.0, 1.0), 0.0, 1.0)
    assert breach("permutation", one_by_one, case) is None

    def rolled(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        return y, dx.roll(1), dw, d

    three = Case("float32", (1.0, 2.0, 3.0), (0.5, 0.25, 0.125), 0.25, 1.0)
    assert "input_gradient[0]" in str(breach("permutation", rolled, three))


@pytest.mark.parametrize("layout", Layout)
def test_in_every_layout(layout: Layout) -> None:
    """Transformed cases keep the layout, and one that repeats an element still can."""
    vector = (0.5, 0.5) if layout is Layout.EXPANDED else (0.5, -1.25)
    case = Case("float32", vector, vector[::-1], 0.25, 3.0, layout)
    names = ("swap", "output-odd", "gradient-even", "gradient-odd", "doubling", "permutation")
    for name in (*names, "lanes", "zero-padding", "layout", "output-monotone"):
        assert finding(name, faulty.right, case).checked == (name,)
        assert breach(name, faulty.right, case) is None
