"""tanh and sech^2 of arrays correctly rounded, at the speed of a few numpy passes in binary32."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified import curves
from reference.certified.answers import BLOCK, round_block
from reference.certified.binary32 import (
    CURVE_UNITS,
    mark_ties,
    minus_twice,
    require_accurate_numpy,
    slope_of,
    staggered,
)
from reference.certified.binary64 import round_pair, within_range
from reference.certified.carriers import Carried, carried, carrier, require_ieee, widened
from reference.certified.pairs import parts
from reference.exact import exact
from reference.formats import BINARY32, BINARY64, Format
from reference.neuron import sech2 as exact_sech2
from reference.neuron import tanh as exact_tanh

#: Elements a block: 128 KiB an array of binary64.
_FAST_BLOCK: Final = 16384
#: Up to so many open lanes are escalated at once: one by one they take less time than the double-
#: double arithmetic takes for an array of any size.
_FEW: Final = 16
#: Elements whose open lanes are settled together, in binary64.
_WIDE_BLOCK: Final = 1 << 16


class TanhSech2(NamedTuple):
    """Correctly rounded tanh and sech^2 in the carrier, and how many elements were escalated."""

    tanh: Carried
    sech2: Carried
    escalated: int


def rounded_tanh_sech2(x: npt.ArrayLike, *, format: Format) -> TanhSech2:
    """Correctly rounded tanh and sech^2 of an array in the carrier of `format`, of any shape.

    Raises TypeError, ValueError and RuntimeError as `certified.tanh`.
    """
    require_ieee()
    array = carried(x, format, "x")
    flat = array.reshape(-1)
    tanh, sech2 = np.empty_like(flat), np.empty_like(flat)
    escalated = 0
    if format == BINARY32:
        escalated = _round_binary32(flat, tanh, sech2)
    elif format == BINARY64:
        for start in range(0, flat.size, _WIDE_BLOCK):
            block = slice(start, start + _WIDE_BLOCK)
            escalated += _round_binary64(flat[block], tanh[block], sech2[block])
    else:
        for start in range(0, flat.size, BLOCK):
            block = slice(start, start + BLOCK)
            tanh[block], sech2[block], count = _round_pair(flat[block], format)
            escalated += count
    return TanhSech2(tanh.reshape(array.shape), sech2.reshape(array.shape), escalated)


def _round_binary32(x: Carried, tanh: Carried, sech2: Carried) -> int:
    """Fill `tanh` and `sech2`; return how many elements were escalated."""
    require_accurate_numpy()
    rounder = _Rounder(min(_FAST_BLOCK, max(x.size, 1)))
    found = []
    for start in range(0, x.size, _FAST_BLOCK):
        block = slice(start, start + _FAST_BLOCK)
        open_ = rounder.round(x[block], tanh[block], sech2[block])
        if open_ is not None:
            found.append(open_ + start)
    if not found:
        return 0
    lanes = np.concatenate(found)
    # A NaN is its own answer.
    lanes = lanes[~np.isnan(x[lanes])]
    if lanes.size <= _FEW:
        for i in map(int, lanes):
            argument = exact(float(x[i]))
            tanh[i] = exact_tanh(argument).rounded(BINARY32)
            sech2[i] = exact_sech2(argument).rounded(BINARY32)
        return lanes.size
    return _settle(lanes, x, tanh, sech2, BINARY32)


class _Rounder:
    """Scratch for `rounded_tanh_sech2` in binary32."""

    def __init__(self, block: int) -> None:
        self._x, self._slope, self._wide, whole = staggered(4, block)
        self._whole = whole.view(np.int64)
        self._narrow = np.empty(block, np.float32)
        self._open, self._flag = np.empty(block, np.bool_), np.empty(block, np.bool_)

    def round(self, x: Carried, tanh: Carried, sech2: Carried) -> npt.NDArray[np.intp] | None:
        """Fill `tanh` and `sech2` but for the lanes returned (None: all are filled).

        Zeros, infinities and NaN come out of the binary64 functions as they should; tanh of a
        subnormal x is x within 2^-42, which is no tie.
        """
        n = x.size
        wide, slope, scratch = self._x[:n], self._slope[:n], self._wide[:n]
        whole, narrow = self._whole[:n], self._narrow[:n]
        open_, flag = self._open[:n], self._flag[:n]
        with np.errstate(all="ignore"):
            # sech^2(42) is normal with room to spare; NaN compares false and takes the longer way.
            subnormal = not minus_twice(x, slope, narrow) >= -84.0
            slope_of(slope, scratch)
            np.copyto(wide, x)
            np.tanh(wide, out=wide)
            np.copyto(tanh, wide, casting="same_kind")
            np.copyto(sech2, slope, casting="same_kind")
            first = mark_ties(wide, CURVE_UNITS, False, tanh, whole, scratch, narrow, open_)
            second = mark_ties(slope, CURVE_UNITS, subnormal, sech2, whole, scratch, narrow, flag)
        if not (first or second):
            return None
        marked = [lanes for found, lanes in ((first, open_), (second, flag)) if found]
        return np.flatnonzero(np.logical_or.reduce(marked))


def _round_binary64(x: Carried, tanh: Carried, sech2: Carried) -> int:
    """Fill `tanh` and `sech2`; return how many elements were escalated."""
    open_ = np.empty(x.size, np.bool_)
    with np.errstate(all="ignore"):
        magnitude, outside = within_range(np.abs(x, dtype=np.float64))
        for index, values in parts(magnitude):
            tanh[index], first = round_pair(values.tanh, values.tanh_slack)
            sech2[index], second = round_pair(values.sech2, values.sech2_slack)
            open_[index] = first | second
        np.copysign(tanh, x, out=tanh)
    if outside is not None:
        open_ |= outside
    return _settle(np.flatnonzero(open_), x, tanh, sech2, BINARY64)


def _settle(
    lanes: npt.NDArray[np.intp], x: Carried, tanh: Carried, sech2: Carried, format: Format
) -> int:
    """Fill some lanes from double-double; return how many of them were escalated."""
    escalated = 0
    for start in range(0, lanes.size, BLOCK):
        some = lanes[start : start + BLOCK]
        tanh[some], sech2[some], count = _round_pair(x[some], format)
        escalated += count
    return escalated


def _round_pair(x: Carried, format: Format) -> tuple[Carried, Carried, int]:
    """Both functions from double-double. Narrows to the carrier, exactly."""
    with np.errstate(all="ignore"):
        pairs = curves.tanh_sech2(widened(x))
    tanh, first = round_block(pairs.tanh, lambda i: exact_tanh(exact(float(x[i]))), format)
    sech2, second = round_block(pairs.sech2, lambda i: exact_sech2(exact(float(x[i]))), format)
    narrow = carrier(format)
    return tanh.astype(narrow), sech2.astype(narrow), first + second
