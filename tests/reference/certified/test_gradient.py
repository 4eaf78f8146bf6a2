"""Enclosures of 1 - y^2 and dy * (1 - y^2) against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.certified.enclosures import Enclosures
from reference.certified.gradient import one_minus_square, tanh_gradient

_RNG = np.random.default_rng(1)

OUTPUTS = {
    "stored outputs": np.tanh(_RNG.uniform(-8, 8, 2000)),
    "close to 1": 1.0 + _RNG.integers(-60, 60, 500) * 2.0**-53,
    "small": _RNG.uniform(1, 2, 2000) * 2.0 ** _RNG.integers(-110, 0, 2000),
    "large": _RNG.uniform(1, 2, 2000) * 2.0 ** _RNG.integers(0, 70, 2000),
    "few bits": _RNG.integers(1, 1 << 10, 2000) * 2.0 ** _RNG.integers(-12, 0, 2000),
    "the whole range": _RNG.uniform(1, 2, 2000) * 2.0 ** _RNG.integers(-1074, 1023, 2000),
}


def assert_holds(values: Enclosures, i: int, exact: Fraction, what: str) -> None:
    """Zero, or within the radius of head + tail; equal to it where the radius is 0."""
    if not exact:
        assert values.kind[i] == 0.0, what
        return
    assert values.kind[i] == (1 if exact > 0 else -1), what
    found = Fraction(float(values.head[i])) + Fraction(float(values.tail[i]))
    off = abs(found - abs(exact) / Fraction(2) ** int(values.scale[i]))
    assert off <= Fraction(float(values.radius[i])), what
    assert float(values.head[i] + values.tail[i]) == values.head[i], what


@pytest.mark.parametrize("y", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_enclosures_hold_the_rational_values(y: np.ndarray) -> None:
    """1 - y^2 and its product with upstream gradients of any size, exact where they claim to be."""
    dy = _RNG.uniform(1, 2, y.size) * 2.0 ** _RNG.integers(-1074, 1023, y.size)
    dy[::2] = _RNG.integers(1, 1 << 12, y[::2].size)
    with np.errstate(all="ignore"):
        factor, product = one_minus_square(y), tanh_gradient(y, dy)
    for i, (a, b) in enumerate(zip(y.tolist(), dy.tolist(), strict=True)):
        exact = 1 - Fraction(a) ** 2
        assert_holds(factor, i, exact, f"1 - ({a.hex()})^2")
        assert_holds(product, i, exact * Fraction(b), f"{b.hex()} * (1 - ({a.hex()})^2)")


def test_bits_that_a_pair_cannot_hold_are_in_the_radius() -> None:
    """Squares of small full significands reach further down than a pair, and many do."""
    y = _RNG.uniform(1, 2, 1000) * 2.0**-20
    with np.errstate(all="ignore"):
        radius = one_minus_square(y).radius
    assert (radius > 0.0).mean() > 0.5
    assert radius.max() < 2.0**-104
