"""The hunt over single numbers: a start in every binade and beside every edge, then the ranges that
promise most, and the surroundings of every record.

It draws from one seeded generator and decides by scores alone, never by time, so that equal seeds
give equal searches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.hexfloat import hex_text
from harness.hunt.arms import PARTS, TOP, Arms
from harness.hunt.budget import Budget
from harness.hunt.evaluate import Evaluated, Evaluator, Failure
from harness.hunt.figures import Figures
from harness.hunt.plan import Plan
from harness.hunt.refine import around, windows
from harness.hunt.scores import GRADIENT_SCALED, Objective
from harness.hunt.strata import (
    edge_surroundings,
    landmark_surroundings,
    strata,
    with_both_signs,
)

Bits = NDArray[np.unsignedinteger[Any]]

#: A round tries as many arms.
_ARMS_A_ROUND: Final = 8
#: Of these, as many at random, in case the promises are wrong.
_AT_RANDOM: Final = 2
#: The most numbers drawn of a part when an arm is split.
_MOST_A_PART: Final = 256
#: A record is refined if it is larger than the last one refined by this, in log2.
_WORTH_REFINING: Final = 1e-3
#: Strata whose worst inputs are refined after the start, record or not.
_STRATA_REFINED: Final = 8


class Record(NamedTuple):
    """The largest figure of an objective: where, found by what, after how many evaluations."""

    value: float
    bits: int
    origin: str
    evaluations: int


class _Draw(NamedTuple):
    """Numbers to evaluate, and the arms that parts of them belong to (arm, start, stop). Where they
    are `paired`, every number is followed by its negative."""

    bits: Bits
    origin: str
    arms: tuple[tuple[int, int, int], ...] = ()
    paired: bool = False


class PointSearch:
    """A search over the numbers of a plan; `step` by step. `first` are tried before all others."""

    def __init__(
        self, plan: Plan, evaluator: Evaluator, budget: Budget, first: Sequence[int] = ()
    ) -> None:
        self._format = plan.format
        self._kind = plan.kind
        self._evaluator = evaluator
        self._budget = budget
        self._rng = np.random.default_rng(plan.seed)
        self._stop = evaluator.sweep.positive[1]
        self._unsigned = np.dtype(f"u{self._format.width // 8}")
        self._sign = 1 << self._format.width - 1
        self.objectives = evaluator.objectives
        self._arms = Arms(len(self.objectives), 1 << self._format.precision - 1)
        self.figures = Figures(evaluator.sweep, evaluator.quantities)
        self.records: dict[Objective, Record] = {}
        self.failures: list[Failure] = []
        #: A result that is not finite where it should be, or the other way round, by quantity.
        self.mismatches: dict[str, Record] = {}
        self._strata: dict[int, tuple[float, int]] = {}
        self._refined = np.full(len(self.objectives), -1.0)
        self._rounds_given = np.zeros(len(self.objectives))
        self._improvements = np.zeros(len(self.objectives))
        self._pending: dict[int, int] = {}
        self._round = 0
        self._queue: deque[_Draw] = deque()
        self._start = self._starting(first)
        self._begun = False
        #: Whether every pair of x and -x so far gave results that mirror each other.
        self._symmetric = True

    def step(self) -> bool:
        """Evaluate one batch, of at most `Evaluator.most` numbers. False if nothing is left to
        try: every number of the format has been."""
        if not self._queue and not self._fill():
            return False
        draw = self._queue.popleft()
        room = self._budget.room(len(draw.bits))
        if room < len(draw.bits):
            draw = _Draw(draw.bits[:room], draw.origin)
        if not room:
            return True
        with self._budget.calling(lambda: self._range(draw.bits)):
            evaluated = self._evaluator(draw.bits)
        self._take(draw, evaluated)
        return True

    def _take(self, draw: _Draw, evaluated: Evaluated) -> None:
        self._budget.evaluations += len(draw.bits)
        self.figures.add(evaluated)
        self._symmetric = self._symmetric and _mirrored(draw, evaluated)
        for arm, start, stop in draw.arms:
            self._arms.update(arm, evaluated.scores[:, start:stop])
        for index, objective in enumerate(self.objectives):
            row = evaluated.scores[index]
            at = int(row.argmax())
            self._record(objective, index, float(row[at]), int(draw.bits[at]), draw.origin)
        self._record_scaled(draw, evaluated)
        self._record_mismatches(draw, evaluated)
        if evaluated.failures and not self.failures:
            self.failures.append(evaluated.failures[0])

    def _record(
        self, objective: Objective, index: int, value: float, bits: int, origin: str
    ) -> None:
        before = self.records.get(objective)
        if before is not None and value <= before.value:
            return
        self.records[objective] = Record(value, bits, origin, self._budget.evaluations)
        scores = np.zeros(len(self.objectives))
        scores[index] = np.log2(1.0 + value)
        self._arms.note(scores)
        if scores[index] > self._refined[index] + _WORTH_REFINING:
            self._improvements[index] += 1
            self._pending[index] = bits

    def _record_scaled(self, draw: _Draw, evaluated: Evaluated) -> None:
        """The scaled error: those that seem to be records are certified."""
        if evaluated.scaled is None:
            return
        before = self.records.get(GRADIENT_SCALED)
        at = int(evaluated.scaled.argmax())
        if before is not None and evaluated.scaled[at] <= before.value:
            return
        one = slice(at, at + 1)
        (exact,) = self._evaluator.scaled_errors(draw.bits[one], evaluated.results[-1][one])
        value = float(exact) if exact == exact else 0.0
        bits = int(draw.bits[at])
        self.figures.note_scaled_error(bits, value)
        if before is None or value > before.value:
            self.records[GRADIENT_SCALED] = Record(
                value, bits, draw.origin, self._budget.evaluations
            )

    def _record_mismatches(self, draw: _Draw, evaluated: Evaluated) -> None:
        for name, judgement, computed in zip(
            self._evaluator.quantities, evaluated.judgements, evaluated.results, strict=True
        ):
            if name in self.mismatches:
                continue
            odd = ~(np.isfinite(computed) & np.isfinite(judgement.rounded))
            if odd.any() and (odd := odd & judgement.misrounded).any():
                bits = int(draw.bits[int(odd.argmax())])
                self.mismatches[name] = Record(
                    float("inf"), bits, draw.origin, self._budget.evaluations
                )

    def _range(self, bits: Bits) -> str:
        """Numbers in words: how many, and the least and the greatest that are not NaN."""
        values = [self._format.from_bits(int(each)) for each in bits]
        numbers = [value for value in values if value == value]
        if not numbers:
            return f"{len(values)} NaNs"
        return f"{len(values)} inputs from {hex_text(min(numbers))} to {hex_text(max(numbers))}"

    def _fill(self) -> bool:
        """Decide what to evaluate next: by turns the surroundings of records, the start, and what
        both have shown to be good. The start goes first until every binade has been seen."""
        self._round += 1
        turns = (self._refine, self._go_on_starting, self._try_arms)
        first = self._round % 3
        if first == 2 and not self._begun:
            first = 1
        for turn in (*turns[first:], *turns[:first]):
            turn()
            if self._queue:
                return True
        return False

    def _go_on_starting(self) -> None:
        draw = next(self._start, None)
        if draw is not None:
            self._queue.append(draw)

    def _starting(self, first: Sequence[int]) -> Iterator[_Draw]:
        """The start, in batches."""
        if len(first):
            yield from self._cut(np.array(first, dtype=self._unsigned), "given")
        beside = landmark_surroundings(self._kind, self._format, self._stop)
        yield from self._pairs(beside, "landmark")
        for draw in self._sampled_strata():
            yield draw
            if not self._begun:
                self._begun = self._arms.size > 0 and draw.origin != "binade, near"
        self._begun = True
        for index in range(len(self.objectives)):
            yield from self._refined_strata(index)
        if self._arms.live().size:
            for magnitudes in edge_surroundings(self._kind, self._format, self._stop, self._rng):
                yield from self._pairs(magnitudes, "beside an edge")

    def _sampled_strata(self) -> Iterator[_Draw]:
        """A few numbers of every segment, each an arm of its own."""
        pieces: list[Bits] = []
        arms: list[tuple[int, int, int]] = []
        size = 0
        kind = ""
        for stratum in strata(self._kind, self._format, self._stop):
            name = "binade, near" if stratum.near else "binade, far"
            # A part of a batch, also where batches are small.
            draws = min(stratum.draws, self._evaluator.most // 4)
            for side in (0, 1):
                bits, whole = self._sample(stratum.start, stratum.stop, side, draws)
                if pieces and (size + len(bits) > self._evaluator.most or name != kind):
                    yield _Draw(np.concatenate(pieces), kind, tuple(arms))
                    pieces, arms, size = [], [], 0
                kind = name
                if len(bits) > self._evaluator.most:
                    yield from self._cut(bits, kind)
                    continue
                if not whole:
                    arm = self._arms.add(stratum.start, stratum.stop, side)
                    arms.append((arm, size, size + len(bits)))
                pieces.append(bits)
                size += len(bits)
        if pieces:
            yield _Draw(np.concatenate(pieces), kind, tuple(arms))

    def _sample(self, low: int, high: int, side: int, draws: int) -> tuple[Bits, bool]:
        """Bit patterns from a range, and whether these are all there are."""
        whole = high - low <= max(4 * draws, 2 * TOP)
        if whole:
            magnitudes = np.arange(low, high, dtype=np.uint64)
        else:
            magnitudes = self._rng.integers(low, high, draws, dtype=np.uint64)
        return (magnitudes | np.uint64(side * self._sign)).astype(self._unsigned), whole

    def _refined_strata(self, index: int) -> Iterator[_Draw]:
        """The surroundings of the worst inputs of the segments that are worst."""
        entries = self.figures.summary()
        quantity = self._evaluator.sweep.quantities.index(self.objectives[index].quantity)
        worst = sorted(
            (found[quantity].max_ulp, found[quantity].worst)
            for found in entries.segments.values()
            if found[quantity].max_ulp
        )
        for _, key in worst[-_STRATA_REFINED:]:
            magnitude, side = self._evaluator.sweep.place(key)
            bits = magnitude | side * self._sign
            yield from self._cut(
                around(bits, self._format, self._stop, self._rng), "around a stratum's worst"
            )

    def _pairs(self, magnitudes: NDArray[np.uint64], origin: str) -> Iterator[_Draw]:
        bits = with_both_signs(magnitudes, self._format)
        most = self._evaluator.most // 2 * 2
        for start in range(0, len(bits), most):
            yield _Draw(bits[start : start + most], origin, paired=True)

    def _cut(self, bits: Bits, origin: str) -> Iterator[_Draw]:
        most = self._evaluator.most
        for start in range(0, len(bits), most):
            yield _Draw(bits[start : start + most], origin)

    def _refine(self) -> None:
        """The surroundings of the newest records, and windows on them as new arms."""
        for index, bits in sorted(self._pending.items()):
            self._refined[index] = self._arms.record[index]
            name = f"around a record of {self.objectives[index]}"
            self._queue.extend(self._cut(around(bits, self._format, self._stop, self._rng), name))
            self._queue_windows(bits)
        self._pending.clear()

    def _queue_windows(self, bits: int) -> None:
        pieces: list[Bits] = []
        arms: list[tuple[int, int, int]] = []
        size = 0
        found = windows(bits, self._format, self._stop)
        share = max(2 * TOP, self._evaluator.most // 4 // max(1, len(found)))
        for low, high, side in found:
            drawn, whole = self._sample(low, high, side, share)
            if len(drawn) + size > self._evaluator.most:
                continue
            if not whole:
                arms.append((self._arms.add(low, high, side), size, size + len(drawn)))
            pieces.append(drawn)
            size += len(drawn)
        if pieces:
            self._queue.append(_Draw(np.concatenate(pieces), "window", tuple(arms)))

    def _try_arms(self) -> None:
        """One round: for one objective, by either rule of `harness.hunt.arms` in turn."""
        live = self._arms.live()
        if not live.size:
            return
        objective = self._objective()
        name = f"range, for {self.objectives[objective]}"
        self._rounds_given[objective] += 1
        if self._rounds_given[objective] % 2:
            chosen = self._arms.best_of_levels(objective, positive=self._symmetric)
            most = self._evaluator.most // (PARTS * max(1, len(chosen)))
            share = min(_MOST_A_PART, max(2 * TOP, most))
            parts = [part for arm in chosen for part in self._split(arm)]
            self._try(parts, share, name)
            return
        chosen = self._arms.most_promising(
            objective, _ARMS_A_ROUND - _AT_RANDOM, positive=self._symmetric
        )
        missing = min(_ARMS_A_ROUND - len(chosen), live.size)
        chosen += [int(arm) for arm in self._rng.choice(live, missing, replace=False)]
        self._try(list(dict.fromkeys(chosen)), self._evaluator.most // _ARMS_A_ROUND, name)

    def _objective(self) -> int:
        """The objective that has had the fewest rounds for what came of them; one that shows no
        error at all only if none does."""
        rounds = self._rounds_given / (1.0 + self._improvements)
        if self._arms.record.any():
            rounds = np.where(self._arms.record > 0, rounds, np.inf)
        return int(rounds.argmin())

    def _try(self, chosen: list[int], share: int, name: str) -> None:
        pieces: list[Bits] = []
        arms: list[tuple[int, int, int]] = []
        size = 0
        for arm in chosen:
            low, high, side = self._arms.range(arm)
            bits, whole = self._sample(low, high, side, share)
            if whole:
                self._arms.retire(arm)
            else:
                arms.append((arm, size, size + len(bits)))
            pieces.append(bits)
            size += len(bits)
        if pieces:
            self._queue_cut(np.concatenate(pieces), name, tuple(arms))

    def _queue_cut(self, bits: Bits, name: str, arms: tuple[tuple[int, int, int], ...]) -> None:
        """A draw in batches, each with the parts of the arms that it holds."""
        most = self._evaluator.most
        for start in range(0, len(bits), most):
            stop = min(start + most, len(bits))
            inside = tuple(
                (arm, max(first, start) - start, min(last, stop) - start)
                for arm, first, last in arms
                if first < stop and last > start
            )
            self._queue.append(_Draw(bits[start:stop], name, inside))

    def _split(self, arm: int) -> list[int]:
        """The parts of an arm; itself where it is so narrow that it can be tried whole."""
        low, high, _ = self._arms.range(arm)
        return self._arms.split(arm) if high - low > _MOST_A_PART * PARTS else [arm]


def _mirrored(draw: _Draw, evaluated: Evaluated) -> bool:
    """Whether -x gave results with the errors of x, in a draw of pairs."""
    if not draw.paired or len(draw.bits) % 2:
        return True
    return bool(np.array_equal(evaluated.scores[:, ::2], evaluated.scores[:, 1::2]))
