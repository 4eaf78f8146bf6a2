"""What judging gives: elements with their grades, and the limits that earned them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Final, NamedTuple

from harness.grade import Grade
from reference.bounds import GradientBound
from reference.dyadic import ONE, ZERO, Dyadic
from reference.exact import Exact, product
from reference.real import Real

#: The quantities that are one number each; the others are vectors.
SCALARS: Final = frozenset({"output", "bias_gradient", "bias_hessian_product"})


class Bound(NamedTuple):
    """What one element may be off by, and the special results that textbook explains, or only an
    overflow on the way does (`hazard`).

    None where there is no bound. The stable bound of a multiple of d is worked out when it is asked
    for, since few elements need it.
    """

    textbook: Dyadic | None
    stable_of: Dyadic | GradientBound | None
    multiplier: Dyadic = ZERO
    explained: frozenset[str] = frozenset()
    hazard: frozenset[str] = frozenset()

    @property
    def stable(self) -> Dyadic | None:
        """The stable bound."""
        if isinstance(self.stable_of, GradientBound):
            return self.stable_of.multiple(self.multiplier)
        return self.stable_of


class GradientLimits(NamedTuple):
    """What bounds d and its multiples at one case.

    `infinite` holds the values that d takes for an infinite upstream gradient times any sech^2
    within its textbook bound; it is empty for a finite one. `overflowing` is the infinity that d
    may round to for a finite one, as it does for the largest g and a computed sech^2 of 1 + ulp;
    it is 0 where d cannot.
    """

    stable: GradientBound | None
    textbook: GradientBound | None
    infinite: tuple[float, ...]
    overflowing: float
    hazard: frozenset[str]

    @property
    def regular(self) -> bool:
        """Whether plain bounds say all there is to say."""
        return self.stable is not None and self.textbook is not None and not self.infinite

    def bound(self, multiplier: Exact) -> Bound:
        """The bound of d * multiplier."""
        if self.infinite:
            names = frozenset(special_name(product(value, multiplier)) for value in self.infinite)
            return Bound(ZERO, ZERO, ZERO, names, self.hazard)
        if self.stable is None or self.textbook is None:
            return Bound(None, None, hazard=self.hazard)
        explained: frozenset[str] = frozenset()
        if self.overflowing:
            explained = frozenset({special_name(product(self.overflowing, multiplier))})
        if not isinstance(multiplier, Dyadic):
            # Zero multiplies exactly: what stays, eta/2, lets no other float pass.
            return Bound(self.textbook.absolute, self.stable.absolute, ZERO, explained, self.hazard)
        return Bound(
            self.textbook.multiple(multiplier), self.stable, multiplier, explained, self.hazard
        )

    def itself(self) -> Bound:
        """The bound of d."""
        if self.infinite or self.stable is None or self.textbook is None:
            return self.bound(ONE)
        return Bound(self.textbook.bias_gradient, self.stable.bias_gradient, hazard=self.hazard)


class Element(NamedTuple):
    """One computed float, judged. `grade` is None where the element is unjudged, `ulps` and
    `bound_ratio` where the error has no size (NaN or an unexplained infinity)."""

    computed: float
    grade: Grade | None
    ulps: float | None
    bound_ratio: float | None
    hazard: bool
    base: Real
    limits: Bound | GradientLimits
    multiplier: Exact | None = None

    @property
    def exact(self) -> Real:
        """What should have been computed."""
        return self.base if self.multiplier is None else self.base.times(self.multiplier)

    @property
    def bound(self) -> Bound:
        """What it may be off by."""
        if isinstance(self.limits, Bound):
            return self.limits
        return self.limits.bound(ONE if self.multiplier is None else self.multiplier)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The elements of each quantity of one case, judged."""

    quantities: dict[str, tuple[Element, ...]]

    @property
    def grade(self) -> Grade:
        """The worst grade over all judged elements."""
        return Grade.worst(
            element.grade for element in self._elements() if element.grade is not None
        )

    @property
    def unjudged(self) -> bool:
        """Whether any element was left without a judgement."""
        return any(element.grade is None for element in self._elements())

    @property
    def hazard(self) -> bool:
        """Whether any element owes its grade to an overflow on the way."""
        return any(element.hazard for element in self._elements())

    def _elements(self) -> Iterable[Element]:
        for elements in self.quantities.values():
            yield from elements


def worst(elements: Sequence[Element]) -> tuple[int, Element]:
    """The position of the worst element, and itself: by grade, then by error.

    Raises ValueError for no elements.
    """
    return max(enumerate(elements), key=lambda item: severity(item[1]))


def severity(element: Element) -> tuple[int, float, float]:
    """A key that orders elements from best to worst."""
    rank = -1 if element.grade is None else element.grade.rank
    size = abs(element.ulps) if element.ulps is not None else inf if rank == _WRONG_RANK else 0.0
    return rank, size, element.bound_ratio or 0.0


_WRONG_RANK = Grade.WRONG.rank


def special_name(value: Exact) -> str:
    """The name of a special result, as the sets of `Bound` hold them; "" for an ordinary one."""
    if isinstance(value, Dyadic):
        return ""
    if isnan(value):
        return "nan"
    if value == 0:
        return "0"
    return f"{value:g}" if value in (1.0, -1.0, inf, -inf) else ""
