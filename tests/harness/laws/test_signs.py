"""Bounds and signs: which results break the laws, and which may look odd and do not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.case import Case
from harness.laws.law import Seen
from harness.laws.signs import GRADIENT_SIGN, OUTPUT_BOUNDED, ZERO_SIGN
from harness.subjects import Kind

ABOVE = math.nextafter(1.0, 2.0)


def said(law: Any, y: float, d: float, g: float, dx: float = 1.0) -> str | None:
    """What a law says of results; no law here calls the subject."""
    case = Case("float64", (1.0,), (-1.0,), 0.0, g)
    values = {
        "output": [y],
        "input_gradient": [dx],
        "weight_gradient": [1.0],
        "bias_gradient": [d],
    }
    text: str | None = law.broken(Kind.NEURON, Seen(case, values), None)
    return text


@pytest.mark.parametrize(
    ("y", "kept"),
    [
        (1.0, True),
        (-1.0, True),
        (ABOVE, False),
        (-ABOVE, False),
        (math.inf, False),
        (math.nan, True),
    ],
)
def test_output_bounded(y: float, kept: bool) -> None:
    """1 is the most there may be; NaN is for the grades."""
    assert kept == (said(OUTPUT_BOUNDED, y, 1.0, 1.0) is None)


@pytest.mark.parametrize(
    ("y", "d", "g", "kept"),
    [
        pytest.param(0.5, 1.0, 1.0, True, id="the sign of g"),
        pytest.param(0.5, -1.0, -1.0, True, id="the sign of a negative g"),
        pytest.param(0.5, -5e-324, 1.0, False, id="the other sign, however small"),
        pytest.param(0.5, 5e-324, -1.0, False, id="the other sign for a negative g"),
        pytest.param(1.0, -1e-16, 1.0, False, id="1 - y*y below 0 where y is 1"),
        pytest.param(1.0, -0.0, 1.0, True, id="a zero of the other sign"),
        pytest.param(ABOVE, -1e-16, 1.0, True, id="the formula where |y| > 1"),
        pytest.param(math.nan, -1.0, 1.0, True, id="no output to speak of"),
        pytest.param(0.5, math.nan, 1.0, True, id="NaN has no sign"),
        pytest.param(0.5, -1.0, 0.0, True, id="g = 0 has no sign to have"),
        pytest.param(0.5, 1.0, math.nan, True, id="nor has NaN"),
        pytest.param(0.5, -math.inf, math.inf, False, id="infinities have"),
    ],
)
def test_gradient_sign(y: float, d: float, g: float, kept: bool) -> None:
    """No d opposite to g."""
    assert kept == (said(GRADIENT_SIGN, y, d, g) is None)


@pytest.mark.parametrize(
    ("d", "dx", "g", "text"),
    [
        pytest.param(0.0, -0.0, 1.0, None, id="d = +0 for g > 0; times a weight of -1"),
        pytest.param(-0.0, 0.0, -1.0, None, id="the mirror image"),
        pytest.param(-0.0, 0.0, -0.0, None, id="g = -0"),
        pytest.param(-0.0, 1.0, 1.0, "bias_gradient is -0x0.0p+0; expected 0x0.0p+0", id="d"),
        pytest.param(1.0, 0.0, 1.0, "input_gradient[0] is 0x0.0p+0; expected -0x0.0p+0", id="dx"),
        pytest.param(1.0, -1.0, 1.0, None, id="nothing is zero"),
        pytest.param(-0.0, 0.0, math.nan, None, id="g is NaN"),
    ],
)
def test_zero_sign(d: float, dx: float, g: float, text: str | None) -> None:
    """A zero has the sign of its product."""
    assert text == said(ZERO_SIGN, 0.5, d, g, dx)


def test_lanes_of_a_raw_gradient() -> None:
    """Each with its own y: the sign counts only where |y| <= 1."""
    case = Case("float64", (0.5, ABOVE, 1.0), (), 0.0, 1.0)

    def said_of(*d: float) -> str | None:
        seen = Seen(case, {"gradient": list(d)})
        # The law reads the values, and asks nothing else of the subject.
        return GRADIENT_SIGN.broken(Kind.TANH_GRADIENT, seen, None)  # type: ignore[arg-type]

    assert said_of(0.75, -1e-16, 0.0) is None
    assert "gradient[2] is -0x" in str(said_of(0.75, -1e-16, -1e-16))
