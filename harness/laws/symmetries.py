"""What follows, number for number, when the arguments are transformed.

Each law calls the subject on a transformed case and knows the answer from the one at hand, without
an oracle: rounding to nearest commutes with a change of sign and, away from underflow and overflow,
with a power of two. Zeros of either sign are equal here, as a sum that cancels is +0 whatever the
signs of its terms; any NaN equals any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from harness.case import Case
from harness.laws.law import EVERY, Check, Expected, Law, Look, Seen, Values, difference, same
from harness.subjects import Kind
from reference.formats import Format

_NEURONS: Final = (Kind.NEURON, Kind.ACTIVATION)
#: How far from underflow a result must be for its intermediate results to be so too.
_MARGIN_BITS: Final = 4


def _follows(
    what: str, transform: Callable[[Case], Case], expected: Callable[[Seen], Expected]
) -> Callable[[Seen, Look], str | None]:
    """The check of a law that says what a transformed case must give."""

    def breach(seen: Seen, look: Look) -> str | None:
        found = look.values(transform(seen.case))
        text = difference(expected(seen), found)
        return None if text is None else f"{what}, {text}"

    return breach


def _negated(values: Sequence[float]) -> list[float]:
    return [-value for value in values]


# Swap.


def _swapped(case: Case) -> Case:
    return replace(case, inputs=case.weights, weights=case.inputs)


def _swapped_values(seen: Seen) -> Values:
    values = seen.values
    return {
        **values,
        "input_gradient": values["weight_gradient"],
        "weight_gradient": values["input_gradient"],
    }


SWAP: Final = Law(
    "swap",
    "inputs and weights swapped: the two gradients are swapped, output and d stay",
    required=False,
    checks={
        Kind.NEURON: Check(
            _follows("with inputs and weights swapped", _swapped, _swapped_values),
            lambda seen: len(seen.case.inputs) > 0,
            EVERY,
        )
    },
)


# Signs.


def _mirrored(case: Case) -> Case:
    """(w, b) -> (-w, -b), which negates the preactivation; y -> -y for a raw gradient."""
    if not case.weights:
        return replace(case, inputs=tuple(_negated(case.inputs)), bias=-case.bias)
    return replace(case, weights=tuple(_negated(case.weights)), bias=-case.bias)


_MIRROR: Final = "with weights and bias negated"

OUTPUT_ODD: Final = Law(
    "output-odd",
    "weights and bias negated: the output is negated",
    required=False,
    checks=dict.fromkeys(
        _NEURONS,
        Check(
            _follows(_MIRROR, _mirrored, lambda seen: {"output": _negated(seen.values["output"])}),
            every=EVERY,
        ),
    ),
)


def _even_values(seen: Seen) -> Values:
    values = seen.values
    return {
        "bias_gradient": values["bias_gradient"],
        "weight_gradient": values["weight_gradient"],
        "input_gradient": _negated(values["input_gradient"]),
    }


_EVEN: Final = Check(_follows(_MIRROR, _mirrored, _even_values), every=EVERY)
GRADIENT_EVEN: Final = Law(
    "gradient-even",
    "weights and bias (y, for a tanh-gradient) negated: d stays",
    required=False,
    checks={
        **dict.fromkeys(_NEURONS, _EVEN),
        Kind.TANH_GRADIENT: Check(
            _follows("with y negated", _mirrored, lambda seen: seen.values), every=EVERY
        ),
    },
)


def _opposed(case: Case) -> Case:
    return replace(case, upstream_gradient=-case.upstream_gradient)


def _opposed_values(seen: Seen) -> Values:
    return {
        name: values if name == "output" else _negated(values)
        for name, values in seen.values.items()
    }


GRADIENT_ODD: Final = Law(
    "gradient-odd",
    "g negated: every gradient is negated, the output stays",
    required=False,
    checks=dict.fromkeys(
        Kind,
        Check(
            _follows("with upstream_gradient negated", _opposed, _opposed_values),
            lambda seen: abs(seen.case.upstream_gradient) > 0,
            EVERY,
        ),
    ),
)


# Scale.


def _doubled(case: Case) -> Case:
    return replace(case, upstream_gradient=2 * case.upstream_gradient)


def _doubled_values(seen: Seen) -> Expected:
    """Twice each gradient that is far from underflow and overflow."""
    least, most = _safe(seen.case.format)
    return {
        name: values
        if name == "output"
        else [2 * value if least <= abs(value) <= most else None for value in values]
        for name, values in seen.values.items()
    }


def _safe(format: Format) -> tuple[float, float]:
    return 2.0 ** (format.emin + _MARGIN_BITS), 2.0 ** (format.emax - _MARGIN_BITS)


def _scales(seen: Seen) -> bool:
    """Whether g and some d, hence all that lies between them, are far from underflow and overflow.
    Of a neuron there is one d, which every gradient is a multiple of."""
    least, most = _safe(seen.case.format)
    d = seen.values["gradient" if "gradient" in seen.values else "bias_gradient"]
    return least <= abs(seen.case.upstream_gradient) <= most and any(
        least <= abs(value) <= most for value in d
    )


DOUBLING: Final = Law(
    "doubling",
    "g doubled: every gradient is doubled (away from underflow and overflow), the output stays",
    required=False,
    checks=dict.fromkeys(
        Kind,
        Check(
            _follows("with upstream_gradient doubled", _doubled, _doubled_values), _scales, EVERY
        ),
    ),
)


# Order.


def _reversed(case: Case) -> Case:
    return replace(case, inputs=case.inputs[::-1], weights=case.weights[::-1])


def _permuted(seen: Seen, look: Look) -> str | None:
    found = look.values(_reversed(seen.case))
    values = seen.values
    # Another order of summation may give another sum, which the grades allow; then no gradient is
    # comparable.
    for name in ("output", "bias_gradient"):
        if name in values and not same(values[name][0], found[name][0]):
            return None
    expected = {
        name: values[name][::-1] for name in values if name not in ("output", "bias_gradient")
    }
    text = difference(expected, found)
    return None if text is None else f"with the lanes in reverse order, {text}"


_PERMUTED: Final = Check(_permuted, lambda seen: len(seen.case.inputs) > 1, EVERY)
PERMUTATION: Final = Law(
    "permutation",
    "lanes permuted: the gradients are permuted (where the sum is the same in that order)",
    required=False,
    checks={Kind.NEURON: _PERMUTED, Kind.TANH_GRADIENT: _PERMUTED},
)
