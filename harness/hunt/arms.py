"""Ranges of numbers, and how much each promises: where the next evaluations of a hunt go.

The name is that of the literature on bandits: an arm is what can be tried again, at a price, for a
reward that is random. Two rules choose among them.

*The best of every size* (Munos, "Optimistic optimization of a deterministic function without the
knowledge of its smoothness", 2011): from the widest ranges to the narrowest, the range with the
largest scores among those of its size is split into eight, unless a wider one has larger scores. So
every scale of whatever makes errors large gets its share, and no local maximum takes all.

*The most promising*: the reward that counts is the largest one ever, so that an arm is judged by
the upper tail of its scores. With n scores, of which the K largest exceed the (K+1)-th, v, by beta
on average, the chance that one more score exceeds the record M is about

    (K/n) exp(-(M - v) / beta)          (Pickands 1975: exceedances, here with an exponential tail)

and the expected gain beta times that. Rounding errors are bounded, so their tail is lighter than
this in the end: the promise is optimistic, the more so the less an arm was tried, and comes down as
it is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

#: Scores that are kept of each arm.
TOP: Final = 16
#: An arm is split into as many.
PARTS: Final = 8
_PART_BITS: Final = 3
#: The largest scores whose mean tells which of several arms is best.
_BEST: Final = 4
_ROOM: Final = 1024
_NOTHING: Final = 1e-12


class Arms:
    """Ranges of magnitudes [low, high) on one side (0: positive, 1: negative), with the largest
    scores found in each, for each of several objectives.

    Scores are compressed to log2(1 + score): errors of 2^50 ulps and of 2 are searched alike.
    """

    def __init__(self, objectives: int, widest: int) -> None:
        """`widest` is the size of the ranges of level 0; each level is an eighth as wide."""
        self._widest = widest.bit_length()
        self.size = 0
        self._level = np.zeros(0, np.int64)
        self._value = np.zeros((0, objectives))
        self._low = np.zeros(0, np.uint64)
        self._high = np.zeros(0, np.uint64)
        self._side = np.zeros(0, np.uint8)
        self._count = np.zeros(0, np.int64)
        self._live = np.zeros(0, np.bool_)
        self._top = np.zeros((0, objectives, TOP + 1))
        # By arm and objective: v, beta, and log(beta K/n).
        self._threshold = np.zeros((0, objectives))
        self._excess = np.zeros((0, objectives))
        self._factor = np.zeros((0, objectives))
        #: The largest score of each objective, compressed.
        self.record = np.zeros(objectives)

    def add(self, low: int, high: int, side: int) -> int:
        """A new arm; its number."""
        if self.size == len(self._low):
            self._grow()
        index = self.size
        self.size += 1
        self._low[index], self._high[index], self._side[index] = low, high, side
        self._live[index] = True
        self._level[index] = max(0, (self._widest - (high - low).bit_length()) // _PART_BITS)
        return index

    def range(self, index: int) -> tuple[int, int, int]:
        """The low and high end and the side of an arm."""
        return int(self._low[index]), int(self._high[index]), int(self._side[index])

    def count(self, index: int) -> int:
        """How many scores of an arm there are."""
        return int(self._count[index])

    def retire(self, index: int) -> None:
        """An arm that is never to be tried again."""
        self._live[index] = False

    def live(self) -> NDArray[np.intp]:
        """The numbers of the arms that can be tried."""
        return np.flatnonzero(self._live[: self.size])

    def split(self, index: int) -> list[int]:
        """The parts that take the place of an arm."""
        low, high, side = self.range(index)
        self.retire(index)
        edges = [low + (high - low) * part // PARTS for part in range(PARTS + 1)]
        return [self.add(a, b, side) for a, b in pairwise(edges) if a < b]

    def update(self, index: int, scores: Float64) -> None:
        """Add scores, shape (objectives, n), to those of an arm."""
        compressed = np.log2(1.0 + scores)
        self._count[index] += scores.shape[1]
        pool = np.concatenate([self._top[index], compressed], axis=1)
        top = np.partition(pool, -(TOP + 1), axis=1)[:, -(TOP + 1) :]
        self._top[index] = top
        threshold = top.min(axis=1)
        excess = (top.sum(axis=1) - threshold) / TOP - threshold
        # Where all are equal, what is left is the rounding error of their mean.
        excess[excess <= _NOTHING * threshold] = 0.0
        self._threshold[index] = threshold
        self._excess[index] = excess
        self._value[index] = np.partition(top, -_BEST, axis=1)[:, -_BEST:].mean(axis=1)
        with np.errstate(divide="ignore"):
            self._factor[index] = np.log(excess) + np.log(TOP / self._count[index])
        self.note(top.max(axis=1))

    def note(self, compressed: Float64) -> None:
        """Scores from anywhere, compressed, shape (objectives,): they may be records."""
        np.maximum(self.record, compressed, out=self.record)

    def best_of_levels(self, objective: int, *, positive: bool) -> list[int]:
        """The arms to split by the rule of the best of every size, the widest first; only those on
        the positive side, if asked."""
        n = self.size
        candidates = self._live[:n] & (self._count[:n] > TOP)
        if positive:
            candidates &= self._side[:n] == 0
        values = np.where(candidates, self._value[:n, objective], -np.inf)
        chosen: list[int] = []
        least = 0.0
        for level in range(int(self._level[:n].max(initial=0)) + 1):
            of_level = np.flatnonzero(self._level[:n] == level)
            if not of_level.size:
                continue
            arm = int(of_level[values[of_level].argmax()])
            if values[arm] > least:
                chosen.append(arm)
                least = float(values[arm])
        return chosen

    def promises(self, objective: int) -> Float64:
        """The logarithm of what one more score of each arm is expected to add to the record, shape
        (size,); -inf for arms that cannot add anything."""
        n = self.size
        excess = self._excess[:n, objective]
        missing = self.record[objective] - self._threshold[:n, objective]
        with np.errstate(divide="ignore", invalid="ignore"):
            promise = self._factor[:n, objective] - missing / excess
        hopeless = ~self._live[:n] | (excess <= 0) | (self._count[:n] <= TOP)
        return np.where(hopeless, -np.inf, promise)

    def most_promising(self, objective: int, number: int, *, positive: bool) -> list[int]:
        """The live arms that promise most, the best first, at most `number`; only those on the
        positive side, if asked."""
        promises = self.promises(objective)
        if positive:
            promises[self._side[: self.size] != 0] = -np.inf
        number = min(number, promises.size)
        if not number:
            return []
        chosen = np.argpartition(promises, -number)[-number:]
        chosen = chosen[np.argsort(-promises[chosen], kind="stable")]
        return [int(index) for index in chosen if promises[index] > -np.inf]

    def _grow(self) -> None:
        room = max(_ROOM, 2 * len(self._low))
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray) and name != "record":
                setattr(self, name, _extended(column, room))


def _extended(array: NDArray[np.generic], room: int) -> NDArray[np.generic]:
    grown = np.zeros((room, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
