"""Turns: fresh processes of every side, timed round by round in an order left to chance."""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from harness.bench.agreement import require_ready, require_same_state, require_workloads
from harness.bench.processes import Child, Side, Stem, request
from harness.bench.turn import OLD, Turn
from harness.errors import CannotVerify

#: Turns for each import of torch.
_TURNS_A_STEM: Final = 12
_CALIBRATIONS: Final = 5


@dataclass(frozen=True, slots=True)
class Effort:
    """How long is measured. A block takes about `block` seconds, if a call does not take longer;
    a workload has `rounds` of them, or what fits into as much time, and `least_rounds` at least.
    `patience` is the most seconds that a block, or the start of a process, may take."""

    rounds: int = 30
    block: float = 1e-3
    least_rounds: int = 5
    patience: float = 120.0


@dataclass(frozen=True, slots=True)
class _Size:
    """Calls in a block, rounds of a workload, and turns of the empty loop that take as long as a
    block."""

    calls: int
    rounds: int
    spins: float


@dataclass
class Runner:
    """Times sides against each other. Close it, or use it in a `with`."""

    sides: Mapping[str, Side]
    rng: random.Random
    effort: Effort = field(default_factory=Effort)
    threads: int = 1
    without: Collection[str] = ()
    whole_suite: bool = False
    environment: dict[str, Any] = field(default_factory=dict)
    """What the sides have in common, once a turn is done."""

    def __post_init__(self) -> None:
        self.names = require_workloads(self.sides)
        self._sizes: dict[str, _Size] = {}
        self._stem: Stem | None = None
        self._turns_left = 0

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stem is not None:
            self._stem.close()

    def turn(self, names: Sequence[str] | None = None) -> Turn:
        """Every side timed once on the workloads `names` (None: all). Raises CannotVerify where a
        side lacks one, fails at it, or differs from the others in more than its code."""
        names = self.names if names is None else tuple(names)
        with ExitStack() as stack:
            children = self._start(names, stack)
            if missing := [name for name in names if name not in self._sizes]:
                self._calibrate(children, names, missing)
            times = self._time(children, names)
            counts = {
                side: {
                    name: float(
                        child.ask(f"memory {at}", f"{name}, {side} side, counting bytes")["bytes"]
                    )
                    for at, name in enumerate(names)
                }
                for side, child in children.items()
            }
            # Again: a subject may have changed it when it was called.
            require_same_state(
                {
                    side: child.ask("state", f"{side} side")["state"]
                    for side, child in children.items()
                }
            )
        return Turn(times, counts)

    def _start(self, names: Sequence[str], stack: ExitStack) -> dict[str, Child]:
        if self._stem is None or not self._turns_left:
            if self._stem is not None:
                self._stem.close()
            self._stem, self._turns_left = Stem(self.threads, used=self.whole_suite), _TURNS_A_STEM
        self._turns_left -= 1
        cpu = self._cpu()
        # The coin: which process runs which side. All else follows from its fairness.
        children = {}
        for name in self.rng.sample(list(self.sides), len(self.sides)):
            side = self.sides[name]
            wanted = request(side, side.only(names), threads=self.threads, cpu=cpu)
            child = children[name] = self._stem.fork(wanted, self.effort.patience)
            stack.callback(child.close)
        answers = {
            name: child.answer(f"the {name} side ({self.sides[name].label}), starting")
            for name, child in children.items()
        }
        ordered = {name: answers[name] for name in self.sides}
        require_ready(self.sides, ordered, self.without, whole_suite=self.whole_suite)
        self.environment = dict(ordered[OLD]["state"])
        return children

    def _cpu(self) -> int | None:
        """One core for all sides of a turn, so that a neighbour on it slows all; another in another
        turn. None where several threads are timed, or the system does not say."""
        if self.threads > 1 or not hasattr(os, "sched_getaffinity"):
            return None
        return self.rng.choice(sorted(os.sched_getaffinity(0)))

    def _calibrate(
        self, children: Mapping[str, Child], names: Sequence[str], missing: Sequence[str]
    ) -> None:
        """Settle once, on the old side, how many calls a block has: the same on all sides."""
        child, effort = children[OLD], self.effort
        for name in missing:
            at = names.index(name)

            def seconds(calls: int, spins: int, at: int = at, name: str = name) -> float:
                blocks = [
                    float(child.ask(f"run {at} {calls} {spins}", f"{name}, {OLD} side")["ns"])
                    for _ in range(_CALIBRATIONS)
                ]
                return max(statistics.median(blocks) / 1e9, 1e-9)

            one = seconds(1, 0)
            calls = max(1, round(effort.block / one))
            # A call alone, with its caches cold, takes longer than one of many.
            calls = max(1, round(calls * effort.block / seconds(calls, 0)))
            block = seconds(calls, 0)
            rounds = round(effort.rounds * min(1.0, effort.block / block))
            loop = seconds(0, 20_000)
            self._sizes[name] = _Size(
                calls, max(effort.least_rounds, rounds), 20_000 * block / loop
            )

    def _time(
        self, children: Mapping[str, Child], names: Sequence[str]
    ) -> dict[str, dict[str, list[float]]]:
        times: dict[str, dict[str, list[float]]] = {
            side: {name: [] for name in names} for side in self.sides
        }
        for round_ in range(max(self._sizes[name].rounds for name in names)):
            for name in self.rng.sample(names, len(names)):
                size, at = self._sizes[name], names.index(name)
                if round_ >= size.rounds:
                    continue
                for side in self.rng.sample(list(children), len(children)):
                    spins = round(self.sides[side].spin * size.spins)
                    found = children[side].ask(
                        f"run {at} {size.calls} {spins}", f"{name}, {side} side"
                    )["ns"]
                    if not found > 0:
                        raise CannotVerify(
                            f"{name}: a block of {size.calls} calls took {found} ns on the {side} "
                            "side; expected more than 0; check the clock"
                        )
                    times[side][name].append(found / size.calls)
        return times
