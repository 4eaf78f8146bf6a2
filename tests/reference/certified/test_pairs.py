"""The pairs of sweeps against mpmath's enclosures: attempts to leave their slack."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.certified.pairs import GREATEST, LEAST, PART, parts
from reference.dyadic import from_float
from reference.elementary import tanh_sech2
from tests.rationals import fraction

_STEP = float(np.log(2.0)) / 8192
_RNG = np.random.default_rng(1)

ARGUMENTS = {
    "every binade": 2.0 ** _RNG.uniform(-30, 8, 3000),
    "least": LEAST * (1 + np.arange(50) * 2.0**-52),
    "greatest": GREATEST * (1 - np.arange(50) * 2.0**-53),
    "seams": np.concatenate([s * (1 + np.arange(-40, 40) * 2.0**-52) for s in (2.0**-9, 0.34)]),
    "half steps of the table": (_RNG.integers(23, 1 << 21, 1000) + 0.5) * _STEP,
    "entries of the table": _RNG.integers(23, 1 << 21, 1000) * _STEP,
    "curved": _RNG.uniform(2.0**-9, 4.0, 3000),
}


@pytest.mark.parametrize("a", ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_values_stay_within_the_slack(a: np.ndarray) -> None:
    """|value - high - low| < slack for both, and high is the sum rounded."""
    a = a[(a >= LEAST) & (a <= GREATEST)]
    seen = np.zeros(a.size, np.int64)
    for index, values in parts(a):
        seen[index] += 1
        arguments = a[index]
        for name, (high, low), slack in (
            ("tanh", values.tanh, values.tanh_slack),
            ("sech2", values.sech2, values.sech2_slack),
        ):
            assert np.array_equal(high, high + low)
            slacks = np.broadcast_to(np.asarray(slack), high.shape)
            for i, argument in enumerate(arguments.tolist()):
                lower, upper = getattr(tanh_sech2(from_float(argument), 1000), name)
                found = Fraction(high[i]) + Fraction(low[i])
                off = max(abs(found - fraction(lower)), abs(found - fraction(upper)))
                assert off < Fraction(slacks[i]), f"{name}({argument.hex()})"
    assert (seen == 1).all()


def test_slack_is_small_enough_to_settle_nearly_all_roundings() -> None:
    """Below 2^-13 half ulps everywhere, and 2^-18 where tanh is curved."""
    for exponent, a in (
        (-13, 2.0 ** _RNG.uniform(-30, 8, 20000)),
        (-18, _RNG.uniform(0.1, 4, 20000)),
    ):
        for _, values in parts(a):
            for (high, _), slack in (
                (values.tanh, values.tanh_slack),
                (values.sech2, values.sech2_slack),
            ):
                assert (slack / high).max() < 2.0 ** (exponent - 53)


def test_long_arrays_come_in_parts_of_one_range() -> None:
    """Every element is in one part, and parts are of bounded length."""
    a = 2.0 ** _RNG.uniform(-30, 8, 5 * PART + 3)
    found = np.concatenate([np.arange(a.size)[index] for index, _ in parts(a)])
    assert list(range(a.size)) == sorted(found.tolist())
    assert max(values.tanh[0].size for _, values in parts(a)) <= PART
