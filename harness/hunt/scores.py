"""What a hunt over numbers maximises: figures that grow with how bad a result is.

    ulps          |error| in ulps of the exact value
    bound ratio   |error| of the gradient over the textbook bound

The error in ulps alone would send a hunt for gradients to where 1 - y^2 has cancelled, which the
formula explains; over the bound, what it does not explain stands out. (The bound of the output is a
constant number of ulps for a neuron of one input, so there is no second figure for it.) It counts
for results that are not faithful: an error below an ulp is no worse for a smaller bound. The ratio
is computed in binary64 from rounded values, good enough to rank inputs: what is reported comes from
`harness.hunt.judge`.

No figure is given where an error has no size: such results are counted, and reported at once.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.certified.answers import Judgement
from reference.dyadic import Dyadic, ratio
from reference.formats import Format

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

_LARGEST: Final = float(np.finfo(np.float64).max)


class Objective(NamedTuple):
    """A quantity, and which figure of it is to become as large as possible."""

    quantity: str
    figure: str

    def __str__(self) -> str:
        return f"{self.quantity} {self.figure}"


OUTPUT: Final = Objective("output", "ulps")
GRADIENT: Final = Objective("gradient", "ulps")
GRADIENT_RATIO: Final = Objective("gradient", "bound ratio")
#: Recorded along the way, not hunted for: it is largest where the gradient is.
GRADIENT_SCALED: Final = Objective("gradient", "scaled error")


def sizes(judgement: Judgement) -> Float64:
    """|error| in ulps, shape (n,); 0 where it has no size."""
    return np.nan_to_num(np.abs(judgement.ulps), nan=0.0, posinf=_LARGEST)


def scaled_errors(ulps: Float64, rounded: Floats, format: Format) -> Float64:
    """|error| / u for g = 1, shape (n,), from errors in ulps of values that round to `rounded`.

    A value that rounds to a power of two is taken to lie below it, as 1 - y^2 and sech^2 do where
    they are next to 1; for one above it half the scaled error comes out.
    """
    return _times_power(ulps, _magnitudes(rounded, format) + 1)


def textbook_ratios(
    ulps: Float64, output: Floats, slope: Floats, activation_ulps: float, format: Format
) -> Float64:
    """|error| of a gradient (g = 1) over its textbook bound (`reference.bounds`), approximately.

    `output` and `slope` are y and s = sech^2 rounded; with `activation_ulps` 0 the bound is that of
    the raw operation on a stored y.
    """
    p = format.precision
    u = 2.0**-p
    eta = ratio(format.smallest_subnormal, Dyadic(1, 0))
    with np.errstate(all="ignore"):
        y = np.abs(output.astype(np.float64))
        s = np.abs(slope.astype(np.float64))
        ulp_of_y = np.ldexp(1.0, np.minimum(_magnitudes(output, format) + 1, 0) - p)
        off = activation_ulps * ulp_of_y
        square = off * (2 * y + off) + u * np.square(y + off) + u * s
        bound = np.maximum(square, 8 * u * s + 4 * eta) + u * s + eta
        errors = _times_power(ulps, _magnitudes(slope, format) + 1 - p)
        ratios: Float64 = np.nan_to_num(errors / bound, nan=0.0, posinf=_LARGEST)
    return ratios


def _magnitudes(rounded: Floats, format: Format) -> NDArray[np.intc]:
    """floor(log2|v|) of values v that round to `rounded`, from below where that is a power of two,
    and at least emin."""
    with np.errstate(all="ignore"):
        fraction, exponent = np.frexp(np.abs(rounded.astype(np.float64)))
    exponent -= 1 + (fraction == 0.5)
    exponent[~np.isfinite(fraction)] = format.emin
    exponent[fraction == 0] = format.emin
    return np.maximum(exponent, format.emin, out=exponent)


def _times_power(values: Float64, exponent: NDArray[np.intc]) -> Float64:
    with np.errstate(all="ignore"):
        return np.minimum(np.ldexp(values, exponent), _LARGEST)
