"""What may change a result, but not beyond the grade: the memory layout, and terms that are zero.

A sum may come out otherwise in another layout or at another length, for its order may change. So a
result with other bits is judged: a law is broken only where of two results that should be worth the
same, one earns the required grade and the other does not.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Final

from harness.case import Case, Layout
from harness.hexfloat import hex_text
from harness.laws.lanes import finite_preactivation
from harness.laws.law import EVERY, CallFailed, Check, Law, Look, Seen, Values, difference, place
from harness.laws.points import preactivation
from harness.subjects import Kind

_LANES: Final = 17
#: Terms that are added: odd, so that the remainder beyond any vector width changes.
_ZEROS: Final = (0.0,) * 9


def _other(layout: Layout) -> Layout:
    """What a case is compared with: the contiguous, and that with the strided."""
    return Layout.STRIDED if layout is Layout.CONTIGUOUS else Layout.CONTIGUOUS


def _laid_out(seen: Seen, look: Look) -> str | None:
    case = seen.case
    other = replace(case, layout=_other(case.layout))
    found = look.values(other)
    text = difference(seen.values, found)
    if text is None or look.falls_short(case, seen.values) == look.falls_short(other, found):
        return None
    return f"laid out {other.layout} instead of {case.layout}, {text}; one falls short of the grade"


def _activation_laid_out(seen: Seen, look: Look) -> str | None:
    """The activation on a vector of points around the curve, laid out in two ways."""
    case = seen.case
    a = preactivation(case)
    layout = Layout.STRIDED if case.layout is Layout.CONTIGUOUS else case.layout
    cycle = (a,) if layout is Layout.EXPANDED else (a, 1.0, -a)
    points = tuple(cycle[lane % len(cycle)] for lane in range(_LANES))
    plain = Case(case.dtype, points, (), 0.0, case.upstream_gradient)
    try:
        one = look.elementwise(plain)
    except CallFailed:
        return None  # It takes one number at a time, which has no layout.
    other = look.elementwise(replace(plain, layout=layout))
    for lane, point in enumerate(points):
        at = replace(case, inputs=(), weights=(), bias=point)
        left, right = _of_lane(one, lane), _of_lane(other, lane)
        text = difference(left, right)
        if text is not None and look.falls_short(at, left) != look.falls_short(at, right):
            return (
                f"in lane {lane} of {_LANES}, at {hex_text(point)}, laid out {layout} instead of "
                f"contiguous, {text}; one falls short of the grade"
            )
    return None


def _of_lane(values: Values, lane: int) -> Values:
    return {
        "output": [values["output"][lane]],
        "input_gradient": [],
        "weight_gradient": [],
        "bias_gradient": [values["bias_gradient"][lane]],
    }


def _has_layout(seen: Seen) -> bool:
    return bool(seen.case.inputs) or seen.case.layout is not Layout.CONTIGUOUS


_LAID_OUT: Final = Check(_laid_out, _has_layout, EVERY)
LAYOUT: Final = Law(
    "layout",
    "the same case in another memory layout earns the same grade",
    required=True,
    checks={
        Kind.NEURON: _LAID_OUT,
        Kind.TANH_GRADIENT: _LAID_OUT,
        Kind.ACTIVATION: Check(_activation_laid_out, finite_preactivation, EVERY),
    },
)


def _padded(seen: Seen, look: Look) -> str | None:
    case, n = seen.case, len(seen.case.inputs)
    other = replace(
        case,
        inputs=(*case.inputs, *_ZEROS),
        weights=(*case.weights, *_ZEROS),
        layout=Layout.CONTIGUOUS if case.layout is Layout.EXPANDED else case.layout,
    )
    found = look.values(other)
    what = f"with {len(_ZEROS)} terms of zeros added"
    # 0 * d is 0 wherever d is finite.
    if isfinite(found["bias_gradient"][0]):
        for name in ("input_gradient", "weight_gradient"):
            for index in range(n, n + len(_ZEROS)):
                if found[name][index] != 0:
                    return f"{what}, {place(name, index)} is {hex_text(found[name][index])}"
    kept = {
        name: values if name in ("output", "bias_gradient") else values[:n]
        for name, values in found.items()
    }
    text = difference(seen.values, kept)
    if text is None or look.falls_short(case, seen.values) == look.falls_short(other, found):
        return None
    return f"{what}, {text}; one falls short of the grade"


ZERO_PADDING: Final = Law(
    "zero-padding",
    "terms of zeros added: their gradients are zero, and the rest earns the same grade",
    required=True,
    checks={Kind.NEURON: Check(_padded, every=EVERY)},
)
