"""One block: from bit patterns through the subject and the oracle to a summary that can be merged.

x and -x are evaluated in one block. Where the results for -x are those for x with the sign that
symmetry gives them, bit for bit, they are as good as those for x, because tanh is odd, sech^2 even
and rounding to nearest symmetric: the oracle is asked once and the figures are mirrored. Where they
are not, it is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.flush import subnormals_kept
from harness.subjects import Kind
from harness.sweep.apply import (
    Arguments,
    Floats,
    Results,
    Subject,
    SubjectFailed,
    arguments,
    carried,
)
from harness.sweep.figures import Figures, Mirror
from harness.sweep.laws import (
    Ends,
    LawTally,
    Tallies,
    beyond_one,
    differing,
    falling,
    negative,
    positive,
    seam,
)
from harness.sweep.oracle import LONGEST, oracle
from harness.sweep.plan import NEGATIVE, NEGATIVE_GRADIENT, Block, Plan
from harness.sweep.segments import Segments, segments_of_x, segments_of_y
from harness.sweep.statistics import Statistics, Worst, worst_of

#: Inputs in one call of the subject: enough that the call itself costs little, few enough for the
#: second-level cache.
_BATCH = 1 << 17


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the time went: the subject as such, its repetition for the law of lanes, the oracle and
    the statistics, all else. Not part of the figures."""

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
    `escalated` (inputs that the oracle gave to mpmath) are by quantity; `ends` maps each side to its
    outputs at either end, for the seam to the next block. `merge` joins summaries that follow
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
            escalated=tuple(
                a + b for a, b in zip(self.escalated, upper.escalated, strict=True)
            ),
            laws=laws,
            # Only sides that reach the end: a side that stops has no next seam.
            ends={
                side: Ends(self.ends.get(side, ends).first, ends.last)
                for side, ends in upper.ends.items()
            },
            seconds=self.seconds.merge(upper.seconds),
        )


def sweep_block(plan: Plan, block: Block) -> Summary:
    """Sweep one block in this thread. Raises SubjectFailed, naming the place, if the subject does."""
    return _Sweeper(plan, block).run()


class _Image(NamedTuple):
    """Results on one side: floats for the oracle, and per quantity whether symmetry holds."""

    side: int
    given: Arguments
    results: Results
    floats: tuple[Floats, ...]


class _Sweeper:
    def __init__(self, plan: Plan, block: Block) -> None:
        self._plan = plan
        self._block = block
        self._subject = Subject(plan)
        self._oracle = oracle(plan)
        self._figures = Figures(plan, segments(plan))
        self._escalated = [0] * len(plan.quantities)
        self._tallies = Tallies(plan)
        self._ends: dict[int, Ends] = {}
        self._infinity = plan.format.to_bits(float("inf"))
        self._one = plan.format.to_bits(1.0) << plan.pair_bits
        self._sign = 1 << plan.format.width - 1
        self._seconds = dict.fromkeys(("subject", "lanes", "judging", "laws"), 0.0)

    def run(self) -> Summary:
        block = self._block
        with subnormals_kept(), np.errstate(all="ignore"):
            for start in range(block.start, block.stop, _BATCH):
                self._batch(start, min(start + _BATCH, block.stop))
        return Summary(
            block.start,
            block.stop,
            block.points,
            self._figures.segments(),
            self._figures.worst(),
            tuple(self._escalated),
            self._tallies.frozen(),
            self._ends,
            Seconds(**self._seconds),
        )

    def _batch(self, start: int, stop: int) -> None:
        images = [self._evaluate(start, stop, side) for side in self._block.sides]
        clock = time.thread_time()
        base = images[0]
        symmetric: dict[int, bool] = {}
        for image in images[1:]:
            symmetric[image.side] = self._symmetry(base, image, start)
        for image in images:
            # A symmetric image obeys the laws of its base, and breaks them where that does.
            self._laws(image, start)
        self._seconds["laws"] += time.thread_time() - clock
        clock = time.thread_time()
        self._judge(images, symmetric, start)
        self._seconds["judging"] += time.thread_time() - clock

    def _evaluate(self, start: int, stop: int, side: int) -> _Image:
        plan = self._plan
        given = arguments(plan, start, stop, side)
        try:
            clock = time.thread_time()
            results = self._subject(given)
            called = time.thread_time()
            self._seconds["subject"] += called - clock
            self._lanes(given, results, start, side)
            self._seconds["lanes"] += time.thread_time() - called
        except SubjectFailed as error:
            (x, *_), (last, *_) = (plan.point(plan.key(at, side)) for at in (start, stop - 1))
            raise SubjectFailed(
                f"{plan.subject.name} failed between {x.hex()} and {last.hex()}: {error}"
            ) from error
        floats = tuple(carried(bits, plan.dtype) for bits in results.quantities())
        return _Image(side, given, results, floats)

    def _lanes(self, given: Arguments, results: Results, start: int, side: int) -> None:
        """Call the subject again, in two pieces of odd offsets, and once for each end alone: every
        element comes to lie in another lane, and some in the tails that kernels treat apart."""
        size = len(given.x)
        breaches = np.zeros(size, np.bool_)
        if self._plan.batched:
            for lower, upper in _pieces(size):
                again = self._subject(given.part(lower, upper), offset=1)
                self._mark_different(results, again, lower, upper, breaches)
        for lower, upper in {(0, 1), (size - 1, size)}:
            alone = self._subject.single(given.part(lower, upper))
            self._mark_different(results, alone, lower, upper, breaches)
        self._tallies.add("lanes", breaches, size, start, side)

    def _mark_different(
        self, results: Results, again: Results, lower: int, upper: int, breaches: NDArray[np.bool_]
    ) -> None:
        for whole, piece in zip(results.quantities(), again.quantities(), strict=True):
            different = differing(whole[lower:upper], piece, self._infinity)
            if different is not None:
                breaches[lower:upper] |= different

    def _symmetry(self, base: _Image, image: _Image, start: int) -> bool:
        """Whether the image's results are the base's, with the signs that symmetry gives them."""
        size = len(base.given.x)
        symmetric = True
        for law, name, negated in _symmetries(self._plan.kind, base.side ^ image.side):
            expected, found = getattr(base.results, name), getattr(image.results, name)
            if negated:
                expected = expected ^ expected.dtype.type(self._sign)
            symmetric &= np.array_equal(expected, found)
            # A neuron with bias 0 makes one of +0 and -0: (-0 * 1) + 0 is +0.
            skip = int(law == "output-odd" and start == 0 and self._plan.kind is Kind.NEURON)
            breaches = differing(expected[skip:], found[skip:], self._infinity)
            self._tallies.add(law, breaches, size - skip, start + skip, image.side)
        return symmetric

    def _laws(self, image: _Image, start: int) -> None:
        side, results, size = image.side, image.results, len(image.given.x)
        add = self._tallies.add
        gradient = image.floats[-1]
        # The law of the gradient's sign speaks of |y| <= 1 where y is swept.
        if self._plan.kind is Kind.TANH_GRADIENT:
            size = max(0, min(size, self._one + (1 << self._plan.pair_bits) - start))
        if size:
            wrong = positive if side & NEGATIVE_GRADIENT else negative
            add("gradient-sign", wrong(gradient[:size]), size, start, side)
        if self._plan.kind is Kind.TANH_GRADIENT:
            return
        output = image.floats[0]
        add("output-bounded", beyond_one(output), size, start, side)
        self._monotone(output, start, side)
        if self._plan.kind is Kind.NEURON:
            for law, a, b in (
                ("input-gradient", results.input_gradient, results.gradient),
                ("weight-gradient", results.weight_gradient, results.product),
            ):
                assert a is not None and b is not None
                add(law, differing(a, b, self._infinity), size, start, side)

    def _monotone(self, output: Floats, start: int, side: int) -> None:
        mirrored = bool(side & NEGATIVE)
        add = self._tallies.add
        if output.size > 1:
            breaches = falling(output, mirrored=mirrored)
            add("output-monotone", breaches, output.size - 1, start + 1, side)
        here = Ends(float(output[0]), float(output[-1]))
        before = self._ends.get(side)
        if before is not None:
            add("output-monotone", np.array([seam(before, here, side)]), 1, start, side)
            here = Ends(before.first, here.last)
        elif mirrored and start == 0 and 0 in self._ends:
            # From -0 to +0, both of which this block holds.
            falls = here.first > self._ends[0].first
            add("output-monotone", np.array([falls]), 1, start, side)
        self._ends[side] = here

    def _judge(self, images: list[_Image], symmetric: dict[int, bool], start: int) -> None:
        base = images[0]
        for image in images:
            if image is base:
                mirrors = tuple(side for side, holds in symmetric.items() if holds)
            elif symmetric[image.side]:
                continue
            else:
                mirrors = ()
            for lower in range(0, len(image.given.x), LONGEST):
                self._judge_chunk(image, slice(lower, lower + LONGEST), start + lower, mirrors)

    def _judge_chunk(
        self, image: _Image, chunk: slice, start: int, mirrors: tuple[int, ...]
    ) -> None:
        kind = self._plan.kind
        x = carried(image.given.x[chunk], self._plan.dtype)
        g = None if image.given.g is None else carried(image.given.g[chunk], self._plan.dtype)
        results = tuple(floats[chunk] for floats in image.floats)
        judgements = self._oracle.judge(x, g, results)
        for index, (name, judgement, computed) in enumerate(
            zip(self._plan.quantities, judgements, results, strict=True)
        ):
            self._escalated[index] += judgement.escalated
            scaled = None
            if name == "gradient":
                scaled = partial(self._oracle.scaled_errors, x, g, computed)
            self._figures.add(
                index,
                judgement,
                computed,
                start,
                image.side,
                tuple(_mirror(kind, image.side ^ side, name) for side in mirrors),
                scaled,
            )


def _mirror(kind: Kind, difference: int, quantity: str) -> Mirror:
    negated = any(
        negated for _, name, negated in _symmetries(kind, difference) if name == quantity
    )
    return Mirror(difference, negated)


def _symmetries(kind: Kind, difference: int) -> list[tuple[str, str, bool]]:
    """The laws (name, result, whether it changes its sign) between two sides."""
    if kind is Kind.TANH_GRADIENT:
        odd = bool(difference & NEGATIVE_GRADIENT)
        return [("gradient-odd" if odd else "gradient-even", "gradient", odd)]
    return [("output-odd", "output", True), ("gradient-even", "gradient", False)]


def segments(plan: Plan) -> Segments:
    """The segments that a plan's figures are kept by."""
    if plan.kind is Kind.TANH_GRADIENT:
        return segments_of_y(plan.format, plan.pair_bits)
    return segments_of_x(plan.format)


def _pieces(size: int) -> list[tuple[int, int]]:
    """Two pieces, the first of odd length, that make up `size` elements."""
    cut = size // 3 | 1
    return [(0, size)] if cut >= size else [(0, cut), (cut, size)]
