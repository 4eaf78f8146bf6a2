"""Error-free transformations against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.certified.doubledouble import (
    fast_two_sum,
    quotient,
    split,
    two_product,
    two_square,
    two_sum,
)


def wide(seed: int, size: int = 2000) -> np.ndarray:
    """Numbers of random significands, a third of them with few bits, over 2^+-100."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(1, 2, size) * 2.0 ** rng.integers(-100, 100, size)
    few = rng.integers(1, 1 << 10, size) * 2.0 ** rng.integers(-100, 100, size)
    return np.where(rng.random(size) < 1 / 3, few, values) * rng.choice([-1.0, 1.0], size)


def close(values: np.ndarray, seed: int) -> np.ndarray:
    """Numbers of nearby binades, so that sums cancel and carry."""
    rng = np.random.default_rng(seed)
    return values * rng.uniform(-2, 2, values.size) * 2.0 ** rng.integers(-60, 3, values.size)


def significant_bits(value: float) -> int:
    numerator = abs(Fraction(value).numerator)
    return (numerator // (numerator & -numerator)).bit_length() if numerator else 0


@pytest.mark.parametrize("ordered", [False, True], ids=["two_sum", "fast_two_sum"])
def test_sums_keep_every_bit(ordered: bool) -> None:
    """s + e is the sum, and s the sum rounded."""
    a = wide(1)
    b = close(a, 2)
    if ordered:
        a, b = np.where(np.abs(a) >= np.abs(b), a, b), np.where(np.abs(a) >= np.abs(b), b, a)
    s, e = fast_two_sum(a, b) if ordered else two_sum(a, b)
    for x, y, high, low in zip(a, b, s, e, strict=True):
        assert Fraction(x) + Fraction(y) == Fraction(high) + Fraction(low)
        assert float(x + y) == high


def test_products_keep_every_bit() -> None:
    """p + e is the product, and p the product rounded; also for squares."""
    a, b = wide(3), wide(4)
    for x, y, p, e in zip(a, b, *two_product(a, b), strict=True):
        assert Fraction(x) * Fraction(y) == Fraction(p) + Fraction(e)
        assert float(x * y) == p
    for x, p, e in zip(a, *two_square(a), strict=True):
        assert Fraction(x) ** 2 == Fraction(p) + Fraction(e)


@pytest.mark.parametrize("last", range(8), ids=lambda last: f"significand ending in {last:03b}")
def test_products_keep_every_bit_of_the_longest_significands(last: int) -> None:
    """Parts of 26 bits have exact products even where both factors end in any pattern."""
    rng = np.random.default_rng(last)
    low = (1 << 26) + rng.integers(-3, 4, 500)
    a = ((rng.integers(1 << 25, 1 << 26, 500) << 27) + low).astype(np.float64)
    b = 2.0**53 - 1 - last + np.zeros(500)
    for x, y, p, e in zip(a, b, *two_product(a, b), strict=True):
        assert Fraction(x) * Fraction(y) == Fraction(p) + Fraction(e)


def test_split_halves_have_26_bits() -> None:
    """high + low is the number and neither part has more than 26 bits, at carries too."""
    a = np.concatenate([wide(5), [2.0**53 - 1, 1 - 2.0**-53, 1 + 2.0**-26, 1 + 2.0**-27]])
    for x, high, low in zip(a, *split(a), strict=True):
        assert Fraction(x) == Fraction(high) + Fraction(low)
        assert significant_bits(high) <= 26
        assert significant_bits(low) <= 26


def test_division_is_accurate_to_its_bound() -> None:
    """Quotients of pairs are within a relative 2^-101."""
    rng = np.random.default_rng(6)
    pairs = []
    for seed in (7, 8):
        high = wide(seed, 5000)
        pairs.append((high, high * rng.uniform(-(2.0**-53), 2.0**-53, 5000)))
    high, _, correction = quotient(*pairs)
    worst = max(
        abs(
            (Fraction(q) + Fraction(ql))
            * (Fraction(d) + Fraction(dl))
            / (Fraction(n) + Fraction(nl))
            - 1
        )
        for q, ql, n, nl, d, dl in zip(high, correction, *pairs[0], *pairs[1], strict=True)
    )
    assert worst < Fraction(2) ** -101
