"""One block: from bit patterns through the subject and the oracle to a summary that can be merged.

x and -x are evaluated in one block. Where the results for -x are those for x with the sign that
symmetry gives them, bit for bit, they are as good as those for x, because tanh is odd, sech^2 even
and rounding to nearest symmetric: the oracle is asked once and the figures are mirrored. Where they
are not, it is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.flush import subnormals_kept
from harness.hexfloat import hex_text
from harness.subjects import Kind
from harness.sweep.apply import (
    Arguments,
    Bits,
    Floats,
    Results,
    Subject,
    SubjectFailed,
    arguments,
    carried,
)
from harness.sweep.figures import Figures, Mirror
from harness.sweep.kept import Glance
from harness.sweep.laws import (
    Ends,
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
from harness.sweep.summary import Seconds, Summary

#: Inputs in one call of the subject: enough that the call itself costs little (torch.func.vmap
#: takes some 0.2 ms), few enough that a process stays small.
_BATCH = 1 << 20
#: Inputs behind the moved ones: more than a vector register or an unrolled loop takes.
_BEHIND = 67
#: Inputs in a piece: an odd number, more than one register takes and less than several.
_PIECE = 37


def sweep_block(plan: Plan, block: Block) -> Summary:
    """Sweep one block in this thread. Raises SubjectFailed, which names the place."""
    return _Sweeper(plan, block).run()


class _Image(NamedTuple):
    """The results on one side, also as floats for the oracle in the order of the plan."""

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
        # In 16 bits numpy's arithmetic is not torch's, and there are few numbers.
        self._glance = Glance(plan.format.width) if plan.format.width >= 32 else None
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
        """Evaluate each side once: the first as it is, the others moved in their tensors. Where
        all agree but for the signs that symmetry gives them, the laws of symmetry and of lanes hold
        both. Where they do not, each side is evaluated the other way too, which tells the laws
        apart."""
        sides = self._block.sides
        clock = time.thread_time()
        given = self._arguments(start, stop)
        whole = {sides[0]: self._call(given[sides[0]])}
        moved = {side: self._call_moved(given[side]) for side in sides[1:]}
        called = time.thread_time()
        self._seconds["subject"] += called - clock
        base = whole[sides[0]]
        plain = self._plain(start, stop, given, whole | moved)
        kept = plain or self._kept(given, base, moved)
        symmetric = dict.fromkeys(moved, True) if kept else self._symmetric(base, moved)
        checked = time.thread_time()
        self._seconds["laws"] += checked - called
        if moved and all(symmetric.values()):
            for side in sides:
                self._lanes(given[side], whole.get(side) or moved[side], None, start, side)
        else:
            for side in sides:
                if side not in whole:
                    whole[side] = self._call(given[side])
                if side not in moved:
                    batched = self._plan.batched
                    moved[side] = self._call_moved(given[side]) if batched else whole[side]
                self._lanes(given[side], whole[side], moved[side], start, side)
            symmetric = self._symmetric(base, {side: whole[side] for side in sides[1:]})
        clock = time.thread_time()
        self._seconds["lanes"] += clock - checked
        images = []
        for side in sides:
            found = whole.get(side) or moved[side]
            floats = tuple(carried(bits, self._plan.dtype) for bits in found.quantities())
            images.append(_Image(side, given[side], found, floats))
        self._laws(images, symmetric, start, kept)
        judging = time.thread_time()
        self._seconds["laws"] += judging - clock
        if plain:
            self._enter_right(images, start)
        else:
            self._judge(images, symmetric, start)
        self._seconds["judging"] += time.thread_time() - judging

    def _arguments(self, start: int, stop: int) -> dict[int, Arguments]:
        """The numbers of each side. Sides of x are one another's with the sign bit set."""
        first, *others = self._block.sides
        given = {first: arguments(self._plan, start, stop, first)}
        for side in others:
            if (first, side) == (0, NEGATIVE) and not self._plan.pairs:
                x = given[first].x
                given[side] = Arguments(x | x.dtype.type(self._sign), None)
            else:
                given[side] = arguments(self._plan, start, stop, side)
        return given

    def _plain(
        self,
        start: int,
        stop: int,
        given: Mapping[int, Arguments],
        results: Mapping[int, Results],
    ) -> bool:
        """Whether the results are, at a glance, correctly rounded with errors of 0 and keep every
        law, as those for nine in ten numbers of float32 can."""
        glance, plain = self._glance, self._oracle.plain(start, stop)
        if glance is None or plain is None:
            return False
        return all(glance.all_plain(plain, given[side], results[side]) for side in given)

    def _kept(
        self, given: Mapping[int, Arguments], base: Results, moved: Mapping[int, Results]
    ) -> bool:
        """Whether all laws are kept, at a glance, on both sides. Laws have exceptions at zero."""
        if (
            self._glance is None
            or self._plan.kind is Kind.TANH_GRADIENT
            or self._block.sides != (0, NEGATIVE)
            or given[0].x[0] == 0
        ):
            return False
        return self._glance.all_kept(given[0], base, moved[NEGATIVE])

    def _call(self, given: Arguments) -> Results:
        try:
            return self._subject(given)
        except SubjectFailed as error:
            raise self._located(given, error, self._subject) from error

    def _single(self, given: Arguments) -> Results:
        try:
            return self._subject.single(given)
        except SubjectFailed as error:
            raise self._located(given, error, self._subject.single) from error

    def _located(
        self, given: Arguments, error: SubjectFailed, call: Callable[[Arguments], Results]
    ) -> SubjectFailed:
        """The failure with its place: the first input that fails by itself, by halving; or the ends
        of the shortest part found that fails while neither of its halves does."""
        while len(given.x) > 1:
            middle = len(given.x) // 2
            for half in (given.part(0, middle), given.part(middle, len(given.x))):
                try:
                    call(half)
                except SubjectFailed as narrower:
                    given, error = half, narrower
                    break
            else:
                break
        first, last = self._point(given, 0), self._point(given, -1)
        place = f"at {first}" if len(given.x) == 1 else f"between {first} and {last}"
        return SubjectFailed(f"{self._plan.subject.name} failed {place}: {error}")

    def _point(self, given: Arguments, index: int) -> str:
        value = self._plan.format.from_bits
        text = hex_text(value(int(given.x[index])))
        return text if given.g is None else f"{text}, g = {hex_text(value(int(given.g[index])))}"

    def _call_moved(self, given: Arguments) -> Results:
        """The results by a call on a longer tensor that holds the same numbers one place further
        on: each comes to lie in another lane of a vector kernel, and what was in the tail, which
        kernels treat apart, is no longer."""
        if not self._plan.batched:
            return self._call(given)
        try:
            longer = self._subject(given.within(1, _BEHIND), spent=True)
        except SubjectFailed as error:
            raise self._located(given.within(1, _BEHIND), error, self._subject) from error
        return longer.part(1, len(given.x) + 1)

    def _lanes(
        self, given: Arguments, results: Results, again: Results | None, start: int, side: int
    ) -> None:
        """Hold results against a second evaluation (None: known to agree). In the first batch of a
        block also those at either end against calls on them alone, and an odd number in the middle
        against a call on those."""
        size = len(given.x)
        breaches = np.zeros(size, np.bool_)
        if again is not None:
            self._mark_different(results, again, 0, size, breaches)
        if start == self._block.start:
            for lower, upper in {(0, 1), (size - 1, size)}:
                alone = self._single(given.part(lower, upper))
                self._mark_different(results, alone, lower, upper, breaches)
            lower, upper = size // 2, min(size // 2 + _PIECE, size)
            piece = self._call(given.part(lower, upper))
            self._mark_different(results, piece, lower, upper, breaches)
        self._tallies.add("lanes", breaches, size, start, side)

    def _mark_different(
        self, results: Results, again: Results, lower: int, upper: int, breaches: NDArray[np.bool_]
    ) -> None:
        for whole, piece in zip(results.quantities(), again.quantities(), strict=True):
            different = differing(whole[lower:upper], piece, self._infinity)
            if different is not None:
                breaches[lower:upper] |= different

    def _symmetric(self, base: Results, others: Mapping[int, Results]) -> dict[int, bool]:
        """For each other side whether its results are those of the base, but for their signs."""
        first = self._block.sides[0]
        return {
            side: all(
                np.array_equal(self._expected(base, name, negated), getattr(found, name))
                for _, name, negated in _symmetries(self._plan.kind, first ^ side)
            )
            for side, found in others.items()
        }

    def _expected(self, base: Results, name: str, negated: bool) -> Bits:
        bits: Bits = getattr(base, name)
        return bits ^ bits.dtype.type(self._sign) if negated else bits

    def _laws(
        self, images: list[_Image], symmetric: Mapping[int, bool], start: int, kept: bool
    ) -> None:
        """Count the laws at one batch, where they may be known to be kept. Symmetric images keep
        and break those of values together."""
        base = images[0]
        values = self._laws_of_values(base, start, kept)
        for image in images:
            holds = image is base or symmetric[image.side]
            if image is not base:
                self._laws_of_symmetry(base, image, holds, start)
            for law, breaches, size, offset in (
                values if holds else self._laws_of_values(image, start, kept)
            ):
                self._tallies.add(law, breaches, size, start + offset, image.side)
            if self._plan.kind is Kind.NEURON:
                self._laws_of_factors(image, start, kept)
            if self._plan.kind is not Kind.TANH_GRADIENT:
                self._seams(image.floats[0], start, image.side)

    def _laws_of_values(
        self, image: _Image, start: int, kept: bool
    ) -> list[tuple[str, NDArray[np.bool_] | None, int, int]]:
        """The laws of one side's values: name, breaches, how many checks, offset of the first."""
        gradient = image.floats[-1]
        size = gradient.size
        wrong = positive if image.side & NEGATIVE_GRADIENT else negative
        if self._plan.kind is Kind.TANH_GRADIENT:
            # The law of the gradient's sign speaks of |y| <= 1.
            size = max(0, min(size, self._one + (1 << self._plan.pair_bits) - start))
            breaches = None if kept or not size else wrong(gradient[:size])
            return [("gradient-sign", breaches, size, 0)] if size else []
        output = image.floats[0]
        laws = [
            ("gradient-sign", None if kept else wrong(gradient), size, 0),
            ("output-bounded", None if kept else beyond_one(output), size, 0),
        ]
        if size > 1:
            steps = None if kept else falling(output, mirrored=bool(image.side & NEGATIVE))
            laws.append(("output-monotone", steps, size - 1, 1))
        return laws

    def _laws_of_symmetry(self, base: _Image, image: _Image, holds: bool, start: int) -> None:
        size = len(base.given.x)
        for law, name, negated in _symmetries(self._plan.kind, base.side ^ image.side):
            # A neuron with bias 0 makes one of +0 and -0: (-0 * 1) + 0 is +0.
            skip = int(law == "output-odd" and start == 0 and self._plan.kind is Kind.NEURON)
            breaches = None
            if not holds:
                breaches = differing(
                    self._expected(base.results, name, negated)[skip:],
                    getattr(image.results, name)[skip:],
                    self._infinity,
                )
            self._tallies.add(law, breaches, size - skip, start + skip, image.side)

    def _laws_of_factors(self, image: _Image, start: int, kept: bool) -> None:
        results = image.results
        size = results.gradient.size
        breaches: dict[str, NDArray[np.bool_] | None] = {}
        if not kept:
            assert results.input_gradient is not None and results.weight_gradient is not None
            product = self._subject.product(results.gradient, image.given.x)
            breaches = {
                "input-gradient": differing(
                    results.input_gradient, results.gradient, self._infinity
                ),
                "weight-gradient": differing(results.weight_gradient, product, self._infinity),
            }
        for law in ("input-gradient", "weight-gradient"):
            self._tallies.add(law, breaches.get(law), size, start, image.side)

    def _seams(self, output: Floats, start: int, side: int) -> None:
        """Whether y is monotone from the batch before to this one, and from -0 to +0."""
        here = Ends(float(output[0]), float(output[-1]))
        before = self._ends.get(side)
        falls = None
        if before is not None:
            falls = seam(before, here, side)
            here = Ends(before.first, here.last)
        elif side & NEGATIVE and start == 0 and 0 in self._ends:
            falls = here.first > self._ends[0].first
        if falls is not None:
            self._tallies.add("output-monotone", np.array([falls]), 1, start, side)
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

    def _enter_right(self, images: list[_Image], start: int) -> None:
        """Enter a batch of plain results: those of the first side, which hold for the others."""
        base, *others = images
        size = len(base.given.x)
        for index, name in enumerate(self._plan.quantities):
            mirrors = self._mirrors(base.side, tuple(image.side for image in others), name)
            self._figures.add_right(index, size, start, base.side, mirrors)

    def _mirrors(self, side: int, mirrors: tuple[int, ...], quantity: str) -> tuple[Mirror, ...]:
        return tuple(_mirror(self._plan.kind, side ^ other, quantity) for other in mirrors)

    def _judge_chunk(
        self, image: _Image, chunk: slice, start: int, mirrors: tuple[int, ...]
    ) -> None:
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
                self._mirrors(image.side, mirrors, name),
                scaled,
            )


def _mirror(kind: Kind, difference: int, quantity: str) -> Mirror:
    negated = any(negated for _, name, negated in _symmetries(kind, difference) if name == quantity)
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
