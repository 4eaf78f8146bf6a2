"""Cases picked by hand, one for each dtype: the numbers of a case rounded to every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from harness.case import DTYPES, Case, Layout, format_of
from reference.dyadic import from_float
from reference.formats import Format

Witnesses = dict[str, Case]

#: 2^emax, a power of two within a factor of 2 of the largest number.
HUGE: Final = {dtype: 2.0 ** format_of(dtype).emax for dtype in DTYPES}
#: A subnormal number of several significant bits' room: 2^(emin - 3).
SUBNORMAL: Final = {dtype: 2.0 ** (format_of(dtype).emin - 3) for dtype in DTYPES}


def at(preactivation: float, *dtypes: str, g: float = 1.0) -> Witnesses:
    """The neuron without terms, whose bias is the preactivation. No dtypes means all of them."""
    return terms((), (), preactivation, *dtypes, g=g)


def terms(
    inputs: Iterable[float],
    weights: Iterable[float],
    bias: float,
    *dtypes: str,
    g: float = 1.0,
    layout: Layout = Layout.CONTIGUOUS,
) -> Witnesses:
    """A neuron, its numbers rounded to nearest in each of `dtypes` (all of them if there are none).
    Zeros keep their sign."""
    numbers = (bias, g, *inputs), tuple(weights)
    witnesses: Witnesses = {}
    for dtype in dtypes or DTYPES:
        (first, last, *x), w = (_rounded(each, format_of(dtype)) for each in numbers)
        witnesses[dtype] = Case(dtype, tuple(x), w, first, last, layout)
    return witnesses


def stored(
    outputs: Iterable[float],
    *dtypes: str,
    g: float = 1.0,
    layout: Layout = Layout.CONTIGUOUS,
) -> Witnesses:
    """Stored outputs y and their common upstream gradient, for a raw tanh gradient."""
    return terms(outputs, (), 0.0, *dtypes, g=g, layout=layout)


def by_dtype(values: Mapping[str, float], make: Callable[[float, str], Witnesses]) -> Witnesses:
    """One witness for each dtype, made from a number of its own."""
    witnesses: Witnesses = {}
    for dtype, value in values.items():
        witnesses |= make(value, dtype)
    return witnesses


def _rounded(values: Iterable[float], format: Format) -> tuple[float, ...]:
    return tuple(
        value if value == 0 or value - value != 0 else format.round(from_float(value))
        for value in values
    )
