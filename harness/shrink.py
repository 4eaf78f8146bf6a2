"""The smallest case that keeps an error: few terms, contiguous, g = 1, short significands.

Greedy: each simplification is tried and kept if the error stays, the large ones first, over and
over until none is kept or the allowance is used up. Simplifications are ordered, and nothing is
drawn, so that equal cases shrink alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isfinite
from typing import Final

from harness.case import Case, Layout, with_vector
from harness.direction import Direction
from harness.strategies.drawing import replaced
from reference.formats import Format

Keeps = Callable[[Case], bool]
#: A simplified case, or None where there is nothing to simplify.
Change = Callable[[Case], Case | None]
#: A case of as many terms takes as long to judge as two short ones.
_LONG: Final = 32


class Shrinking:
    """A case that shrinks; `case` is the simplest so far, also where `run` was interrupted.

    With `inputs_only` nothing but the significands of the inputs changes.
    """

    def __init__(self, case: Case, *, inputs_only: bool = False) -> None:
        self.case = case
        self._inputs_only = inputs_only

    def run(self, keeps: Keeps, allowance: int) -> None:
        """Simplify until nothing helps or `keeps`, which is true for the case, was called
        `allowance` times, long cases counting for several. What `keeps` raises is raised."""
        tried = {self.case}
        again = True
        while again:
            again = False
            for change in self._changes():
                # The case may have changed since: a change that no longer applies gives None.
                candidate = change(self.case)
                if candidate is None or candidate in tried:
                    continue
                if allowance <= 0:
                    return
                allowance -= 1 + len(candidate.inputs) // _LONG
                tried.add(candidate)
                if keeps(candidate):
                    self.case = candidate
                    again = True

    def _changes(self) -> Iterator[Change]:
        if not self._inputs_only:
            yield from _changes(self.case)
            return
        for index in range(len(self.case.inputs)):
            yield from _shorter_elements("inputs", index, self.case)


def _changes(case: Case) -> Iterator[Change]:
    """Simplifications, from the largest to the smallest."""
    yield lambda current: replace(current, layout=Layout.CONTIGUOUS)
    n = len(case.inputs)
    size = n
    while size:
        for start in range(n - size, -1, -size):
            yield _dropping(start, size)
        size //= 2
    neuron = len(case.weights) == n
    yield _scalar("upstream_gradient", 1.0)
    if case.direction is not None:
        yield _along_the_bias
        for index in range(2 * n + 1):
            yield _along(index, 0.0)
            yield _along(index, 1.0)
    if neuron:
        yield _scalar("bias", 0.0)
        for index in range(n):
            yield _element("weights", index, 1.0)
            yield _element("inputs", index, 1.0)
    for name in ("upstream_gradient", "bias"):
        yield from _shorter_scalars(name, case)
    for index in range(n):
        for name in ("inputs", "weights") if neuron else ("inputs",):
            yield from _shorter_elements(name, index, case)


def _dropping(start: int, size: int) -> Change:
    def change(case: Case) -> Case | None:
        if start + size > len(case.inputs):
            return None

        def left(values: tuple[float, ...]) -> tuple[float, ...]:
            return (*values[:start], *values[start + size :])

        along = case.direction
        if along is not None:
            along = Direction(left(along.inputs), left(along.weights), along.bias)
        return replace(case, inputs=left(case.inputs), weights=left(case.weights), direction=along)

    return change


def _scalar(name: str, value: float) -> Change:
    if name == "bias":
        return lambda case: replace(case, bias=value)
    return lambda case: replace(case, upstream_gradient=value)


def _element(name: str, index: int, value: float) -> Change:
    def change(case: Case) -> Case | None:
        values = _vector(case, name)
        if index >= len(values):
            return None
        if case.layout is Layout.EXPANDED:
            return with_vector(case, name, (value,) * len(values))
        return with_vector(case, name, replaced(values, index, value))

    return change


def _along_the_bias(case: Case) -> Case:
    zeros = (0.0,) * len(case.inputs)
    return replace(case, direction=Direction(zeros, zeros, 1.0))


def _along(index: int, value: float) -> Change:
    """One number of the direction, the inputs' counted first, then the weights', then the bias'."""

    def change(case: Case) -> Case | None:
        n, direction = len(case.inputs), case.direction
        if direction is None or index > 2 * n:
            return None
        numbers = (*direction.inputs, *direction.weights, direction.bias)
        if numbers[index] in (0.0, value):
            return None
        numbers = replaced(numbers, index, value)
        return replace(case, direction=Direction(numbers[:n], numbers[n : 2 * n], numbers[2 * n]))

    return change


def _vector(case: Case, name: str) -> tuple[float, ...]:
    return case.inputs if name == "inputs" else case.weights


def _shorter_scalars(name: str, case: Case) -> Iterator[Change]:
    for value in shorter(getattr(case, name), case.format):
        yield _unless_shorter(
            _scalar(name, value), lambda current: getattr(current, name), value, case.format
        )


def _shorter_elements(name: str, index: int, case: Case) -> Iterator[Change]:
    def current_value(current: Case) -> float | None:
        values = _vector(current, name)
        return values[index] if index < len(values) else None

    for value in shorter(_vector(case, name)[index], case.format):
        yield _unless_shorter(_element(name, index, value), current_value, value, case.format)


def _unless_shorter(
    change: Change, current_value: Callable[[Case], float | None], value: float, format: Format
) -> Change:
    """The change, unless the value that it would replace is as short already."""

    def applied(case: Case) -> Case | None:
        current = current_value(case)
        if current is None or length(current, format) <= length(value, format):
            return None
        return change(case)

    return applied


def shorter(value: float, format: Format) -> Iterator[float]:
    """The nearest values with 1, 2, 3, ... significant bits, below and above in magnitude."""
    if not isfinite(value) or value == 0:
        return
    ordinal = abs(format.ordinal(value))
    for bits in range(1, length(value, format)):
        clear = format.precision - bits
        below = ordinal >> clear << clear
        near = [below, below + (1 << clear)]
        near.sort(key=lambda other: abs(other - ordinal))
        for other in near:
            found = format.from_ordinal(other) if other else 0.0
            if isfinite(found) and other:
                yield -found if value < 0 else found


def length(value: float, format: Format) -> int:
    """How many bits of the significand's field are in use; 0 for zeros and what is not finite."""
    if not isfinite(value) or value == 0:
        return 0
    fraction = abs(format.ordinal(value)) & (1 << format.precision - 1) - 1
    if not fraction:
        return 1
    trailing = (fraction & -fraction).bit_length() - 1
    return format.precision - trailing
