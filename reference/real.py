"""An exact result of the neuron, and how it is rounded: Ziv's loop.

Every quantity of the neuron is an exact factor times 1, tanh(a) or sech^2(a). By the theorem of
Lindemann and Weierstrass tanh of a non-zero rational is transcendental, so such a quantity is never
a float nor halfway between two, and a loop over growing precisions always decides its rounding
(Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded last bit", 1991).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, NamedTuple, Protocol

from reference.dyadic import ZERO, Dyadic
from reference.elementary import Enclosure, tanh_sech2
from reference.exact import Exact, product
from reference.formats import Format

#: The first precision of Ziv's loop: 43 bits beyond binary64's, so one value in 2^42 goes further.
FIRST_BITS = 96


class Enclosed(Protocol):
    """A real that no rational equals, enclosed as tightly as asked."""

    def enclosure(self, bits: int) -> Enclosure:
        """An interval of relative width at most 2^-bits whose end points are not the value, and
        have the same exponent. Either end may be 0 where the value is beyond any format's range."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """tanh or sech^2 at a dyadic argument a != 0, enclosed as tightly as asked and remembered."""

    name: Literal["tanh", "sech2"]
    argument: Dyadic
    _known: dict[int, Enclosure] = field(default_factory=dict, repr=False)

    def enclosure(self, bits: int) -> Enclosure:
        """An interval of relative width at most 2^-bits whose end points are not the value, and
        have the same exponent."""
        known = self._known.get(bits)
        if known is None:
            pair = tanh_sech2(self.argument, bits)
            found = pair.tanh if self.name == "tanh" else pair.sech2
            known = self._known[bits] = found.aligned
        return known


class Real(NamedTuple):
    """factor * curve, or the factor alone where `curve` is None.

    With a curve the factor is finite and not zero. Alone it may be any exact value, NaN and
    infinities among them.
    """

    factor: Exact
    curve: Enclosed | None = None

    @property
    def special(self) -> float | None:
        """The value if it is a signed zero, an infinity or NaN; None if it is a non-zero real."""
        return None if isinstance(self.factor, Dyadic) else self.factor

    def times(self, multiplier: Exact) -> Real:
        """This value times an exact one. A curve used as a derivative is positive, so a special
        product is that of the factors."""
        factor = product(self.factor, multiplier)
        return Real(factor, self.curve if isinstance(factor, Dyadic) else None)

    def enclosure(self, bits: int) -> Enclosure:
        """An interval of relative width at most 2^-bits around a finite value.

        A point for a value without a curve; else an interval whose end points are not the value.
        Raises ValueError for NaN and infinities.
        """
        factor = self.factor
        if not isinstance(factor, Dyadic):
            if not isfinite(factor):
                raise ValueError(f"{factor} has no enclosure; test `special` first")
            return Enclosure(ZERO, ZERO)
        if self.curve is None:
            return Enclosure(factor, factor)
        (low, curve_exponent), (high, _) = self.curve.enclosure(bits)
        mantissa, exponent = factor
        exponent += curve_exponent
        lower = Dyadic(mantissa * low, exponent)
        upper = Dyadic(mantissa * high, exponent)
        return Enclosure(lower, upper) if mantissa > 0 else Enclosure(upper, lower)

    def enclosures(self) -> Iterator[Enclosure]:
        """Ever tighter enclosures: the precisions of Ziv's loop, which ends only by deciding."""
        bits = FIRST_BITS
        while True:
            yield self.enclosure(bits)
            bits *= 2

    @property
    def first_enclosure(self) -> Enclosure:
        """The first of `enclosures`: almost every question ends with it."""
        return self.enclosure(FIRST_BITS)

    def rounded(self, format: Format) -> float:
        """The value rounded once to nearest even; special values as they are."""
        special = self.special
        if special is not None:
            return special
        enclosures = self.enclosures()
        while True:
            lower, upper = next(enclosures)
            result = format.round(lower)
            if lower is upper or result == format.round(upper):
                return result

    def neighbours(self, format: Format) -> tuple[float, float]:
        """The greatest float <= the value and the least >= it; equal if the value is a float."""
        special = self.special
        if special is not None:
            return special, special
        enclosures = self.enclosures()
        while True:
            lower, upper = next(enclosures)
            below, above = format.round_down(lower), format.round_up(upper)
            if below == above or format.next_up(below) == above:
                return below, above

    def ulp_exponent(self, format: Format) -> int:
        """log2 of the ulp of a finite value, as `Format.ulp_exponent` defines it."""
        enclosures = self.enclosures()
        while True:
            lower, upper = next(enclosures)
            if lower is upper:
                return format.ulp_exponent(lower)
            inner, outer = (lower, upper) if upper.mantissa > 0 else (upper, lower)
            result = format.ulp_exponent(inner)
            if result == format.ulp_exponent(just_inside(outer)):
                return result


def just_inside(bound: Dyadic) -> Dyadic:
    """A number under `bound` in magnitude, in the last binade an interval open there reaches."""
    mantissa, exponent = bound
    return Dyadic(2 * mantissa - (1 if mantissa > 0 else -1), exponent - 1)
