"""What was found in a range of magnitudes, and how it joins what was found in the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.sweep.laws import Ends, LawTally, seam
from harness.sweep.plan import Plan
from harness.sweep.statistics import Statistics, Worst, worst_of


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the time went: the subject as such, its repetition for the law of lanes, the oracle and
    the statistics, the laws. Not part of the figures."""

    subject: float = 0.0
    lanes: float = 0.0
    judging: float = 0.0
    laws: float = 0.0

    def merge(self, other: Seconds) -> Seconds:
        """The sums."""
        return Seconds(
            self.subject + other.subject,
            self.lanes + other.lanes,
            self.judging + other.judging,
            self.laws + other.laws,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """What was found in the magnitudes from `start` to `stop` - 1.

    `segments` maps the index of a segment to the statistics of each quantity; `worst` and
    `escalated` (inputs that the oracle gave to mpmath) are by quantity; `ends` maps each side to
    its outputs at either end, for the seam to the next block. `merge` joins summaries that follow
    one another; it is associative.
    """

    start: int
    stop: int
    points: int
    segments: Mapping[int, tuple[Statistics, ...]]
    worst: tuple[tuple[Worst, ...], ...]
    escalated: tuple[int, ...]
    laws: Mapping[str, LawTally]
    ends: Mapping[int, Ends]
    seconds: Seconds

    def merge(self, upper: Summary, plan: Plan) -> Summary:
        """Both together; `upper` begins at or beyond the end of this one."""
        segments = dict(self.segments)
        for index, statistics in upper.segments.items():
            mine = segments.get(index)
            segments[index] = (
                statistics
                if mine is None
                else tuple(a.merge(b) for a, b in zip(mine, statistics, strict=True))
            )
        laws = {law: tally.merge(upper.laws[law]) for law, tally in self.laws.items()}
        if self.stop == upper.start:
            for side in self.ends.keys() & upper.ends.keys():
                broken = seam(self.ends[side], upper.ends[side], side)
                at = plan.key(upper.start, side) if broken else -1
                laws["output-monotone"] = laws["output-monotone"].merge(
                    LawTally(1, int(broken), at)
                )
        return Summary(
            start=self.start,
            stop=upper.stop,
            points=self.points + upper.points,
            segments=segments,
            worst=tuple(worst_of(a, b) for a, b in zip(self.worst, upper.worst, strict=True)),
            escalated=tuple(a + b for a, b in zip(self.escalated, upper.escalated, strict=True)),
            laws=laws,
            # Only sides that reach the end: a side that stops has no next seam.
            ends={
                side: Ends(self.ends.get(side, ends).first, ends.last)
                for side, ends in upper.ends.items()
            },
            seconds=self.seconds.merge(upper.seconds),
        )
