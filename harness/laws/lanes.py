"""The same value gives the same result in every lane and at every length.

A kernel works in blocks with a remainder that other instructions handle; where they round otherwise
(one has a fused multiply-add, the other has none) a result depends on where it stands. The lengths
here leave every remainder of the usual widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Final

from harness.case import Case, Layout
from harness.hexfloat import hex_text
from harness.laws.law import EVERY, CallFailed, Check, Law, Look, Seen, place, same
from harness.laws.points import preactivation
from harness.subjects import Kind

#: Lanes that are added: more than two of the widest vectors of binary64, and odd.
_ADDED: Final = 17


def _in_a_neuron(seen: Seen, look: Look) -> str | None:
    """More lanes, each with the weight or the input of an earlier one, and 0 as the other factor:
    the sum stays, and equal factors must have equal gradients."""
    case = seen.case
    n = len(case.inputs)
    sources = [lane % n for lane in range(_ADDED)]
    more = [
        (0.0, case.weights[source]) if _repeats_weight(lane) else (case.inputs[source], 0.0)
        for lane, source in enumerate(sources)
    ]
    inputs, weights = zip(*more, strict=True)
    found = look.values(
        replace(
            case,
            inputs=(*case.inputs, *inputs),
            weights=(*case.weights, *weights),
            layout=_variable(case.layout),
        )
    )
    for lane, source in enumerate(sources):
        name = "input_gradient" if _repeats_weight(lane) else "weight_gradient"
        text = _unlike(name, found[name], source, n + lane)
        if text is not None:
            return text
    # Only where the sum and so d came out the same are the two calls comparable.
    if not all(same(found[name][0], seen.values[name][0]) for name in ("output", "bias_gradient")):
        return None
    for name in ("input_gradient", "weight_gradient"):
        text = _changed(name, seen.values[name], found[name], n + _ADDED)
        if text is not None:
            return text
    return None


def _repeats_weight(lane: int) -> bool:
    """Every other three added lanes, which leaves each remainder of two, four and eight to both."""
    return lane // 3 % 2 == 1


def _in_a_gradient(seen: Seen, look: Look) -> str | None:
    case = seen.case
    n = len(case.inputs)
    lanes = [lane % n for lane in range(n + _ADDED)]
    found = look.values(replace(case, inputs=tuple(case.inputs[lane] for lane in lanes)))
    expected = [seen.values["gradient"][lane] for lane in lanes]
    return _changed("gradient", expected, found["gradient"], len(lanes))


def _in_an_activation(seen: Seen, look: Look) -> str | None:
    """The activation on a vector that holds a in two lanes of three, and on a alone."""
    case = seen.case
    a = preactivation(case)
    alone = look.values(replace(case, inputs=(), weights=(), bias=a))
    points = tuple(1.0 if lane % 3 == 1 else a for lane in range(_ADDED))
    try:
        found = look.elementwise(Case(case.dtype, points, (), 0.0, case.upstream_gradient))
    except CallFailed:
        return None  # It takes one number at a time, and has no lanes.
    for name in ("output", "bias_gradient"):
        for lane, point in enumerate(points):
            if point == a and not same(alone[name][0], found[name][lane]):
                return (
                    f"at {hex_text(a)}, {name} is {hex_text(found[name][lane])} in lane {lane} of "
                    f"{_ADDED}, {hex_text(alone[name][0])} alone"
                )
    return None


def _unlike(name: str, values: Sequence[float], one: int, other: int) -> str | None:
    if same(values[one], values[other]):
        return None
    return (
        f"with lane {one} repeated as lane {other}, {name} is {hex_text(values[one])} in one and "
        f"{hex_text(values[other])} in the other"
    )


def _changed(
    name: str, expected: Sequence[float], found: Sequence[float], length: int
) -> str | None:
    for lane, (before, after) in enumerate(zip(expected, found, strict=False)):
        if not same(before, after):
            return (
                f"at length {length}, {place(name, lane)} is {hex_text(after)}; "
                f"expected {hex_text(before)}"
            )
    return None


def _variable(layout: Layout) -> Layout:
    """The layout, or a contiguous one for that which repeats one element."""
    return Layout.CONTIGUOUS if layout is Layout.EXPANDED else layout


def _finite_lanes(seen: Seen) -> bool:
    case = seen.case
    return (
        bool(case.inputs) and all(map(isfinite, case.inputs)) and all(map(isfinite, case.weights))
    )


def finite_preactivation(seen: Seen) -> bool:
    """Whether there is a place on the curve."""
    return isfinite(preactivation(seen.case))


LANES: Final = Law(
    "lanes",
    "the same value gives the same result in every lane and at every length",
    required=False,
    checks={
        Kind.NEURON: Check(_in_a_neuron, _finite_lanes, EVERY),
        Kind.ACTIVATION: Check(_in_an_activation, finite_preactivation, EVERY),
        Kind.TANH_GRADIENT: Check(_in_a_gradient, lambda seen: bool(seen.case.inputs), EVERY),
    },
)
