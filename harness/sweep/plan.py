"""What to sweep: a range of a format's numbers, cut into blocks.

Numbers are named by *magnitude*, the bit pattern without its sign, and *side*, which signs it has.
A block is a range of magnitudes with every side in the plan, so that x and -x meet in one block and
symmetry is seen there. Where pairs (y, g) are swept the magnitude is that of y followed by that of
g, and there are four sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any, Final

from harness.errors import UsageError
from harness.hexfloat import hex_text
from harness.subjects import Kind, Subject
from harness.target import Target, require_target
from reference.dyadic import from_float
from reference.formats import Format

#: Changes whenever the figures of a block may: it keeps old records from being mixed with new.
FIGURES_VERSION: Final = 2

#: Sides: bit 0 is the sign of x (or y), bit 1 that of g where pairs are swept.
NEGATIVE: Final = 1
NEGATIVE_GRADIENT: Final = 2
_SIDE_BITS: Final = 2

#: Magnitudes in a block, so that a block takes a fraction of a second (float64: a few seconds).
_BLOCK: Final = {"float16": 1 << 22, "bfloat16": 1 << 22, "float32": 1 << 22, "float64": 1 << 20}
_UNBATCHED_BLOCK: Final = 1 << 14
#: More blocks than any run would finish.
_MOST_BLOCKS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Block:
    """The magnitudes from `start` to `stop` - 1 on each of `sides`."""

    start: int
    stop: int
    sides: tuple[int, ...]

    @property
    def name(self) -> str:
        """A name that sorts as blocks do."""
        return f"{self.start:016x}"

    @property
    def points(self) -> int:
        """How many numbers, or pairs, the block holds."""
        return (self.stop - self.start) * len(self.sides)


@dataclass(frozen=True, slots=True)
class Plan(Target):
    """A sweep of one subject in one dtype on one device.

    `positive` and `negative` are the magnitudes swept on either side, as (start, stop). `first` and
    `last` are the ends of the range as asked for, None for all bit patterns. `batched` says that a
    neuron is called through torch.func.vmap. `locator` is the name by which workers and the command
    line find the subject, None if it is the subject's own.
    """

    subject: Subject
    dtype: str
    device: str
    positive: tuple[int, int]
    negative: tuple[int, int]
    pairs: bool = False
    batched: bool = True
    first: float | None = None
    last: float | None = None
    locator: str | None = None

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that are judged, in the order of the results."""
        return ("gradient",) if self.kind is Kind.TANH_GRADIENT else ("output", "gradient")

    @property
    def pair_bits(self) -> int:
        """How many low bits of a magnitude belong to g."""
        return self.format.width - 1 if self.pairs else 0

    @property
    def block_size(self) -> int:
        """Magnitudes in a whole block; blocks start at its multiples."""
        return _BLOCK[self.dtype] if self.batched else _UNBATCHED_BLOCK

    @property
    def points(self) -> int:
        """How many numbers, or pairs, are swept."""
        return sum(block.points for block in self._runs())

    @property
    def block_count(self) -> int:
        """How many blocks there are."""
        size = self.block_size
        return sum(-(-run.stop // size) - run.start // size for run in self._runs())

    def blocks(self) -> Iterator[Block]:
        """The blocks, by magnitude. Where only one sign is swept a block has one side."""
        size = self.block_size
        for run in self._runs():
            start = run.start
            while start < run.stop:
                stop = min(run.stop, (start // size + 1) * size)
                yield Block(start, stop, run.sides)
                start = stop

    def key(self, magnitude: int, side: int) -> int:
        """One integer for a swept number, ordered by magnitude and then side."""
        return magnitude << _SIDE_BITS | side

    def place(self, key: int) -> tuple[int, int]:
        """The magnitude and side of a key."""
        return key >> _SIDE_BITS, key & (1 << _SIDE_BITS) - 1

    def point(self, key: int) -> tuple[float, ...]:
        """The swept number as (x,), or the pair as (y, g)."""
        magnitude, side = self.place(key)
        x = self._value(magnitude >> self.pair_bits, side & NEGATIVE)
        if not self.pairs:
            return (x,)
        g = magnitude & (1 << self.pair_bits) - 1
        return x, self._value(g, side & NEGATIVE_GRADIENT)

    def _value(self, magnitude: int, negative: int) -> float:
        sign = 1 << self.format.width - 1 if negative else 0
        return self.format.from_bits(magnitude | sign)

    def _runs(self) -> list[Block]:
        """The blocks before they are cut to size."""
        common = (
            max(self.positive[0], self.negative[0]),
            min(self.positive[1], self.negative[1]),
        )
        runs: list[tuple[tuple[int, int], tuple[int, ...]]] = [
            (self.positive, (0,)),
            (self.negative, (NEGATIVE,)),
        ]
        if common[0] < common[1]:
            # Both begin at 0; what is left of the longer one has a single side.
            runs = [
                (common, (0, NEGATIVE)),
                *(((common[1], stop), sides) for (_, stop), sides in runs),
            ]
        shift = self.pair_bits
        return [
            Block(start << shift, stop << shift, self._with_gradient(sides))
            for (start, stop), sides in runs
            if start < stop
        ]

    def _with_gradient(self, sides: tuple[int, ...]) -> tuple[int, ...]:
        if not self.pairs:
            return sides
        return (*sides, *(side | NEGATIVE_GRADIENT for side in sides))


def make_plan(
    subject: Subject,
    *,
    dtype: str,
    device: str = "cpu",
    first: float | None = None,
    last: float | None = None,
    pairs: bool = False,
    locator: str | None = None,
) -> Plan:
    """A plan for every number of `dtype` from `first` to `last`, both included.

    Without a range: every bit pattern, NaNs included; for a tanh-gradient all y in [-1, 1], with
    g = 1, or with every g if `pairs`. Whether a neuron can be batched is left for `apply` to find
    out.

    Raises UsageError for an unknown dtype, a range that is upside down, empty, NaN or half given,
    pairs of a wide format or another kind, and more numbers than can be swept; CannotVerify for a
    dtype or device the subject does not support.
    """
    format = require_target(subject, dtype, device)
    if pairs and (subject.kind is not Kind.TANH_GRADIENT or format.width != 16):
        raise UsageError(
            f"--pairs with {subject.name} ({subject.kind}) in {dtype}; expected a tanh-gradient in "
            "float16 or bfloat16, where all pairs can be swept; leave it out"
        )
    if (first is None) != (last is None):
        raise UsageError(
            f"--{'from' if last is None else 'to'} without --{'to' if last is None else 'from'}; "
            "expected both ends of a range; add the other, inf if it is open"
        )
    positive, negative = _ranges(subject.kind, format, first, last)
    plan = Plan(
        subject,
        dtype,
        device,
        positive,
        negative,
        pairs=pairs,
        first=first,
        last=last,
        locator=locator,
    )
    if plan.block_count > _MOST_BLOCKS:
        raise UsageError(
            f"{dtype} has {plan.points:.1e} numbers in this range; expected at most "
            f"{_MOST_BLOCKS * plan.block_size:.1e}; narrow it with --from and --to"
        )
    return plan


def _ranges(
    kind: Kind, format: Format, first: float | None, last: float | None
) -> tuple[tuple[int, int], tuple[int, int]]:
    if first is None or last is None:
        if kind is Kind.TANH_GRADIENT:
            whole = (0, format.to_bits(1.0) + 1)
        else:
            whole = (0, 1 << format.width - 1)
        return whole, whole
    for option, value in (("--from", first), ("--to", last)):
        if isnan(value):
            raise UsageError(f"{option} is nan; expected a number or inf; NaN has no neighbours")
    if _upside_down(first, last):
        raise UsageError(
            f"the range is upside down: --from {hex_text(first)} is above --to {hex_text(last)}; "
            "expected the lower end first; exchange them"
        )
    low, high = _at_least(first, format), _at_most(last, format)
    if _upside_down(low, high):
        raise UsageError(
            f"no {format.name} number lies from {hex_text(first)} to {hex_text(last)}; "
            "expected a range that holds one; widen it"
        )
    sign = 1 << format.width - 1
    low_bits, high_bits = format.to_bits(low), format.to_bits(high)
    if low_bits < sign:
        return (low_bits, high_bits + 1), (0, 0)
    if high_bits >= sign:
        return (0, 0), (high_bits - sign, low_bits - sign + 1)
    return (0, high_bits + 1), (0, low_bits - sign + 1)


def _upside_down(first: float, last: float) -> bool:
    """Whether first lies above last, -0 below +0."""
    if first == last == 0:
        return str(first) == "0.0" and str(last) == "-0.0"
    return first > last


def _at_least(value: float, format: Format) -> float:
    """The least member that is at least `value`; a zero keeps its sign."""
    if value == 0 or value in (float("inf"), float("-inf")):
        return value
    rounded = format.round_up(from_float(value))
    return -0.0 if rounded == 0 and value < 0 else rounded


def _at_most(value: float, format: Format) -> float:
    return -_at_least(-value, format)


def describe(plan: Plan) -> dict[str, Any]:
    """What a run in the store says about its plan, as JSON values."""
    return {
        "subject": plan.subject.name,
        "kind": str(plan.kind),
        "dtype": plan.dtype,
        "device": plan.device,
        "pairs": plan.pairs,
        "positive": list(plan.positive),
        "negative": list(plan.negative),
        "block_size": plan.block_size,
        "figures_version": FIGURES_VERSION,
    }
