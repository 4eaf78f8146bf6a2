"""The gate: turns, the rule, one extension, and a verdict."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.bench.processes import Side
from harness.bench.rule import Finding, Rule, Verdict, control_failures, judge
from harness.bench.runner import Effort, Runner
from harness.bench.turn import CONTROL, NEW, OLD, Turn, byte_pairs, time_pairs

#: Of these 21 above the least effect are enough even for the first of up to seventeen workloads.
DEFAULT_PAIRS = 24

OnTurn = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class GatePlan:
    """What is compared, and how. `pairs` are measured, and as many again of what is then undecided:
    the one extension."""

    old: Side
    control: Side
    new: Side
    seed: int
    pairs: int = DEFAULT_PAIRS
    rule: Rule = field(default_factory=Rule)
    effort: Effort = field(default_factory=Effort)
    threads: int = 1
    without: Collection[str] = ()
    whole_suite: bool = False

    @property
    def sides(self) -> dict[str, Side]:
        """The sides by name."""
        return {OLD: self.old, CONTROL: self.control, NEW: self.new}


@dataclass(frozen=True, slots=True)
class Gate:
    """What came of a plan. `control` and `control_failures` are of the old side against itself;
    `seconds_a_call` is side -> workload -> the median."""

    plan: GatePlan
    times: tuple[Finding, ...]
    bytes: tuple[Finding, ...]
    control: tuple[Finding, ...]
    control_failures: tuple[str, ...]
    seconds_a_call: Mapping[str, Mapping[str, float]]
    pairs: Mapping[str, Sequence[float]]
    control_pairs: Mapping[str, Sequence[float]]
    environment: Mapping[str, Any]
    extended: bool
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Of the whole run. Nothing is sure where the old side differs from itself."""
        found = {finding.verdict for finding in (*self.times, *self.bytes)}
        if self.control_failures:
            return Verdict.INCONCLUSIVE
        if Verdict.REGRESSION in found:
            return Verdict.REGRESSION
        return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in found else Verdict.SAME

    @property
    def exit_status(self) -> int:
        """0 faster or same, 4 a regression, 5 inconclusive."""
        return {Verdict.SAME: 0, Verdict.REGRESSION: 4, Verdict.INCONCLUSIVE: 5}[self.verdict]


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings of a set of turns."""

    times: tuple[Finding, ...]
    bytes: tuple[Finding, ...]
    failures: tuple[str, ...]

    @property
    def undecided(self) -> list[str]:
        """The workloads of which more pairs may tell more; all of them if the control has failed,
        none if a regression is already sure."""
        findings = (*self.times, *self.bytes)
        if self.failures:
            return [finding.name for finding in self.times]
        if any(finding.verdict is Verdict.REGRESSION for finding in findings):
            return []
        open_ = {each.name for each in findings if each.verdict is Verdict.INCONCLUSIVE}
        return [finding.name for finding in self.times if finding.name in open_]


def judge_turns(
    turns: Sequence[Turn],
    names: Sequence[str],
    rule: Rule,
    *,
    new: str = NEW,
    control: str = CONTROL,
) -> Judged:
    """One look: the rule on the pairs of these turns."""
    return Judged(
        judge(time_pairs(turns, names, new, OLD), rule),
        judge(byte_pairs(turns, names, new, OLD), rule),
        control_failures(time_pairs(turns, names, control, OLD), rule),
    )


def second_look(first: Judged, second: Judged) -> Judged:
    """The findings after the extension: those of the second look where there are any."""
    return Judged(
        _replaced(first.times, second.times), _replaced(first.bytes, second.bytes), second.failures
    )


def _replaced(first: Sequence[Finding], second: Sequence[Finding]) -> tuple[Finding, ...]:
    newer = {finding.name: finding for finding in second}
    return tuple(newer.get(finding.name, finding) for finding in first)


def run_gate(plan: GatePlan, on_turn: OnTurn = lambda done, planned: None) -> Gate:
    """Measure and judge. `on_turn` is told how many turns are done, of how many.

    Raises CannotVerify for whatever would make the sides no fair comparison.
    """
    start = time.monotonic()
    turns: list[Turn] = []
    with Runner(
        plan.sides,
        random.Random(plan.seed),
        plan.effort,
        plan.threads,
        plan.without,
        plan.whole_suite,
    ) as runner:

        def measure(names: Sequence[str], planned: int) -> None:
            for _ in range(plan.pairs):
                turns.append(runner.turn(names))
                on_turn(len(turns), planned)

        measure(runner.names, plan.pairs)
        judged = judge_turns(turns, runner.names, plan.rule)
        undecided = judged.undecided
        if undecided:
            measure(undecided, 2 * plan.pairs)
            judged = second_look(judged, judge_turns(turns, undecided, plan.rule))
        names, environment = runner.names, runner.environment
    control_pairs = time_pairs(turns, names, CONTROL, OLD)
    return Gate(
        plan=plan,
        times=judged.times,
        bytes=judged.bytes,
        control=judge(control_pairs, plan.rule),
        control_failures=judged.failures,
        seconds_a_call=_medians(turns, names),
        pairs=time_pairs(turns, names, NEW, OLD),
        control_pairs=control_pairs,
        environment=environment,
        extended=bool(undecided),
        seconds=time.monotonic() - start,
    )


def _medians(turns: Sequence[Turn], names: Sequence[str]) -> dict[str, dict[str, float]]:
    return {
        side: {
            name: statistics.median(
                nanoseconds / 1e9
                for turn in turns
                for nanoseconds in turn.times[side].get(name, ())
            )
            for name in names
        }
        for side in turns[0].times
    }
