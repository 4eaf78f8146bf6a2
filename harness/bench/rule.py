"""The rule that makes a verdict of pairs: an effect must be sure, and large enough to matter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.bench.median import interval, p_above, p_below


class Verdict(StrEnum):
    """What is known of one workload."""

    REGRESSION = "regression"
    """It is slower (or takes more memory) by more than the least effect that matters."""

    SAME = "faster or same"
    """It is not slower by as much as that."""

    INCONCLUSIVE = "inconclusive"
    """Neither is sure."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`min_effect`: the least slowdown that matters, 0.03 for 3%. `level`: the chance of a false
    alarm in a whole run is at most half of it, for one side of an interval of 1 - level. It is
    shared out between `looks` at the data."""

    min_effect: float = 0.03
    level: float = 0.01
    looks: int = 2

    @property
    def threshold(self) -> float:
        """The log-ratio of the least effect that matters."""
        return math.log1p(self.min_effect)

    @property
    def look_level(self) -> float:
        """One side's chance of error in one look."""
        return self.level / 2 / self.looks


@dataclass(frozen=True, slots=True)
class Finding:
    """A workload's pairs and verdict. `low`, `ratio`, `high`: new over old, the median of the pairs
    with its interval; `p` is the chance of such pairs if the median were no more than the least
    effect, after Holm's correction."""

    name: str
    pairs: int
    low: float
    ratio: float
    high: float
    p: float
    verdict: Verdict


def judge(log_ratios: Mapping[str, Sequence[float]], rule: Rule) -> tuple[Finding, ...]:
    """A finding for each workload, all of one family in which one false alarm is one too many.

    `regression` if the workload's test, after Holm's correction, says that the median is above the
    least effect, which implies that the lower end of its interval is; `faster or same` if the
    upper end is below it (there no correction is due: each verdict stands alone).
    """
    threshold = rule.threshold
    tests = [p_above(values, threshold) for values in log_ratios.values()]
    findings = []
    for (name, values), p in zip(log_ratios.items(), holm(tests), strict=True):
        low, median, high = interval(values, rule.look_level)
        if p <= rule.look_level:
            verdict = Verdict.REGRESSION
        elif p_below(values, threshold) <= rule.look_level:
            verdict = Verdict.SAME
        else:
            verdict = Verdict.INCONCLUSIVE
        low, median, high = _exp(low), _exp(median), _exp(high)
        findings.append(Finding(name, len(values), low, median, high, p, verdict))
    return tuple(findings)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted so that the chance of one false rejection in the family is the level.

    Holm 1979: the i-th smallest of m is multiplied by m - i + 1, and none is below one before it.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, p_values[at] * (len(p_values) - place)))
        adjusted[at] = highest
    return adjusted


def control_failures(log_ratios: Mapping[str, Sequence[float]], rule: Rule) -> tuple[str, ...]:
    """What is wrong with a comparison of the old side with itself, one line each; none is well.

    The same code measured twice may not come out apart by the least effect that is looked for,
    in either direction.
    """
    lines = []
    for name, values in log_ratios.items():
        low, median, high = interval(values, rule.look_level)
        if abs(median) >= rule.threshold:
            lines.append(
                f"{name}: the old side against itself is {_exp(median):.3f} "
                f"({_exp(low):.3f} to {_exp(high):.3f}), where 1 was expected to within "
                f"{rule.min_effect:.3g}"
            )
    return tuple(lines)


def _exp(log_ratio: float) -> float:
    """exp, which of +-infinity is infinity and 0, and overflows to infinity."""
    try:
        return math.exp(log_ratio)
    except OverflowError:
        return math.inf
