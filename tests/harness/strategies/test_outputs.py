"""Every regime of a raw tanh gradient holds the stored outputs that it says."""

import math
from collections import Counter
from fractions import Fraction

import pytest

from harness.case import DTYPES, Layout, format_of
from harness.strategies import Regime, regimes_for
from harness.strategies.outputs import output_window
from reference.formats import FORMATS, Format
from tests.drawn import output_cases

by_dtype = pytest.mark.parametrize("dtype", DTYPES)
by_regime = pytest.mark.parametrize("regime", regimes_for("tanh-gradient"))
RANGES = (Regime.TINY, Regime.LINEAR, Regime.CURVED, Regime.SATURATING, Regime.ONE)


def regime_of(y: float, format: Format) -> Regime:
    """Where a finite stored output lies, by exact arithmetic on 1 - y^2."""
    square = Fraction(y) ** 2
    p = format.precision
    if not y:
        return Regime.ZEROS
    if square < Fraction(2) ** format.emin:
        return Regime.TINY
    if square < Fraction(1, 4) ** (p // 2):
        return Regime.LINEAR
    if square == 1:
        return Regime.ONE
    # A member within an ulp of the edge may lie on either side: 1 - 2^-k is squared exactly.
    edge = 1 - Fraction(1, 2 ** (p // 2 + 1))
    return Regime.CURVED if square < edge**2 else Regime.SATURATING


@by_dtype
@by_regime
def test_every_output_lies_in_its_regime(dtype: str, regime: Regime) -> None:
    """Members of [-1, 1], or not finite in `special`; of any range in `long`."""
    format = format_of(dtype)
    for case in output_cases(dtype, regime):
        finite = [y for y in case.inputs if math.isfinite(y)]
        assert all(format.contains(y) and abs(y) <= 1 for y in finite[:50])
        assert () == case.weights
        assert 0.0 == case.bias
        assert format.contains(case.upstream_gradient)
        if regime is Regime.SPECIAL:
            assert len(finite) < len(case.inputs)
        elif regime is Regime.EMPTY:
            assert () == case.inputs
        elif regime not in (Regime.LONG, Regime.VERY_LONG):
            assert {regime} == {regime_of(y, format) for y in finite}


@by_regime
def test_every_layout_is_drawn(regime: Regime) -> None:
    """And expanded outputs repeat one element."""
    drawn = [case for dtype in DTYPES for case in output_cases(dtype, regime)]
    assert set(Layout) == {case.layout for case in drawn}
    for case in drawn:
        if case.layout is Layout.EXPANDED:
            assert 1 >= len({y.hex() for y in case.inputs})


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_the_ranges_meet(format: Format) -> None:
    """From the smallest subnormal to 1 without a gap or an overlap."""
    windows = [output_window(format, regime) for regime in RANGES]
    assert 1 == windows[0].low
    assert 1.0 == format.from_ordinal(windows[-1].high)
    assert [window.high + 1 for window in windows[:-1]] == [window.low for window in windows[1:]]


@by_dtype
def test_long_outputs_mix_the_ranges(dtype: str) -> None:
    """Neighbouring lanes lie in different ranges, so that branches and remainders are met."""
    drawn = output_cases(dtype, Regime.LONG)
    lanes = Counter(regime_of(y, format_of(dtype)) for case in drawn for y in case.inputs[:30])
    assert set(RANGES) == set(lanes)
    assert any(
        len({regime_of(y, format_of(dtype)) for y in case.inputs[:10]}) > 3 for case in drawn
    )
    assert 500 < max(len(case.inputs) for case in drawn)


@by_dtype
def test_outputs_next_to_one_are_drawn(dtype: str) -> None:
    """1 - k ulps for small k, where 1 - y^2 keeps the fewest bits."""
    format = format_of(dtype)
    one = format.ordinal(1.0)
    gaps = {
        one - abs(format.ordinal(y))
        for case in output_cases(dtype, Regime.SATURATING)
        for y in case.inputs
    }
    assert min(gaps) <= 2 ** max(0, format.precision // 2 - 6)


@by_dtype
def test_special_outputs_are_infinite_or_nan(dtype: str) -> None:
    """All three, and finite lanes beside them."""
    drawn = output_cases(dtype, Regime.SPECIAL)
    assert {"nan", "inf", "-inf"} <= {y.hex() for case in drawn for y in case.inputs}
    assert any(math.isfinite(y) for case in drawn for y in case.inputs)


def test_a_regime_that_is_no_range_is_refused() -> None:
    """It has no window."""
    with pytest.raises(ValueError, match="'special' is not a range of stored outputs"):
        output_window(FORMATS[0], Regime.SPECIAL)
