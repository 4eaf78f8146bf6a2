"""The output is monotone along a sweep of the preactivation.

The bias is what is raised: whatever the order of summation, rounding is monotone, so the computed
preactivation cannot fall, and the output of a monotone tanh cannot either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite, isnan
from typing import Final

from harness.case import Case
from harness.hexfloat import hex_text
from harness.laws.law import EVERY, Check, Law, Look, Seen
from harness.laws.points import preactivation
from harness.subjects import Kind
from reference.dyadic import from_float

#: How far the sweep goes, in steps of about an ulp of the larger of bias and preactivation: where
#: an approximation falls, it mostly does so between neighbours.
_STEPS: Final = (1, 2, 8)


def _falls(seen: Seen, look: Look) -> str | None:
    bias, (output,) = seen.case.bias, seen.values["output"]
    for raised in _rising(seen.case):
        (after,) = look.values(replace(seen.case, bias=raised))["output"]
        # NaN, as from an overflow that the larger bias brings about, ends the sweep.
        if isnan(after):
            return None
        if after < output:
            return (
                f"output falls from {hex_text(output)} to {hex_text(after)} as bias rises from "
                f"{hex_text(bias)} to {hex_text(raised)}"
            )
        bias, output = raised, after
    return None


def _rising(case: Case) -> Iterator[float]:
    """Finite biases above that of a case, in rising order."""
    format, bias = case.format, case.bias
    a = preactivation(case)
    ulp = max(abs(bias), abs(a) if isfinite(a) else 0.0) * 2.0 ** (1 - format.precision)
    for steps in _STEPS:
        wanted = case.bias + steps * ulp
        if not isfinite(wanted):
            return
        raised = format.round(from_float(wanted))
        bias = raised if raised > bias else format.next_up(bias)
        if not isfinite(bias):
            return
        yield bias


_FALLS: Final = Check(
    _falls,
    lambda seen: isfinite(seen.case.bias) and not isnan(seen.values["output"][0]),
    # Each look takes as many calls as there are steps.
    2 * EVERY,
)
OUTPUT_MONOTONE: Final = Law(
    "output-monotone",
    "the output never falls as the bias rises",
    required=False,
    checks={Kind.NEURON: _FALLS, Kind.ACTIVATION: _FALLS},
)
