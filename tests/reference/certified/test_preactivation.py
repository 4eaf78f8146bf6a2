"""Preactivations as pairs against exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.certified.preactivation import preactivations
from reference.formats import BINARY32, BINARY64, FORMATS, Format
from tests.certified_inputs import truncated


def exact_sums(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> list[Fraction]:
    return [
        sum((Fraction(p) * Fraction(q) for p, q in zip(xs, ws, strict=True)), Fraction(bias))
        for xs, ws, bias in zip(x.tolist(), w.tolist(), b.tolist(), strict=True)
    ]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("width", [0, 1, 2, 3, 8, 100])
@pytest.mark.parametrize("spread", [0, 30], ids=["alike", "of all sizes"])
def test_sums_lie_within_their_uncertainty(spread: int, width: int, format: Format) -> None:
    """high + low is off by at most the uncertainty, with half of the terms cancelling."""
    rng = np.random.default_rng([width, spread, format.precision])
    spread = min(spread, format.emax - 4)
    batch = 60

    def draw(*shape: int) -> np.ndarray:
        size = 2.0 ** rng.integers(-spread, spread + 1, shape) if spread else 1.0
        return truncated(rng.normal(size=shape) * size, format).astype(np.float64)

    x, w, b = draw(batch, width), draw(batch, width), draw(batch)
    half = width // 2
    x[:, half : 2 * half], w[:, half : 2 * half] = -x[:, :half], w[:, :half]
    found = preactivations(x, w, b, format)
    assert not (found.unknown & (found.high != 0.0)).any()
    for i, exact in enumerate(exact_sums(x, w, b)):
        off = abs(Fraction(found.high[i]) + Fraction(found.low[i]) - exact)
        assert off <= Fraction(found.uncertainty[i])
        assert found.high[i] == found.high[i] + found.low[i]


def test_one_product_and_a_bias_are_exact_up_to_binary32() -> None:
    """The error of one sum is a number: no uncertainty, however far the terms are apart."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 1)).astype(np.float32).astype(np.float64)
    w = (rng.normal(size=(500, 1)) * 2.0 ** rng.integers(-90, 90, (500, 1))).astype(np.float32)
    found = preactivations(x, w.astype(np.float64), x[:, 0], BINARY32)
    assert (found.uncertainty == 0.0).all()
    assert (found.low != 0.0).any()


def test_products_that_underflow_are_in_the_uncertainty() -> None:
    """Products of subnormal numbers are off by less than the 2^-1062 that is added for each."""
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 2, (300, 2)) * 2.0 ** rng.integers(-560, -480, (300, 2))
    w = rng.uniform(1, 2, (300, 2)) * 2.0 ** rng.integers(-560, -480, (300, 2))
    b = rng.uniform(1, 2, 300) * 2.0 ** rng.integers(-1070, -1000, 300)
    found = preactivations(x, w, b, BINARY64)
    assert (found.uncertainty >= 2.0**-1062).any()
    for i, exact in enumerate(exact_sums(x, w, b)):
        off = abs(Fraction(found.high[i]) + Fraction(found.low[i]) - exact)
        assert off <= Fraction(found.uncertainty[i])


@pytest.mark.parametrize("size", [1e200, 1.7e308], ids=["product", "factor"])
def test_overflowing_neurons_are_unknown(size: float) -> None:
    """Neurons that leave the range of pairs are marked, and their neighbours are not."""
    x, w = np.array([[1.0, 2.0], [size, 2.0]]), np.array([[0.5, 3.0], [size, 3.0]])
    with np.errstate(all="ignore"):
        found = preactivations(x, w, np.array([0.25, 0.25]), BINARY64)
    assert [False, True] == found.unknown.tolist()
    assert 6.75 == found.high[0]


@pytest.mark.parametrize(
    ("x", "w", "b", "expected"),
    [
        ([np.inf, 1.0], [1.0, 1.0], 0.0, "inf"),
        ([np.inf, 1.0], [-1.0, 1.0], 0.0, "-inf"),
        ([np.inf, 1.0], [0.0, 1.0], 0.0, "nan"),
        ([np.inf, np.inf], [1.0, -1.0], 0.0, "nan"),
        ([1e308, 1.0], [-1e308, np.inf], 0.0, "inf"),
        ([1e308, 1.0], [1e308, 1.0], -np.inf, "-inf"),
        ([1.0, np.nan], [1.0, 0.0], 0.0, "nan"),
        ([0.0, -0.0], [-1.0, 1.0], -0.0, "-0.0"),
        ([0.0, 0.0], [-1.0, 1.0], -0.0, "0.0"),
        ([1.0, -1.0], [1.0, 1.0], 0.0, "0.0"),
    ],
)
def test_special_sums(x: list[float], w: list[float], b: float, expected: str) -> None:
    """IEEE 754 on the exact values: finite products do not overflow, -0 only from -0 alone."""
    with np.errstate(all="ignore"):
        found = preactivations(np.array([x]), np.array([w]), np.array([b]), BINARY64)
    assert expected == str(float(found.high[0]))
    assert not found.unknown[0]
