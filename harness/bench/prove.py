"""The gate's own rates on this machine: false alarms, and slowdowns seen, by real extra work.

Every turn times the old side, the control, the new side and the new side with a spin of 1, 2, 3, 5
and 10% of the block added to it. Runs of the whole gate are then drawn from the turns, with the
extension and all: in each the new side is as it is but for one workload, slowed.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from harness.bench.gate import GatePlan, Judged, second_look
from harness.bench.rule import Finding, Rule, Verdict, control_failures, judge
from harness.bench.runner import Runner
from harness.bench.turn import CONTROL, NEW, OLD, Turn, time_pairs
from harness.errors import CannotVerify

EFFECTS: Final = (0.01, 0.02, 0.03, 0.05, 0.10)
RUNS: Final = 1000
#: Turns without which drawing from them says nothing.
FEWEST_TURNS: Final = 10

#: Side -> workload -> a log-ratio for each turn.
Pairs = Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Rate:
    """Of `runs` runs with one workload slowed by `effect` (0: none), judged for `min_effect`: in
    how many the gate said what (of the slowed workload, or of any where none was), in how many its
    control failed, and what the injected work came to, as a ratio of times."""

    effect: float
    min_effect: float
    runs: int
    regression: int
    same: int
    inconclusive: int
    control_failed: int
    realised: float


@dataclass(frozen=True, slots=True)
class Proof:
    """What a gate is worth here. `drawn` from the turns; `real`: the turns as they came, cut into
    runs without an extension, of which none is slowed."""

    drawn: tuple[Rate, ...]
    real: tuple[Rate, ...]
    turns: int
    pairs: int
    workloads: tuple[str, ...]
    spread: Mapping[str, float]
    """Workload -> the standard deviation of a pair's log-ratio of equal sides."""
    environment: Mapping[str, Any]
    seed: int
    seconds: float


def side_name(effect: float) -> str:
    """The side that is slowed by an effect."""
    return f"{NEW} +{effect:.0%}"


def run_proof(
    plan: GatePlan, budget: float, on_turn: Callable[[float], None] = lambda elapsed: None
) -> Proof:
    """Turns for `budget` seconds, then the rates. `on_turn` is told the seconds that have passed.

    Raises CannotVerify as `run_gate` does, and for too few turns.
    """
    start = time.monotonic()
    slowed = {side_name(effect): replace(plan.new, spin=effect) for effect in EFFECTS}
    turns: list[Turn] = []
    with Runner(
        {**plan.sides, **slowed},
        random.Random(plan.seed),
        plan.effort,
        plan.threads,
        plan.without,
        plan.whole_suite,
    ) as runner:
        while not turns or time.monotonic() - start < budget:
            turns.append(runner.turn())
            on_turn(time.monotonic() - start)
        names, environment = runner.names, runner.environment
    if len(turns) < FEWEST_TURNS:
        raise CannotVerify(
            f"--budget {budget:g} was over after {len(turns)} turns; expected {FEWEST_TURNS} or "
            "more; allow more seconds, or time fewer workloads"
        )
    pairs = {side: time_pairs(turns, names, side, OLD) for side in (CONTROL, NEW, *slowed)}
    rules = [plan.rule]
    if plan.rule.min_effect != 0.01:
        rules.append(replace(plan.rule, min_effect=0.01))
    return Proof(
        drawn=tuple(
            rate(pairs, effect, rule, plan.pairs, random.Random(plan.seed))
            for rule in rules
            for effect in (0.0, *EFFECTS)
        ),
        real=tuple(real_rate(pairs, rule, plan.pairs) for rule in rules),
        turns=len(turns),
        pairs=plan.pairs,
        workloads=names,
        spread={name: statistics.stdev(values) for name, values in pairs[NEW].items()},
        environment=environment,
        seed=plan.seed,
        seconds=time.monotonic() - start,
    )


def rate(
    pairs: Pairs, effect: float, rule: Rule, count: int, rng: random.Random, runs: int = RUNS
) -> Rate:
    """Runs of the gate drawn with replacement: `count` pairs each, as many in its extension."""
    names = list(pairs[NEW])
    turns = len(pairs[NEW][names[0]])
    said: list[tuple[Verdict, bool]] = []
    for run in range(runs):
        slowed = names[run % len(names)] if effect else None
        sides = {name: pairs[side_name(effect) if name == slowed else NEW] for name in names}
        drawn = rng.choices(range(turns), k=2 * count)

        def look(among: Sequence[str], at: Sequence[int], sides: Any = sides) -> Judged:
            return Judged(
                judge({name: [sides[name][name][i] for i in at] for name in among}, rule),
                (),
                control_failures(
                    {name: [pairs[CONTROL][name][i] for i in at] for name in among}, rule
                ),
            )

        judged = look(names, drawn[:count])
        if undecided := judged.undecided:
            judged = second_look(judged, look(undecided, drawn))
        said.append((_said(judged.times, slowed), bool(judged.failures)))
    side = side_name(effect) if effect else NEW
    realised = statistics.median(value for name in names for value in pairs[side][name])
    return _tally(said, effect, rule, realised)


def real_rate(pairs: Pairs, rule: Rule, count: int) -> Rate:
    """The turns in the order they came, cut into runs of `count` pairs of equal sides."""
    names = list(pairs[NEW])
    said = []
    for first in range(0, len(pairs[NEW][names[0]]) - count + 1, count):
        cut = {
            side: {name: pairs[side][name][first : first + count] for name in names}
            for side in (NEW, CONTROL)
        }
        said.append(
            (_said(judge(cut[NEW], rule), None), bool(control_failures(cut[CONTROL], rule)))
        )
    realised = statistics.median(value for name in names for value in pairs[NEW][name])
    return _tally(said, 0.0, rule, realised)


def _said(findings: Sequence[Finding], slowed: str | None) -> Verdict:
    """The verdict on the slowed workload; where there is none, the worst of all."""
    verdicts = {each.verdict for each in findings if slowed in (None, each.name)}
    order = (Verdict.REGRESSION, Verdict.INCONCLUSIVE, Verdict.SAME)
    return next(verdict for verdict in order if verdict in verdicts)


def _tally(
    said: Sequence[tuple[Verdict, bool]], effect: float, rule: Rule, realised: float
) -> Rate:
    sound = [verdict for verdict, failed in said if not failed]
    failures = len(said) - len(sound)
    return Rate(
        effect=effect,
        min_effect=rule.min_effect,
        runs=len(said),
        regression=sound.count(Verdict.REGRESSION),
        same=sound.count(Verdict.SAME),
        inconclusive=sound.count(Verdict.INCONCLUSIVE) + failures,
        control_failed=failures,
        realised=math.exp(realised),
    )
