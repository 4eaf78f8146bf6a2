"""Judging sweeps block by block: binary64 with a stated bound, then double-double, then mpmath.

For binary32 a binary64 evaluation settles nearly all lanes (`binary32`); each lane it
leaves open goes through `answers.judge_block`, which is the authority. The other formats go there
at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from reference.certified import curves
from reference.certified.alike import Alike, Plain
from reference.certified.answers import ActivationJudgement, Judgement, judge_block
from reference.certified.binary32 import (
    BELOW_ONE,
    CURVE_UNITS,
    GRADIENT_UNITS,
    LEAST_NORMAL,
    Lanes,
    Signs,
    bits32,
    minus_twice,
    require_accurate_numpy,
    signs_of,
    slope_of,
    staggered,
)
from reference.certified.binary64 import Compared, compare, within_range
from reference.certified.carriers import Carried, carried, require_ieee, widened
from reference.certified.doubledouble import Float64
from reference.certified.gradient import tanh_gradient as enclose_tanh_gradient
from reference.certified.pairs import parts
from reference.exact import exact
from reference.formats import BINARY32, BINARY64, Format
from reference.neuron import sech2 as exact_sech2
from reference.neuron import tanh as exact_tanh
from reference.neuron import tanh_gradient as exact_tanh_gradient

#: Formats with ranges worth recognising.
_WIDE: Final = (BINARY32, BINARY64)
#: Elements a block: 128 KiB an array of binary64.
SWEEP_BLOCK: Final = 16384

#: sech^2(42) = 2^-119.2: up to here sech^2 is normal with room to spare.
_NORMAL_SLOPE: Final = bits32(42.0)


class ActivationSweep:
    """Judges blocks of (x, output, gradient) of an activation; see `judge`.

    Holds scratch for blocks of up to `block` elements: use one object a thread, and read an answer
    before asking for the next. Raises RuntimeError if numpy's functions are not what the bounds
    assume.
    """

    def __init__(self, format: Format, block: int = SWEEP_BLOCK) -> None:
        self._format = format
        self._block = block
        if format in _WIDE:
            self._alike = Alike(format, block)
        if format == BINARY32:
            require_accurate_numpy()
            self._x, self._slope, self._scratch = staggered(3, block)
            self._narrow = np.empty(block, np.float32)
            self._output, self._gradient = Lanes(block), Lanes(block)

    def judge(self, x: Carried, output: Carried, gradient: Carried) -> ActivationJudgement:
        """Set outputs against tanh(x) and gradients against sech^2(x).

        Three 1-D contiguous arrays of one length, at most `block`, in the carrier of the format.
        Arrays in the answer are read-only scratch, valid until the next call. Blocks of
        neighbouring floats are fastest: ranges where every answer is the same are recognised.
        Errors are within 0.005 ulps; see `Judgement`. Raises TypeError, ValueError and
        RuntimeError as `certified.tanh` does.
        """
        arrays = _carried(self._format, x=x, output=output, gradient=gradient)
        _require_block(arrays, self._block)
        require_ieee()
        with np.errstate(all="ignore"):
            return self._judge(*arrays)

    def plain(self, least: int, greatest: int) -> Plain | None:
        """What all results round to for arguments between two bit patterns of |x|, so plainly that
        `judge` finds an error of 0 in such results; None where that is not so. Nine in ten numbers
        of a format are of that kind.
        """
        return self._alike.plain(least, greatest) if self._format in _WIDE else None

    def _judge(self, x: Carried, output: Carried, gradient: Carried) -> ActivationJudgement:
        if self._format not in _WIDE or not x.size:
            return _judge_activation(x, output, gradient, self._format)
        least, greatest = self._alike.extremes(x)
        known = self._alike.activation(x, output, gradient, least, greatest)
        if known is not None:
            return known
        if greatest >= self._alike.thresholds.infinity:
            return _judge_activation(x, output, gradient, self._format)
        if self._format == BINARY64:
            return _compare_binary64(x, output, gradient)
        return self._compare(x, output, gradient, least, greatest)

    def _compare(
        self,
        x: Carried,
        output: Carried,
        gradient: Carried,
        least: int,
        greatest: int,
    ) -> ActivationJudgement:
        n = x.size
        signs = signs_of(x)
        magnitude, slope, scratch = self._x[:n], self._slope[:n], self._scratch[:n]
        minus_twice(x, slope, self._narrow[:n])
        # Half of it, exactly, but where it is limited: there tanh is 1 all the same.
        np.multiply(slope, -0.5, out=magnitude)
        slope_of(slope, scratch)
        np.minimum(slope, BELOW_ONE, out=slope)
        tanh = np.tanh(magnitude, out=magnitude)
        np.minimum(tanh, BELOW_ONE, out=tanh)
        open_output = self._output.compare(
            tanh,
            output,
            signs,
            units=CURVE_UNITS,
            below_one=True,
            subnormal=least < LEAST_NORMAL,
        )
        open_gradient = self._gradient.compare(
            slope,
            gradient,
            None,
            units=CURVE_UNITS,
            below_one=True,
            subnormal=greatest > _NORMAL_SLOPE,
        )
        if not least:
            # x = 0 is exact, and its sech^2 not below 1.
            open_gradient |= x == 0.0
        counts = [0, 0]
        lanes = np.flatnonzero(open_output)
        if lanes.size:
            part = x[lanes]
            values = curves.tanh_sech2(widened(part)).tanh
            judged, _ = judge_block(
                values, output[lanes], lambda i: exact_tanh(exact(float(part[i]))), self._format
            )
            self._output.settle(lanes, judged)
            counts[0] = judged.escalated
        lanes = np.flatnonzero(open_gradient)
        if lanes.size:
            rest = x[lanes]
            values = curves.tanh_sech2(widened(rest)).sech2
            judged, _ = judge_block(
                values, gradient[lanes], lambda i: exact_sech2(exact(float(rest[i]))), self._format
            )
            self._gradient.settle(lanes, judged)
            counts[1] = judged.escalated
        return ActivationJudgement(
            self._output.judgement(n, counts[0]), self._gradient.judgement(n, counts[1])
        )


class TanhGradientSweep:
    """Judges blocks of (y, gradient) of the raw operation dy * (1 - y^2).

    Holds scratch as `ActivationSweep` does.
    """

    def __init__(self, format: Format, block: int = SWEEP_BLOCK) -> None:
        self._format = format
        self._block = block
        if format in _WIDE:
            self._alike = Alike(format, block)
        if format == BINARY32:
            self._value, self._factor = staggered(2, block)
            self._lanes = Lanes(block)

    def judge(
        self, y: Carried, gradient: Carried, upstream_gradient: Carried | None = None
    ) -> Judgement:
        """Set gradients against dy * (1 - y^2); dy is 1 unless given as an array like y.

        Arrays, answer and errors raised as in `ActivationSweep.judge`.
        """
        arrays = _carried(self._format, y=y, gradient=gradient)
        if upstream_gradient is not None:
            arrays += _carried(self._format, upstream_gradient=upstream_gradient)
        _require_block(arrays, self._block)
        require_ieee()
        with np.errstate(all="ignore"):
            return self._judge(*arrays)

    def plain(self, least: int, greatest: int) -> float | None:
        """What all gradients for dy = 1 round to; see `ActivationSweep.plain`."""
        return self._alike.plain_raw(least, greatest) if self._format in _WIDE else None

    def _judge(self, y: Carried, gradient: Carried, dy: Carried | None = None) -> Judgement:
        if self._format not in _WIDE or not y.size:
            return _judge_raw(y, gradient, dy, self._format)
        least, greatest = self._alike.extremes(y)
        if dy is None:
            known = self._alike.raw(y, gradient, least, greatest)
            if known is not None:
                return known
        if self._format == BINARY64 or greatest >= self._alike.thresholds.overflowing:
            return _judge_raw(y, gradient, dy, self._format)
        return self._compare(y, gradient, dy)

    def _compare(self, y: Carried, gradient: Carried, dy: Carried | None) -> Judgement:
        n = y.size
        value, factor = self._value[:n], self._factor[:n]
        np.copyto(value, y)
        np.square(value, out=value)
        np.subtract(1.0, value, out=value)
        if dy is not None:
            np.copyto(factor, dy)
            np.multiply(value, factor, out=value)
        np.copyto(factor, value)
        np.abs(value, out=value)
        signs = Signs(
            np.copysign(np.float32(0.0), factor.astype(np.float32)).view(np.int32),
            np.copysign(1.0, factor),
        )
        open_ = self._lanes.compare(
            value, gradient, signs, units=GRADIENT_UNITS, below_one=False, subnormal=True
        )
        # What may overflow or is not finite. Zeros are exact, and so is their ulp in `compare`.
        open_ |= ~(value < 2.0**127)
        lanes = np.flatnonzero(open_)
        escalated = 0
        if lanes.size:
            judged = _judge_raw(
                y[lanes], gradient[lanes], None if dy is None else dy[lanes], self._format
            )
            self._lanes.settle(lanes, judged)
            escalated = judged.escalated
        return self._lanes.judgement(n, escalated)


def _compare_binary64(x: Carried, output: Carried, gradient: Carried) -> ActivationJudgement:
    """A block of finite binary64 numbers against pairs, the lanes left open against enclosures."""
    size = x.size
    argument = x.astype(np.float64)
    magnitude, outside = within_range(np.abs(argument))
    signs = np.copysign(1.0, argument) if np.signbit(argument).any() else None
    whole = [
        Compared(
            np.empty(size),
            np.empty(size),
            *(np.empty(size, np.bool_) for _ in range(3)),
        )
        for _ in range(2)
    ]
    given = output.astype(np.float64), gradient.astype(np.float64)
    for index, values in parts(magnitude):
        sign = None if signs is None else signs[index]
        tanh = compare(values.tanh, values.tanh_slack, given[0][index], sign)
        sech2 = compare(values.sech2, values.sech2_slack, given[1][index], None)
        for array, part in zip((*whole[0], *whole[1]), (*tanh, *sech2), strict=True):
            array[index] = part
    judgements = []
    for quantity, found in enumerate(whole):
        if outside is not None:
            np.logical_or(found.open, outside, out=found.open)
        lanes = np.flatnonzero(found.open)
        escalated = 0
        if lanes.size:
            judged = _judge_lanes(quantity, argument[lanes], given[quantity][lanes])
            found.rounded[lanes] = judged.rounded
            found.ulps[lanes] = judged.ulps
            found.misrounded[lanes] = judged.misrounded
            found.unfaithful[lanes] = judged.unfaithful
            escalated = judged.escalated
        judgements.append(Judgement(*found[:4], escalated))
    return ActivationJudgement(*judgements)


def _judge_lanes(quantity: int, x: Float64, computed: Float64) -> Judgement:
    """Lanes left open: of tanh (quantity 0) or sech^2 (1)."""
    real = (exact_tanh, exact_sech2)[quantity]
    values = curves.tanh_sech2(x)[quantity]
    return judge_block(values, computed, lambda i: real(exact(float(x[i]))), BINARY64)[0]


def _judge_activation(
    x: Carried, output: Carried, gradient: Carried, format: Format
) -> ActivationJudgement:
    with np.errstate(all="ignore"):
        pairs = curves.tanh_sech2(widened(x))
    first, _ = judge_block(pairs.tanh, output, lambda i: exact_tanh(exact(float(x[i]))), format)
    second, _ = judge_block(
        pairs.sech2, gradient, lambda i: exact_sech2(exact(float(x[i]))), format
    )
    return ActivationJudgement(first, second)


def _judge_raw(y: Carried, gradient: Carried, dy: Carried | None, format: Format) -> Judgement:
    factors = np.ones_like(y) if dy is None else dy
    with np.errstate(all="ignore"):
        values = enclose_tanh_gradient(widened(y), widened(factors))
    judged, _ = judge_block(
        values, gradient, lambda i: exact_tanh_gradient(float(y[i]), float(factors[i])), format
    )
    return judged


def _carried(format: Format, **arrays: Carried) -> list[Carried]:
    return [carried(values, format, name) for name, values in arrays.items()]


def _require_block(arrays: list[Carried], block: int) -> None:
    shapes = [array.shape for array in arrays]
    if len(shapes[0]) != 1 or len(set(shapes)) != 1 or shapes[0][0] > block:
        raise ValueError(
            f"arrays of shapes {', '.join(map(str, shapes))} are not a block; expected one length, "
            f"at most {block}"
        )
