"""The draws that every regime shares: lengths, vectors, residual sums, gradients, layouts.

Speed decides the shape of this file. One hypothesis draw costs more than all arithmetic on the
value drawn, so a float is one integer (`harness.strategies.members`), longer vectors grow from
their first element and a seed, and the choices that do not show in the case (`form`, `salt`,
`gain`, `split`) share one integer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from harness.case import Layout, format_of
from harness.strategies.members import (
    Window,
    largest_ordinal,
    power_ordinal,
    powers,
    scatter,
    scattered_signs,
    values_at,
)
from harness.strategies.regimes import Regime
from reference.dyadic import Dyadic, add, from_float, multiply, negate
from reference.formats import Format

#: Gives an integer in [0, count) for a count >= 1; simpler cases come from smaller integers.
Below = Callable[[int], int]

#: From the simplest; `expanded` last, since it also decides what is drawn.
_LAYOUTS: Final = (
    Layout.CONTIGUOUS,
    Layout.STRIDED,
    Layout.OFFSET,
    Layout.COLUMN,
    Layout.SCALAR_VIEW,
    Layout.REQUIRES_GRAD,
    Layout.EXPANDED,
)
#: Lengths outside the long regimes: most are short, the rest on both sides of vector widths.
SIZES: Final = (0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 4, 5, 7, 8, 8, 16, 17, 31, 40)
NONEMPTY_SIZES: Final = tuple(size for size in SIZES if size)
#: Binary orders of magnitude of long lengths. A case costs its length, so that the longest, drawn
#: as often as the others, would take most of the time of a run.
ORDERS: Final = {
    Regime.LONG: (*[5] * 6, *[6] * 5, *[7] * 4, *[8] * 2, 9),
    Regime.VERY_LONG: (10, 10, 11),
}
_DRAWN_ONE_BY_ONE: Final = 3
_SEED_BITS: Final = 16
_MANNER_BITS: Final = 10

_GRADIENTS: Final = (1.0, -1.0, 2.0, 0.5, -0.0, 0.0)
_NON_FINITE: Final = (float("inf"), float("-inf"), float("nan"))


class Drawing:
    """One case in the making: its format, length and layout, and how its vectors are drawn.

    A pure function of the integers that `below` gives, whoever draws them.

    `form` picks among the ways a regime can be reached; `salt` is 0 for short significands;
    `gain` is how many times (as a power of two) the terms of a sum exceed their total; `split`
    says how a product's exponent is shared by its factors. All are 0 in the simplest case.
    """

    def __init__(
        self, below: Below, dtype: str, sizes: Sequence[int], *, orders: bool = False
    ) -> None:
        """Draw a length from `sizes`; with `orders` they are binary orders of magnitude."""
        self._below = below
        self.dtype = dtype
        self.format = format_of(dtype)
        self.layout = _LAYOUTS[below(len(_LAYOUTS))]
        self.n = sizes[self.index(len(sizes))]
        if orders:
            # From just beyond a power of two, where blocks of it end.
            self.n = (1 << self.n) + 1 + self.integer(self.n)
        self._manner = below(1 << _MANNER_BITS)
        self.form = self._manner & 7
        self.salt = self._manner >> 3 & 3
        self.gain = self._manner >> 5 & 3
        self._split = self._manner >> 7 & 7

    @property
    def constant(self) -> bool:
        """Whether all elements of a vector must be equal."""
        return self.layout is Layout.EXPANDED

    @property
    def uniform(self) -> bool:
        """Whether they must and there are several: then no term of a sum can be chosen alone."""
        return self.constant and self.n > 1

    def integer(self, bits: int) -> int:
        """An integer in [0, 2^bits)."""
        return self._below(1 << bits)

    def index(self, count: int) -> int:
        """An integer in [0, count); nothing is drawn where there is no choice."""
        return self._below(count) if count > 1 else 0

    def ordinal(self, window: Window) -> int:
        """The ordinal of a positive member of `window`."""
        return window.pick(self.integer(window.code_bits), self.salt)

    def signed_ordinal(self, window: Window) -> int:
        """The ordinal of plus or minus a member of `window`."""
        return window.pick_signed(self.integer(window.code_bits + 1), self.salt)

    def value(self, window: Window) -> float:
        """Plus or minus a member of `window`."""
        return self.format.from_ordinal(self.signed_ordinal(window))

    def vector(self, window: Window, *, positive: bool = False) -> tuple[float, ...]:
        """n members of `window`, of either sign unless `positive`.

        Beyond `_DRAWN_ONE_BY_ONE` elements, a seed follows the first: seed 0 repeats it, any other
        scatters the rest over the window.
        """
        n = self.n
        if not n:
            return ()
        one = self.ordinal if positive else self.signed_ordinal
        if n <= _DRAWN_ONE_BY_ONE:
            ordinals = [one(window) for _ in range(n)]
            # An expanded vector draws as much as another, or it would count as simpler.
            return values_at(self.format, ordinals[:1] * n if self.constant else ordinals)
        first = one(window)
        seed = self.integer(_SEED_BITS)
        if not seed or self.constant:
            return values_at(self.format, [first]) * n
        scattered = window.scattered(n, seed)
        if not positive:
            scattered *= scattered_signs(n, seed)
        scattered[0] = first
        return values_at(self.format, scattered)

    def zeros(self) -> tuple[float, ...]:
        """n zeros with signs drawn."""
        signs = self.integer(min(self.n, 24)) if self.n else 0
        lanes = range(self.n)
        return tuple(
            -0.0 if signs >> (0 if self.constant else lane % 24) & 1 else 0.0 for lane in lanes
        )

    def split(self, low: int, high: int) -> int:
        """An exponent in [low, high] for one factor of a product: 0, near 0, or anywhere."""
        if self._split >= 6:
            return low + scatter(self._manner, self._split) % (high - low + 1)
        wanted = (0, 0, 0, 3, -3, 8)[self._split]
        return min(max(wanted, low), high)

    def gradient(self, *, special: bool = False) -> float:
        """An upstream gradient g; `special` ones are infinite or NaN one time in four.

        1, -1, powers of two, zeros of both signs, ordinary, subnormal and huge values, and
        rarely (one time in 32) a non-finite one.
        """
        sort, number = self.index(32), self.integer(15)
        format = self.format
        if sort == 31 or (special and sort >= 24):
            return _NON_FINITE[number % len(_NON_FINITE)]
        if sort < len(_GRADIENTS):
            return _GRADIENTS[sort]
        if sort < 10:
            exponent = format.emin + (number >> 1) % (format.emax - format.emin + 1)
            ordinal = power_ordinal(format, exponent)
            return format.from_ordinal(-ordinal if number & 1 else ordinal)
        if sort < 14:
            window = Window(format, 1, power_ordinal(format, format.emin) - 1)
        elif sort < 16:
            # So large that a factor between 1 and 2 overflows, as 1 - y and 1 + y are.
            window = powers(format, format.emax, format.emax + 1)
        elif sort < 18:
            window = powers(format, format.emax - 3, format.emax + 1)
        else:
            window = powers(format, -5, 5)
        return format.from_ordinal(window.pick_signed(number, self.salt))

    def summing_to(self, target: int) -> tuple[tuple[float, ...], tuple[float, ...], float]:
        """Inputs, weights and bias whose exact preactivation is close to a target.

        `target` is the ordinal of a member t with |t| from the smallest normal number to
        2^(emax-5). The preactivation is within 2^gain ulps of t, for the bias (or, in odd forms,
        the last product: its weight is then a power of two) takes up what the rest leaves.
        """
        format, n = self.format, self.n
        goal = format.from_ordinal(target)
        exponent = (abs(target) >> format.precision - 1) - format.emax
        if not n:
            return (), (), goal
        # n terms below 2^(exponent + gain - headroom) sum to less than 2^(exponent + gain).
        headroom = n.bit_length()
        scale = exponent + self.gain - headroom
        split = self.split(
            max(format.emin + 3, scale - 1 - format.emax, exponent - format.emax),
            min(format.emax - 6, scale - 4 - format.emin, exponent - format.emin),
        )
        inputs = self.vector(powers(format, split - 3, split + 1))
        if self.form & 1 and not self.uniform:
            return self._last_product(inputs, goal, split, exponent)
        weights = self.vector(powers(format, scale - split - 4, scale - split - 1))
        rest = negate(exact_sum(inputs, weights))
        return inputs, weights, format.round(add(from_float(goal), rest))

    def _last_product(
        self, inputs: tuple[float, ...], goal: float, split: int, exponent: int
    ) -> tuple[tuple[float, ...], tuple[float, ...], float]:
        format, n = self.format, self.n
        power = exponent - split
        last_weight = format.from_ordinal(power_ordinal(format, power))
        if n == 1:
            exact = from_float(goal)
            return (format.round(scaled(exact, -power)),), (last_weight,), 0.0
        scale = exponent + self.gain - n.bit_length()
        weights = self.vector(powers(format, scale - split - 4, scale - split - 1))
        bias = self.value(powers(format, scale - 3, scale - 1))
        rest = exact_sum(inputs[:-1], weights[:-1], bias)
        last = format.round(scaled(add(from_float(goal), negate(rest)), -power))
        return (*inputs[:-1], last), (*weights[:-1], last_weight), bias


def exact_sum(inputs: Iterable[float], weights: Iterable[float], bias: float = 0.0) -> Dyadic:
    """sum(inputs * weights) + bias of finite floats, exactly."""
    total = from_float(bias)
    for left, right in zip(inputs, weights, strict=True):
        total = add(total, multiply(from_float(left), from_float(right)))
    return total


def scaled(value: Dyadic, exponent: int) -> Dyadic:
    """value * 2^exponent."""
    return Dyadic(value.mantissa, value.exponent + exponent)


def shifted(format: Format, value: float, steps: int) -> float:
    """The finite member `steps` places above `value` (below, if negative); stops at the largest."""
    largest = largest_ordinal(format)
    return format.from_ordinal(min(max(format.ordinal(value) + steps, -largest), largest))


def subnormals(format: Format) -> Window:
    """All positive subnormal numbers."""
    return Window(format, 1, power_ordinal(format, format.emin) - 1)


def alternate(left: Sequence[float], right: Sequence[float]) -> tuple[float, ...]:
    """Elements of even index from `left`, of odd index from `right`."""
    return tuple((left, right)[index % 2][index] for index in range(len(left)))


def replaced(values: tuple[float, ...], index: int, value: float) -> tuple[float, ...]:
    """`values` with `value` at `index`."""
    return (*values[:index], value, *values[index + 1 :])
