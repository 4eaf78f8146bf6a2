"""One turn of a comparison: every side timed once, in fresh processes, round by round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import CannotVerify

#: The sides every comparison has. The control is a second copy of the old one.
OLD, CONTROL, NEW = "old", "control", "new"


@dataclass(frozen=True, slots=True)
class Turn:
    """Side -> workload -> nanoseconds a call in each round; and the peak bytes of a call."""

    times: Mapping[str, Mapping[str, Sequence[float]]]
    bytes: Mapping[str, Mapping[str, float]]


def time_log_ratio(turn: Turn, workload: str, over: str, under: str) -> float:
    """The median over rounds of log(time of `over` / time of `under`).

    Within a round the two blocks lie a millisecond apart, so that what slows the machine slows
    both. Raises CannotVerify for a time that is not finite and positive, for rounds that do not
    match, and for none.
    """
    pair = [_times(turn, workload, side) for side in (over, under)]
    if len(pair[0]) != len(pair[1]):
        raise CannotVerify(
            f"{workload}: {len(pair[0])} rounds on the {over} side, {len(pair[1])} on the "
            f"{under} side; expected as many; run it again"
        )
    return statistics.median(math.log(a / b) for a, b in zip(*pair, strict=True))


def _times(turn: Turn, workload: str, side: str) -> Sequence[float]:
    times = turn.times.get(side, {}).get(workload, ())
    if not times:
        raise CannotVerify(
            f"{workload}: no time from the {side} side; expected one a round; "
            "leave the workload out on both sides, with --without"
        )
    for time in times:
        if not (math.isfinite(time) and time > 0):
            raise CannotVerify(
                f"{workload}: a time of {time} ns on the {side} side; expected a finite one "
                "greater than 0; check the clock and the subject"
            )
    return times


def byte_log_ratio(turn: Turn, workload: str, over: str, under: str) -> float:
    """log(peak bytes of `over` / peak bytes of `under`); no bytes on either side are equal.

    Raises CannotVerify for a count that is missing, negative or not finite.
    """
    counts = []
    for side in (over, under):
        count = turn.bytes.get(side, {}).get(workload, math.nan)
        if not (math.isfinite(count) and count >= 0):
            raise CannotVerify(
                f"{workload}: {count} bytes on the {side} side; expected a count of 0 or more; "
                "run it again"
            )
        counts.append(count)
    if counts[0] == counts[1]:
        return 0.0
    if not counts[1]:
        return math.inf
    return math.log(counts[0] / counts[1]) if counts[0] else -math.inf


def time_pairs(
    turns: Sequence[Turn], workloads: Iterable[str], over: str, under: str
) -> dict[str, list[float]]:
    """Workload -> its log-ratio of times in each turn that timed it.

    Raises CannotVerify as `time_log_ratio` does, and where no turn timed a workload.
    """
    return {
        name: [
            time_log_ratio(turn, name, over, under)
            for turn in _having(name, turns, [turn.times for turn in turns])
        ]
        for name in workloads
    }


def byte_pairs(
    turns: Sequence[Turn], workloads: Iterable[str], over: str, under: str
) -> dict[str, list[float]]:
    """As `time_pairs`, of peak bytes."""
    return {
        name: [
            byte_log_ratio(turn, name, over, under)
            for turn in _having(name, turns, [turn.bytes for turn in turns])
        ]
        for name in workloads
    }


def _having(
    name: str, turns: Sequence[Turn], measured: Sequence[Mapping[str, Mapping[str, object]]]
) -> list[Turn]:
    """The turns in which any side measured a workload."""
    found = [
        turn
        for turn, sides in zip(turns, measured, strict=True)
        if any(name in side for side in sides.values())
    ]
    if not found:
        raise CannotVerify(
            f"{name}: no turn has measured it on any side; expected one or more; run it again"
        )
    return found
