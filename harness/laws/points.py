"""Preactivations: where a neuron's tanh is evaluated, as a number of its format."""

from __future__ import annotations

from math import fsum, isfinite, nan

from harness.case import Case
from reference.dyadic import from_float


def preactivation(case: Case) -> float:
    """About sum(x_i w_i) + b, rounded to the format: good enough to be at the same place on the
    curve. NaN where a product or the sum is not finite."""
    terms = [x * w for x, w in zip(case.inputs, case.weights, strict=True)]
    try:
        total = fsum([*terms, case.bias])
    except (OverflowError, ValueError):
        return nan
    if not isfinite(total):
        return nan
    rounded = case.format.round(from_float(total))
    return rounded if isfinite(rounded) else nan
