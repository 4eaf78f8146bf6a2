"""Bounds and signs: what the results of one call must satisfy by themselves.

Where |y| <= 1, 1 - y*y is not negative in any format, and neither is any other sound form of
sech^2: so d never has the sign opposite to that of g, and that is required. Which sign a *zero* has
is not: a gradient accumulated into zeros is sound, and +0 whatever the sign of g. So zeros have a
law of their own, observed. NaN breaks none of these laws; the grades see to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import copysign
from typing import Final

from harness.hexfloat import hex_text
from harness.laws.law import Check, Law, Look, Seen, place
from harness.subjects import Kind


def _beyond_one(seen: Seen, _look: Look) -> str | None:
    (y,) = seen.values["output"]
    return f"output is {hex_text(y)}" if abs(y) > 1 else None


_BOUNDED: Final = Check(
    _beyond_one, lambda seen: seen.values["output"][0] == seen.values["output"][0]
)
OUTPUT_BOUNDED: Final = Law(
    "output-bounded",
    "the output is at most 1 in magnitude",
    required=True,
    checks={Kind.NEURON: _BOUNDED, Kind.ACTIVATION: _BOUNDED},
)


def _gradients(seen: Seen) -> Iterable[tuple[str, int, float, float]]:
    """Each computed d with its name, its index and the output it belongs to."""
    if "gradient" in seen.values:
        pairs = zip(seen.case.inputs, seen.values["gradient"], strict=True)
        return [("gradient", index, y, d) for index, (y, d) in enumerate(pairs)]
    return [("bias_gradient", 0, seen.values["output"][0], seen.values["bias_gradient"][0])]


def _opposite(seen: Seen, _look: Look) -> str | None:
    g = seen.case.upstream_gradient
    for name, index, y, d in _gradients(seen):
        # Where |y| > 1 the formula is negative; NaN compares false.
        if abs(y) <= 1 and (d < 0 if g > 0 else d > 0):
            return f"{place(name, index)} is {hex_text(d)}, but upstream_gradient {hex_text(g)}"
    return None


_SIGN: Final = Check(_opposite, lambda seen: abs(seen.case.upstream_gradient) > 0)
GRADIENT_SIGN: Final = Law(
    "gradient-sign",
    "no d has the sign opposite to that of g (where y is in [-1, 1])",
    required=True,
    checks=dict.fromkeys(Kind, _SIGN),
)


def _wrong_zero(seen: Seen, _look: Look) -> str | None:
    g = seen.case.upstream_gradient
    for name, index, y, d in _gradients(seen):
        if d == 0 and abs(y) <= 1 and copysign(1, d) != copysign(1, g):
            return _zero(name, index, d, copysign(0.0, g))
    for name, factors in (
        ("input_gradient", seen.case.weights),
        ("weight_gradient", seen.case.inputs),
    ):
        values = seen.values.get(name, ())
        if 0.0 not in values:
            continue
        for index, (factor, value) in enumerate(zip(factors, values, strict=True)):
            expected = copysign(1, g) * copysign(1, factor)
            if value == 0 and factor == factor and copysign(1, value) != expected:
                return _zero(name, index, value, copysign(0.0, expected))
    return None


def _zero(name: str, index: int, found: float, expected: float) -> str:
    return f"{place(name, index)} is {hex_text(found)}; expected {hex_text(expected)}"


def _has_zeros(seen: Seen) -> bool:
    g = seen.case.upstream_gradient
    return g == g and any(0.0 in seen.values[name] for name in seen.values if name != "output")


_ZERO: Final = Check(_wrong_zero, _has_zeros)
ZERO_SIGN: Final = Law(
    "zero-sign",
    "a gradient that is 0 has the sign of its product: that of g, times its factor's",
    required=False,
    checks=dict.fromkeys(Kind, _ZERO),
)
