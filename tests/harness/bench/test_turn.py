"""Pairs of one turn; a figure that is missing, zero or not finite is an error."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bench.turn import Turn, byte_log_ratio, byte_pairs, time_log_ratio, time_pairs
from harness.errors import CannotVerify

TIMES = st.lists(st.tuples(*[st.floats(1.0, 1e9)] * 2), min_size=1, max_size=40)


def turn(old: list[float], new: list[float]) -> Turn:
    """One workload, `x`."""
    return Turn({"old": {"x": old}, "new": {"x": new}}, {"old": {"x": 1.0}, "new": {"x": 1.0}})


@given(TIMES)
def test_a_pair_is_the_median_over_rounds(times: list[tuple[float, float]]) -> None:
    """Of log(new / old), as numpy has it; the other way round it is negated."""
    old, new = (list(side) for side in zip(*times, strict=True))
    expected = float(np.median(np.log(np.divide(new, old))))
    assert expected == pytest.approx(time_log_ratio(turn(old, new), "x", "new", "old"), abs=1e-12)
    back = time_log_ratio(turn(old, new), "x", "old", "new")
    assert -expected == pytest.approx(back, abs=1e-12)


@given(TIMES, st.floats(0.5, 2.0))
def test_what_slows_both_sides_of_a_round_cancels(
    times: list[tuple[float, float]], factor: float
) -> None:
    """A round may be slow as a whole without a trace in the pair."""
    old, new = (list(side) for side in zip(*times, strict=True))
    slow = turn([old[0] * factor, *old[1:]], [new[0] * factor, *new[1:]])
    expected = time_log_ratio(turn(old, new), "x", "new", "old")
    assert expected == pytest.approx(time_log_ratio(slow, "x", "new", "old"), abs=1e-12)


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf], ids=lambda time: f"{time} ns")
def test_no_time_that_is_none(side: str, time: float) -> None:
    """It names the workload, the side and the time."""
    times = {"old": [1.0, 1.0], "new": [1.0, 1.0], side: [1.0, time]}
    with pytest.raises(CannotVerify, match=f"x: a time of {time} ns on the {side} side"):
        time_log_ratio(turn(times["old"], times["new"]), "x", "new", "old")


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_missing_time(side: str) -> None:
    """A workload that one side has no time of is not left out of the pairs."""
    times = {"old": {"x": [1.0]}, "new": {"x": [1.0]}}
    del times[side]["x"]
    with pytest.raises(CannotVerify, match=f"x: no time from the {side} side"):
        time_pairs([Turn(times, {})], ["x"], "new", "old")


@pytest.mark.parametrize("pairs", [time_pairs, byte_pairs])
def test_a_workload_missing_on_every_side(pairs: Callable[..., object]) -> None:
    """One that no turn has measured is no workload without a regression."""
    with pytest.raises(CannotVerify, match="y: no turn has measured it on any side"):
        pairs([turn([1.0], [1.0])], ["y"], "new", "old")


def test_rounds_that_do_not_match() -> None:
    """A round without its counterpart is no pair."""
    with pytest.raises(CannotVerify, match="x: 1 rounds on the new side, 2 on the old side"):
        time_log_ratio(turn([1.0, 2.0], [1.0]), "x", "new", "old")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(100, 100, 0.0), (0, 0, 0.0), (0, 8, math.inf), (8, 0, -math.inf), (10, 20, math.log(2))],
)
def test_bytes(old: float, new: float, expected: float) -> None:
    """None before and some now is a regression of any size."""
    counted = Turn({}, {"old": {"x": old}, "new": {"x": new}})
    assert expected == byte_log_ratio(counted, "x", "new", "old")
    assert {"x": [expected]} == byte_pairs([counted], ["x"], "new", "old")


@pytest.mark.parametrize("count", [math.nan, -1.0, math.inf])
def test_no_bytes_that_are_none(count: float) -> None:
    """As for times."""
    counted = Turn({}, {"old": {"x": 1.0}, "new": {"x": count}})
    with pytest.raises(CannotVerify, match=r"x: .* bytes on the new side"):
        byte_log_ratio(counted, "x", "new", "old")
