"""The rule: Holm's correction, three verdicts, and the control."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bench.rule import Rule, Verdict, control_failures, holm, judge

RULE = Rule()


def shifted(shift: float, count: int = 24, spread: float = 0.005, seed: int = 0) -> list[float]:
    """Log-ratios around log(1 + shift)."""
    return list(math.log1p(shift) + spread * np.random.default_rng(seed).standard_normal(count))


def by_definition(p_values: list[float]) -> list[float]:
    """Holm 1979, as it is written: from the smallest on, p (m - i) and never below one before."""
    order = np.argsort(p_values, kind="stable")
    scaled = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return list(adjusted)


@given(st.lists(st.floats(0, 1), min_size=0, max_size=30))
def test_holm_is_holm(p_values: list[float]) -> None:
    """Against numpy's cumulative maximum; never below p, never above Bonferroni."""
    adjusted = holm(p_values)
    assert by_definition(p_values) == pytest.approx(adjusted, abs=1e-15)
    for p, found in zip(p_values, adjusted, strict=True):
        assert p <= found <= min(1.0, p * len(p_values)) + 1e-15


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [
        (-0.5, Verdict.SAME),
        (0.0, Verdict.SAME),
        (0.01, Verdict.SAME),
        (0.03, Verdict.INCONCLUSIVE),
        (0.05, Verdict.REGRESSION),
        (1.0, Verdict.REGRESSION),
    ],
    ids=lambda value: f"{value:+.0%}" if isinstance(value, float) else str(value),
)
def test_verdict(shift: float, verdict: Verdict) -> None:
    """With a spread of half a percent and a least effect of three."""
    (finding,) = judge({"x": shifted(shift)}, RULE)
    assert verdict is finding.verdict


def test_a_regression_is_sure_and_large_enough() -> None:
    """Sure but small is none: its interval excludes 1, but not 1.03."""
    (finding,) = judge({"x": shifted(0.02, spread=0.001)}, RULE)
    assert finding.low > 1.0
    assert Verdict.SAME is finding.verdict


@given(st.lists(st.floats(-0.2, 0.2), min_size=1, max_size=40), st.integers(1, 6))
def test_low_end_of_a_regression_is_above_the_least_effect(
    values: list[float], others: int
) -> None:
    """Whatever the family; and the low end alone says so where the family is one."""
    (alone,) = judge({"x": values}, RULE)
    assert (alone.verdict is Verdict.REGRESSION) == (math.log(alone.low or 1) > RULE.threshold)
    (finding, *_) = judge({"x": values, **{str(i): [0.0] * 24 for i in range(others)}}, RULE)
    if finding.verdict is Verdict.REGRESSION:
        assert finding.low > 1 + RULE.min_effect * (1 - 1e-12)
        assert Verdict.REGRESSION is alone.verdict


def test_a_family_needs_more_evidence() -> None:
    """20 of 24 above are enough for one workload, not for the first of ten."""
    values = [0.1] * 20 + [-0.1] * 4
    assert Verdict.REGRESSION is judge({"x": values}, RULE)[0].verdict
    family = {"x": values, **{f"same {i}": [0.0] * 24 for i in range(9)}}
    assert Verdict.INCONCLUSIVE is judge(family, RULE)[0].verdict


def test_too_few_pairs_are_inconclusive() -> None:
    """However large the difference: eight pairs are never sure."""
    assert Verdict.INCONCLUSIVE is judge({"x": [1.0] * 8}, RULE)[0].verdict
    assert Verdict.INCONCLUSIVE is judge({"x": [-1.0] * 8}, RULE)[0].verdict


def test_no_pairs_raise() -> None:
    """A workload that was never timed cannot pass."""
    with pytest.raises(ValueError, match="expected one or more"):
        judge({"x": []}, RULE)


@pytest.mark.parametrize("shift", [0.031, -0.031, 0.5], ids="{:+.1%}".format)
def test_a_control_apart_by_the_least_effect_fails(shift: float) -> None:
    """In either direction, and it says by how much."""
    (line,) = control_failures({"x": [math.log1p(shift)] * 24}, RULE)
    assert f"x: the old side against itself is {1 + shift:.3f}" in line


def test_a_control_within_the_least_effect_holds() -> None:
    """One line for each that does not."""
    assert () == control_failures({"x": shifted(0.0), "y": shifted(0.02)}, RULE)


def test_false_alarms_of_a_suite_are_rarer_than_the_level() -> None:
    """1,000 suites of twelve on heavy-tailed noise whose medians sit exactly on the least effect,
    the worst case: at most half the level in one look, and four standard errors."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(1000):
        noise = RULE.threshold + 0.02 * rng.standard_t(2, size=(12, 24))
        found = judge({str(at): list(row) for at, row in enumerate(noise)}, RULE)
        alarms += any(each.verdict is Verdict.REGRESSION for each in found)
    allowed = RULE.look_level + 4 * math.sqrt(RULE.look_level / 1000)
    assert alarms / 1000 <= allowed
