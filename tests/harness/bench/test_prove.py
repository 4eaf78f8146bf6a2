"""Rates drawn from turns: on made-up pairs whose truth is known."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from harness.bench.prove import EFFECTS, rate, real_rate, side_name
from harness.bench.rule import Rule
from harness.bench.turn import CONTROL, NEW

RULE = Rule()


def pairs(spread: float, bias: float = 0.0, turns: int = 100) -> dict[str, dict[str, list[float]]]:
    """Four workloads on every side, each with the effect its name says."""
    rng = random.Random(5)

    def side(effect: float) -> dict[str, list[float]]:
        return {
            name: [math.log1p(effect) + rng.gauss(0, spread) for _ in range(turns)]
            for name in "abcd"
        }

    return {
        CONTROL: side(bias),
        NEW: side(0.0),
        **{side_name(effect): side(effect) for effect in EFFECTS},
    }


@pytest.mark.parametrize(
    ("effect", "regressions", "passes"),
    [(0.0, (0, 0), (198, 200)), (0.01, (0, 0), (190, 200)), (0.05, (198, 200), (0, 0))],
    ids=["nothing", "1%", "5%"],
)
def test_rates_where_the_spread_is_small(
    effect: float, regressions: tuple[int, int], passes: tuple[int, int]
) -> None:
    """Half a percent a pair: no false alarm, and every 5% seen."""
    found = rate(pairs(0.005), effect, RULE, 24, random.Random(1), runs=200)
    assert regressions[0] <= found.regression <= regressions[1]
    assert passes[0] <= found.same <= passes[1]
    assert 200 == found.regression + found.same + found.inconclusive
    assert 1 + effect == pytest.approx(found.realised, abs=2e-3)


def test_a_spread_that_is_too_large_is_inconclusive_not_an_alarm() -> None:
    """Ten percent a pair."""
    found = rate(pairs(0.10), 0.0, RULE, 24, random.Random(1), runs=200)
    assert 0 == found.regression
    assert found.inconclusive > 150


def test_the_least_effect_decides_what_is_seen() -> None:
    """A slowdown of 3% is a regression where 1% matters, and none to be sure of where 3% does."""
    small = replace(RULE, min_effect=0.01)
    assert 190 <= rate(pairs(0.005), 0.03, small, 24, random.Random(1), runs=200).regression
    assert 2 >= rate(pairs(0.005), 0.03, RULE, 24, random.Random(1), runs=200).regression


def test_a_bias_between_equal_sides_is_the_controls_to_find() -> None:
    """Runs whose control fails are inconclusive, and counted."""
    found = rate(pairs(0.005, bias=0.06), 0.05, RULE, 24, random.Random(1), runs=100)
    assert (100, 100, 0) == (found.control_failed, found.inconclusive, found.regression)


def test_real_runs_are_the_turns_as_they_came() -> None:
    """A hundred turns are four runs of 24."""
    assert 4 == real_rate(pairs(0.005), RULE, 24).runs
    assert 0 == real_rate(pairs(0.005), RULE, 24).regression
    assert 0 == real_rate(pairs(0.005), RULE, 101).runs
