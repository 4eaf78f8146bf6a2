"""The exact test and interval of a median: against scipy, against their definition, in coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.bench.median import fewest_above, interval, p_above, p_below

VALUES = st.lists(st.floats(allow_nan=False), min_size=1, max_size=60)
LEVELS = st.sampled_from([0.05, 0.01, 0.005, 0.0025, 1e-4])


@given(VALUES, st.floats(allow_nan=False))
def test_p_is_that_of_a_binomial_test(values: list[float], threshold: float) -> None:
    """scipy's, one-sided, of the number above."""
    above = sum(value > threshold for value in values)
    expected = stats.binomtest(above, len(values), 0.5, alternative="greater").pvalue
    assert expected == pytest.approx(p_above(values, threshold), rel=1e-12)


@given(VALUES, st.floats(allow_nan=False))
def test_below_is_above_of_the_negated(values: list[float], threshold: float) -> None:
    """And no value counts for both."""
    negated = [-value for value in values]
    assert p_above(negated, -threshold) == p_below(values, threshold)
    assert p_above(values, threshold) + p_below(values, threshold) >= 1.0


@given(VALUES, LEVELS)
def test_interval_inverts_the_test(values: list[float], level: float) -> None:
    """A threshold just below the low end is rejected, the low end itself is not; likewise above."""
    low, median, high = interval(values, level)
    assert low <= median <= high
    if math.isfinite(low):
        assert p_above(values, math.nextafter(low, -math.inf)) <= level
        assert p_above(values, low) > level
    if math.isfinite(high):
        assert p_below(values, math.nextafter(high, math.inf)) <= level
        assert p_below(values, high) > level


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60))
def test_median_is_that_of_numpy(values: list[float]) -> None:
    """Of an even number of values, halfway between the middle two."""
    assert float(np.median(values)) == pytest.approx(interval(values, 0.005).median, rel=1e-15)


@pytest.mark.parametrize("count", range(1, 80))
def test_fewest_above_is_the_binomial_quantile(count: int) -> None:
    """scipy's survival function is above the level one below it, and not at it."""
    fewest = fewest_above(count, 0.0025)
    if fewest is None:
        assert stats.binom.sf(count - 1, count, 0.5) > 0.0025
    else:
        assert stats.binom.sf(fewest - 1, count, 0.5) <= 0.0025
        assert stats.binom.sf(fewest - 2, count, 0.5) > 0.0025


def test_too_few_values_have_no_interval() -> None:
    """Eight pairs cannot be sure at 0.0025 even if they all agree; nine can."""
    assert (-math.inf, 1.0, math.inf) == interval([1.0] * 8, 0.0025)
    assert (1.0, 1.0, 1.0) == interval([1.0] * 9, 0.0025)


@pytest.mark.parametrize("values", [[], [1.0, math.nan]], ids=["none", "NaN"])
def test_no_value_and_nan_raise(values: list[float]) -> None:
    """Neither is ever part of a comparison."""
    for function in (p_above, p_below, interval):
        with pytest.raises(ValueError, match="expected one or more, none of them NaN"):
            function(values, 0.0)


def _noise(name: str, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    if name == "normal":
        return rng.normal(size=shape)
    if name == "heavy-tailed (t, 2 degrees)":
        return rng.standard_t(2, size=shape)
    if name == "skewed, median 0":
        return rng.lognormal(size=shape) - 1
    # A machine that drifts: correlated from pair to pair; a coin says which side has which process.
    steps = rng.standard_t(3, size=shape)
    drift = np.empty(shape)
    drift[:, 0] = steps[:, 0]
    for at in range(1, shape[1]):
        drift[:, at] = 0.8 * drift[:, at - 1] + steps[:, at]
    return drift * rng.choice([-1, 1], size=shape)


@pytest.mark.parametrize(
    "name",
    ["normal", "heavy-tailed (t, 2 degrees)", "skewed, median 0", "correlated, by a coin"],
)
def test_the_interval_misses_no_more_often_than_it_says(name: str) -> None:
    """20,000 samples of 24: on either side at most 0.005 (and four standard errors) miss 0, where a
    bootstrap's percentiles of the median miss more."""
    samples = np.sort(_noise(name, np.random.default_rng(7), (20_000, 24)), axis=1)
    cut = fewest_above(24, 0.005)
    assert cut is not None
    allowed = 0.005 + 4 * math.sqrt(0.005 / 20_000)
    assert np.mean(samples[:, -cut] > 0) <= allowed
    assert np.mean(samples[:, cut - 1] < 0) <= allowed


def test_a_percentile_bootstrap_claims_more_than_it_holds() -> None:
    """Why it is not used: scipy's own, on ten normal pairs, misses on one side at twice the level
    or more, where the exact interval does not."""
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(800, 10))
    low = stats.bootstrap(
        (samples,),
        np.median,
        axis=1,
        vectorized=True,
        n_resamples=1000,
        confidence_level=0.99,
        method="percentile",
        rng=rng,
    ).confidence_interval.low
    exact = [interval(list(sample), 0.005).low for sample in samples]
    assert np.mean(low > 0) >= 0.01
    assert np.mean(np.asarray(exact) > 0) <= 0.005
