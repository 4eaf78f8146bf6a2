"""numpy arrays that carry members of a format, and the floating-point state they need.

binary16, binary32 and binary64 have numpy dtypes. bfloat16 has none: its members travel as the
float32 numbers they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reference.certified.doubledouble import Float64
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format

Carried = npt.NDArray[np.floating[Any]]

_CARRIERS: dict[Format, np.dtype[Any]] = {
    BINARY16: np.dtype(np.float16),
    BFLOAT16: np.dtype(np.float32),
    BINARY32: np.dtype(np.float32),
    BINARY64: np.dtype(np.float64),
}
_BFLOAT16_LOW_BITS = np.uint32(0xFFFF)
_QUIET_BIT_OF_FLOAT32 = np.uint32(1 << 22)

_LEAST_NORMAL = np.array([2.0**-1022])
_HALF_ULPS = np.array([2.0**-53, 3 * 2.0**-54, -(2.0**-53)])


def carrier(format: Format) -> np.dtype[Any]:
    """The dtype in which members of `format` travel."""
    return _CARRIERS[format]


def members(format: Format, start: int, stop: int) -> Carried:
    """The floats with bit patterns start, ..., stop - 1, in the carrier of `format`.

    Raises ValueError outside [0, 2^width].
    """
    if not 0 <= start <= stop <= 1 << format.width:
        raise ValueError(
            f"bit patterns {start:#x} to {stop:#x} are not a range of {format.name}; "
            f"expected 0 <= start <= stop <= {1 << format.width:#x}"
        )
    if format == BFLOAT16:
        return (np.arange(start, stop, dtype=np.uint32) << np.uint32(16)).view(np.float32)
    return np.arange(start, stop, dtype=f"u{format.width // 8}").view(carrier(format))


def bit_patterns(values: Carried, format: Format) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The bit patterns of members of `format`, as unsigned integers of its width."""
    if format == BFLOAT16:
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    patterns: npt.NDArray[np.unsignedinteger[Any]] = values.view(f"u{format.width // 8}")
    return patterns


def carried(values: npt.ArrayLike, format: Format, name: str) -> Carried:
    """`values` as a C-contiguous array in the carrier of `format`, checked.

    Raises TypeError for another dtype, ValueError for float32 numbers that are not bfloat16.
    """
    array = np.asarray(values)
    expected = carrier(format)
    if array.dtype != expected:
        raise TypeError(
            f"{name} has dtype {array.dtype}, but members of {format.name} are carried in "
            f"{expected}; convert it with .astype(numpy.{expected})"
        )
    if not array.flags.c_contiguous:
        array = array.copy(order="C")
    if format == BFLOAT16:
        flat = array.reshape(-1)
        odd = (flat.view(np.uint32) & _BFLOAT16_LOW_BITS != 0) & ~np.isnan(flat)
        if odd.any():
            value = float(flat[np.argmax(odd)])
            raise ValueError(f"{name} holds {value.hex()}, not a bfloat16 number; round it first")
    return array


def widened(values: Carried) -> Float64:
    """The same numbers as a new 1-D binary64 array."""
    return values.reshape(-1).astype(np.float64)


def require_ieee() -> None:
    """Raise RuntimeError unless this thread rounds to nearest and keeps subnormal numbers.

    torch.set_flush_denormal(True), -ffast-math libraries and their like change this for a thread,
    and numpy's arithmetic with it.
    """
    if (_LEAST_NORMAL * 0.5 * 2.0)[0] != _LEAST_NORMAL[0]:
        raise RuntimeError(
            "this thread flushes subnormal numbers to zero and certified answers need them; "
            "turn it off around the call, e.g. torch.set_flush_denormal(False)"
        )
    near = np.array([1.0, 1.0, -1.0]) + _HALF_ULPS
    if near[0] != 1.0 or near[1] != 1.0 + 2.0**-52 or near[2] != -1.0:
        raise RuntimeError(
            "this thread does not round to nearest and certified answers need it; "
            "restore the rounding mode, e.g. fesetround(FE_TONEAREST)"
        )
