"""Ranges on which every exact value rounds to the same: true to their ends, and said as judged."""

from math import inf

import numpy as np
import pytest

from reference import certified
from reference.certified.alike import Alike
from reference.exact import exact
from reference.formats import BINARY16, BINARY32, BINARY64, Format
from reference.measure import error
from reference.neuron import sech2, tanh, tanh_gradient

SIZE = 64

wide = pytest.mark.parametrize("format", [BINARY32, BINARY64], ids=lambda format: format.name)


def thresholds(format: Format) -> dict[str, int]:
    return Alike(format, 1).thresholds._asdict()


def block(format: Format, start: int) -> np.ndarray:
    return certified.members(format, start, start + SIZE)


@wide
def test_plain_results_are_right_up_to_the_ends_of_the_ranges(format: Format) -> None:
    """Correctly rounded, within 2^-8 ulps of the exact values, which is an error of 0."""
    limits = thresholds(format)
    least, tiny, saturated, last = (
        1,
        limits["tiny"] - 1,
        limits["saturated"],
        limits["infinity"] - 1,
    )
    sweep = certified.ActivationSweep(format, SIZE)
    for at in (least, tiny, saturated, last):
        plain = sweep.plain(at, at)
        assert plain is not None
        x = format.from_bits(at)
        for real, computed in (
            (tanh(exact(x)), x if plain.identity else 1.0),
            (sech2(exact(x)), plain.gradient),
        ):
            found = error(real, computed, format)
            assert found is not None
            assert found.correct
            assert abs(found.ulps) < 2.0**-8


@wide
def test_plain_raw_gradients_are_right_up_to_the_ends_of_the_ranges(format: Format) -> None:
    """1 - y^2 rounds to 1, or overflows to -inf."""
    limits = thresholds(format)
    sweep = certified.TanhGradientSweep(format, SIZE)
    for at in (0, limits["tiny"] - 1, limits["overflowing"], limits["infinity"] - 1):
        plain = sweep.plain(at, at)
        assert plain is not None
        assert plain == tanh_gradient(format.from_bits(at), 1.0).rounded(format)


@wide
def test_what_is_plain_is_judged_to_have_no_error(format: Format) -> None:
    """And where the judgement is not that, nothing is called plain."""
    limits = thresholds(format)
    activation = certified.ActivationSweep(format, SIZE)
    raw = certified.TanhGradientSweep(format, SIZE)
    for start in (0, limits["tiny"] - SIZE, limits["saturated"], limits["infinity"] - SIZE):
        x = block(format, start)
        plain = activation.plain(start, start + SIZE - 1)
        assert plain is not None
        output = x if plain.identity else np.ones_like(x)
        gradient = np.full_like(x, plain.gradient)
        for sign in (1, -1):
            for judged in activation.judge(sign * x, sign * output, gradient):
                assert not judged.ulps.any()
                assert not (judged.misrounded.any() or judged.unfaithful.any())
                assert 0 == judged.escalated
    for start in (0, limits["tiny"] - SIZE, limits["overflowing"], limits["infinity"] - SIZE):
        y = block(format, start)
        factor = raw.plain(start, start + SIZE - 1)
        judged = raw.judge(y, np.full_like(y, factor))
        assert not (judged.ulps.any() or judged.misrounded.any() or judged.unfaithful.any())


@wide
def test_nothing_is_plain_across_or_beyond_an_end(format: Format) -> None:
    """One number too many on either side, infinity, NaN."""
    limits = thresholds(format)
    activation = certified.ActivationSweep(format, SIZE)
    raw = certified.TanhGradientSweep(format, SIZE)
    nan = 1 + limits["infinity"]
    for sweep, upper in ((activation, "saturated"), (raw, "overflowing")):
        ends = ((0, limits["tiny"]), (limits[upper] - 1, nan - 2), (limits[upper], nan - 1))
        for least, greatest in (*ends, (nan - 1, nan - 1), (nan, nan)):
            assert None is sweep.plain(least, greatest)


def test_formats_of_16_bits_have_no_plain_ranges() -> None:
    """There is little to gain."""
    assert None is certified.ActivationSweep(BINARY16).plain(0, 1)
    assert None is certified.TanhGradientSweep(BINARY16).plain(0, 1)
    assert -inf == certified.TanhGradientSweep(BINARY32).plain(0x7F000000, 0x7F000000)
