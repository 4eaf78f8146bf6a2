"""Inputs around a bad one, where worse ones are likely.

The error of a function is made of parts that change smoothly with the argument (the error of a
polynomial, of a reduced argument) and parts that change from one float to the next (roundings). So
a worse input may be the next float, be where the smooth part is the same, or have the same
significand in another binade, where a table or a polynomial is the same.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reference.formats import Format

#: Numbers on either side that are all tried.
_BESIDE: Final = 512
#: Binades on either side, and numbers on either side of the same significand there.
_BINADES: Final = 16
_BESIDE_ELSEWHERE: Final = 8
#: Numbers drawn at each binary order of distance, on either side.
_DRAWS: Final = 16
#: log2 of the half widths of the windows that are searched on.
_WINDOWS: Final = (14, 20, 26, 32, 38, 44)


def around(bits: int, format: Format, stop: int, rng: np.random.Generator) -> NDArray[Any]:
    """Bit patterns around one, with magnitudes below `stop`: some 3000 for binary64."""
    sign = 1 << format.width - 1
    magnitude, side = bits & sign - 1, bits & sign
    fraction_bits = format.precision - 1
    own = [np.arange(-_BESIDE, _BESIDE + 1)]
    orders = np.int64(1) << np.arange(9, fraction_bits, dtype=np.int64)
    if orders.size:
        drawn = orders + rng.integers(0, orders, (_DRAWS, orders.size))
        own += [drawn.reshape(-1), -drawn.reshape(-1)]
    flips = magnitude ^ (np.int64(1) << np.arange(fraction_bits, dtype=np.int64))
    near = np.concatenate([*own, flips - magnitude])
    few = np.arange(-_BESIDE_ELSEWHERE, _BESIDE_ELSEWHERE + 1)
    binades = np.arange(-_BINADES, _BINADES + 1, dtype=np.int64) << fraction_bits
    elsewhere = (binades[:, None] + few).reshape(-1)
    both = [
        _patterns(magnitude + near, side, stop),
        _patterns(magnitude + elsewhere, side, stop),
        _patterns(magnitude + few, side ^ sign, stop),
    ]
    found: NDArray[Any] = np.unique(np.concatenate(both)).astype(f"u{format.width // 8}")
    return found


def windows(bits: int, format: Format, stop: int) -> list[tuple[int, int, int]]:
    """Ranges (low, high, side) of magnitudes below `stop` around one number, the narrow first."""
    magnitude = bits & (1 << format.width - 1) - 1
    side = bits >> format.width - 1
    return [
        (max(0, magnitude - (1 << order)), min(stop, magnitude + (1 << order)), side)
        for order in _WINDOWS
        if order < format.precision - 1
    ]


def _patterns(magnitudes: NDArray[np.int64], side: int, stop: int) -> NDArray[np.uint64]:
    kept = magnitudes[(magnitudes >= 0) & (magnitudes < stop)].astype(np.uint64)
    return kept | np.uint64(side)
