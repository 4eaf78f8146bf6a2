"""Neighbours of a neuron's case: small and large changes, each of which may make it worse.

Every mutation is a pure function of a case and a random source, and gives a case whose values are
members of its format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite
from random import Random
from typing import Final

from harness.case import Case, Layout, with_vector
from harness.hexfloat import hex_text
from harness.strategies.drawing import exact_sum, replaced, scaled
from harness.strategies.members import largest_ordinal
from reference.dyadic import from_float, negate
from reference.formats import Format

Mutation = Callable[[Case, Random], Case]

#: Cases grow no longer than this: a case costs its length.
_LONGEST: Final = 64


def nudge(case: Case, random: Random) -> Case:
    """One value, some ulps up or down: mostly few."""
    return _with_one(case, random, lambda value: _moved(value, case.format, random))


def rescale(case: Case, random: Random) -> Case:
    """One value times a power of two."""
    power = random.choice((-4, -2, -1, 1, 2, 4))
    return _with_one(case, random, lambda value: _scaled(value, power, case.format))


def negate_one(case: Case, random: Random) -> Case:
    """One value with the other sign."""
    return _with_one(case, random, lambda value: -value)


def shorten(case: Case, random: Random) -> Case:
    """One value with a shorter significand."""
    keep = random.randrange(1, case.format.precision)

    def cut(value: float) -> float:
        return _kept_bits(value, keep, case.format)

    return _with_one(case, random, cut)


def redraw(case: Case, random: Random) -> Case:
    """One value with another significand."""
    mask = (1 << case.format.precision - 1) - 1

    def draw(value: float) -> float:
        if not isfinite(value):
            return value
        ordinal = abs(case.format.ordinal(value)) & ~mask | random.getrandbits(64) & mask
        drawn = case.format.from_ordinal(min(ordinal, largest_ordinal(case.format)))
        return -drawn if value < 0 else drawn

    return _with_one(case, random, draw)


def cancel(case: Case, random: Random) -> Case:
    """A bias next to minus the sum of the products."""
    if not all(map(isfinite, (*case.inputs, *case.weights))):
        return case
    bias = case.format.round(negate(exact_sum(case.inputs, case.weights)))
    if not isfinite(bias):
        return case
    steps = random.choice((0, 0, 1, -1, random.randrange(-64, 65)))
    return replace(case, bias=_shifted(bias, steps, case.format))


def scale_all(case: Case, random: Random) -> Case:
    """All inputs, or all weights, times a power of two; the bias too, or not."""
    power = random.choice((-8, -3, -2, -1, 1, 2, 3, 8))
    scaled = [_scaled(value, power, case.format) for value in case.inputs]
    bias = _scaled(case.bias, power, case.format) if random.random() < 0.7 else case.bias
    if random.random() < 0.5:
        return replace(case, inputs=tuple(scaled), bias=bias)
    weights = tuple(_scaled(value, power, case.format) for value in case.weights)
    return replace(case, weights=weights, bias=bias)


def drop(case: Case, random: Random) -> Case:
    """Without one term, or without half of them."""
    n = len(case.inputs)
    if not n:
        return case
    count = 1 if random.random() < 0.7 else max(1, n // 2)
    start = random.randrange(n - count + 1)
    return _with_terms(case, [i for i in range(n) if not start <= i < start + count])


def repeat(case: Case, random: Random) -> Case:
    """With a term twice, or all of them."""
    n = len(case.inputs)
    if not 0 < n < _LONGEST:
        return case
    order = list(range(n))
    order += [random.randrange(n)] if random.random() < 0.7 else order
    return _with_terms(case, order[:_LONGEST])


def add_term(case: Case, random: Random) -> Case:
    """With one more term, of a size that occurs."""
    if len(case.inputs) >= _LONGEST:
        return case
    sources = (*case.inputs, *case.weights, case.bias, 1.0)
    x, w = (_moved(random.choice(sources), case.format, random) for _ in range(2))
    place = random.randrange(len(case.inputs) + 1)
    return _plain(
        replace(
            case,
            inputs=(*case.inputs[:place], x, *case.inputs[place:]),
            weights=(*case.weights[:place], w, *case.weights[place:]),
        )
    )


def shuffle(case: Case, random: Random) -> Case:
    """The terms in another order."""
    order = list(range(len(case.inputs)))
    random.shuffle(order)
    return _with_terms(case, order)


def swap(case: Case, random: Random) -> Case:
    """Inputs and weights exchanged."""
    return replace(case, inputs=case.weights, weights=case.inputs)


def other_gradient(case: Case, random: Random) -> Case:
    """Another upstream gradient: 1, a power of two, or one with a full significand."""
    sort = random.randrange(4)
    if sort == 0:
        return replace(case, upstream_gradient=1.0)
    if sort == 1:
        power = random.randrange(-8, 9)
        return replace(case, upstream_gradient=_scaled(1.0, power, case.format))
    if sort == 2:
        return replace(case, upstream_gradient=-case.upstream_gradient)
    mask = (1 << case.format.precision - 1) - 1
    one = case.format.ordinal(1.0)
    return replace(
        case, upstream_gradient=case.format.from_ordinal(one | random.getrandbits(64) & mask)
    )


def other_layout(case: Case, random: Random) -> Case:
    """Another layout in memory."""
    return _plain(replace(case, layout=random.choice(tuple(Layout))))


MUTATIONS: Final[tuple[Mutation, ...]] = (
    nudge,
    rescale,
    negate_one,
    shorten,
    redraw,
    cancel,
    scale_all,
    drop,
    repeat,
    add_term,
    shuffle,
    swap,
    other_gradient,
    other_layout,
)


def crossed(left: Case, right: Case, random: Random) -> Case:
    """Terms of both cases, the bias of one, the gradient of the other."""
    first = random.randrange(len(left.inputs) + 1)
    second = random.randrange(len(right.inputs) + 1)
    return _plain(
        replace(
            left,
            inputs=(*left.inputs[:first], *right.inputs[second:])[:_LONGEST],
            weights=(*left.weights[:first], *right.weights[second:])[:_LONGEST],
            upstream_gradient=right.upstream_gradient,
        )
    )


def _with_one(case: Case, random: Random, change: Callable[[float], float]) -> Case:
    """One of the values changed; all inputs or weights alike where they must be equal."""
    n = len(case.inputs)
    place = random.randrange(2 * n + 2)
    if place == 2 * n:
        return replace(case, bias=change(case.bias))
    if place > 2 * n:
        return replace(case, upstream_gradient=change(case.upstream_gradient))
    name = "inputs" if place < n else "weights"
    values = case.inputs if name == "inputs" else case.weights
    index = place % n
    changed = change(values[index])
    if case.layout is Layout.EXPANDED:
        return with_vector(case, name, (changed,) * n)
    return with_vector(case, name, replaced(values, index, changed))


def _with_terms(case: Case, order: list[int]) -> Case:
    return replace(
        case,
        inputs=tuple(case.inputs[i] for i in order),
        weights=tuple(case.weights[i] for i in order),
    )


def _plain(case: Case) -> Case:
    """The case, contiguous where its layout has no room for unequal elements."""
    if case.layout is not Layout.EXPANDED:
        return case
    # By their text, which tells zeros apart and NaN equal.
    if any(len(set(map(hex_text, values))) > 1 for values in (case.inputs, case.weights)):
        return replace(case, layout=Layout.CONTIGUOUS)
    return case


def _moved(value: float, format: Format, random: Random) -> float:
    order = random.choice((0, 0, 0, 1, 2, 3, random.randrange(format.precision)))
    steps = random.randrange(1 << order, 2 << order)
    return _shifted(value, steps if random.random() < 0.5 else -steps, format)


def _shifted(value: float, steps: int, format: Format) -> float:
    """The finite member some places further; values that are not finite stay."""
    if not isfinite(value):
        return value
    largest = largest_ordinal(format)
    return format.from_ordinal(min(max(format.ordinal(value) + steps, -largest), largest))


def _scaled(value: float, power: int, format: Format) -> float:
    """value * 2^power, rounded; the value itself where that is not finite."""
    if not isfinite(value) or value == 0:
        return value
    result = format.round(scaled(from_float(value), power))
    return value if result in (inf, -inf) else result


def _kept_bits(value: float, keep: int, format: Format) -> float:
    """The value with the lowest bits of its significand cleared, so that `keep` are left."""
    if not isfinite(value):
        return value
    clear = format.precision - keep
    ordinal = abs(format.ordinal(value)) >> clear << clear
    shortened = format.from_ordinal(ordinal)
    return -shortened if value < 0 else shortened
