"""Judging sweeps block by block: binary64 with a stated bound, then double-double, then mpmath.

For binary32 a binary64 evaluation settles nearly all lanes (`certified_binary32`); each lane it
leaves open goes through `answers.judge_block`, which is the authority. The other formats go there
at once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from reference import certified_curves as curves
from reference.answers import Judgement, judge_block
from reference.carriers import Carried, carried, require_ieee, widened
from reference.certified_binary32 import (
    BELOW_ONE,
    CURVE_UNITS,
    GRADIENT_UNITS,
    INFINITY,
    LEAST_NORMAL,
    MAGNITUDE32,
    Lanes,
    Signs,
    bits32,
    require_accurate_numpy,
    signs_of,
    slope_of,
)
from reference.certified_gradient import tanh_gradient as enclose_tanh_gradient
from reference.exact import exact
from reference.formats import BINARY32, Format
from reference.neuron import sech2 as exact_sech2
from reference.neuron import tanh as exact_tanh
from reference.neuron import tanh_gradient as exact_tanh_gradient

#: Elements a block: 128 KiB an array of binary64.
SWEEP_BLOCK: Final = 16384

#: |x| < 2^-16: tanh x is within 2^-33.5 of x and sech^2 within 2^-32 of 1, under 2^-7.9 ulps.
_TINY: Final = bits32(2.0**-16)
#: |x| >= 60: tanh rounds to 1 and sech^2 < 2^-171 to 0, both within 2^-22 ulps.
_SATURATED: Final = bits32(60.0)
#: sech^2(42) = 2^-119.2: up to here sech^2 is normal with room to spare.
NORMAL_SLOPE: Final = bits32(42.0)
#: |y| >= 2^64: y^2 - 1 rounds to infinity: 2^128 - 1 is beyond the threshold 2^128 - 2^103.
OVERFLOWING: Final = bits32(2.0**64)


class ActivationJudgement(NamedTuple):
    """tanh(x) and sech^2(x): the one-input neuron with weight 1, bias 0, upstream gradient 1."""

    output: Judgement
    gradient: Judgement


class ActivationSweep:
    """Judges blocks of (x, output, gradient) of an activation; see `judge`.

    Holds scratch for blocks of up to `block` elements: use one object a thread, and read an answer
    before asking for the next. Raises RuntimeError if numpy's functions are not what the bounds
    assume.
    """

    def __init__(self, format: Format, block: int = SWEEP_BLOCK) -> None:
        self._format = format
        self._block = block
        self._fast = format == BINARY32
        if self._fast:
            require_accurate_numpy()
            self._x, self._slope, self._scratch = np.empty(block), np.empty(block), np.empty(block)
            self._output, self._gradient = Lanes(block), Lanes(block)
            self._alike = Alike(block)

    def judge(self, x: Carried, output: Carried, gradient: Carried) -> ActivationJudgement:
        """Set outputs against tanh(x) and gradients against sech^2(x).

        Three 1-D contiguous arrays of one length, at most `block`, in the carrier of the format.
        Arrays in the answer are read-only scratch, valid until the next call. Blocks of
        neighbouring floats are fastest: ranges where every answer is the same are recognised.
        Errors are within 0.005 ulps; see `Judgement`. Raises TypeError, ValueError and
        RuntimeError as `certified.tanh` does.
        """
        arrays = [
            carried(values, self._format, name)
            for values, name in ((x, "x"), (output, "output"), (gradient, "gradient"))
        ]
        _require_block(arrays, self._block)
        require_ieee()
        with np.errstate(all="ignore"):
            return self._judge(*arrays)

    def _judge(self, x: Carried, output: Carried, gradient: Carried) -> ActivationJudgement:
        if not self._fast or not x.size:
            return _judge_activation(x, output, gradient, self._format)
        patterns = x.view(np.int32) & MAGNITUDE32
        least, greatest = int(patterns.min()), int(patterns.max())
        signs = signs_of(x)
        known = self._alike.activation(x, output, gradient, signs, least, greatest)
        if known is not None:
            return known
        if greatest >= INFINITY:
            return _judge_activation(x, output, gradient, self._format)
        return self._compare(x, output, gradient, signs, least, greatest)

    def _compare(
        self,
        x: Carried,
        output: Carried,
        gradient: Carried,
        signs: Signs | None,
        least: int,
        greatest: int,
    ) -> ActivationJudgement:
        n = x.size
        magnitude, slope, scratch = self._x[:n], self._slope[:n], self._scratch[:n]
        np.copyto(magnitude, x)
        np.abs(magnitude, out=magnitude)
        slope_of(magnitude, slope, scratch)
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
            subnormal=greatest > NORMAL_SLOPE,
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
        self._fast = format == BINARY32
        if self._fast:
            self._value, self._factor = np.empty(block), np.empty(block)
            self._lanes = Lanes(block)
            self._alike = Alike(block)

    def judge(
        self, y: Carried, gradient: Carried, upstream_gradient: Carried | None = None
    ) -> Judgement:
        """Set gradients against dy * (1 - y^2); dy is 1 unless given as an array like y.

        Arrays, answer and errors raised as in `ActivationSweep.judge`.
        """
        given = [(y, "y"), (gradient, "gradient")]
        if upstream_gradient is not None:
            given.append((upstream_gradient, "upstream_gradient"))
        arrays = [carried(values, self._format, name) for values, name in given]
        _require_block(arrays, self._block)
        require_ieee()
        with np.errstate(all="ignore"):
            return self._judge(*arrays)

    def _judge(self, y: Carried, gradient: Carried, dy: Carried | None = None) -> Judgement:
        if not self._fast or not y.size:
            return _judge_raw(y, gradient, dy, self._format)
        patterns = y.view(np.int32) & MAGNITUDE32
        least, greatest = int(patterns.min()), int(patterns.max())
        if dy is None:
            known = self._alike.raw(y, gradient, least, greatest)
            if known is not None:
                return known
        if greatest >= OVERFLOWING:
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
        # Zeros and what may overflow or is not finite.
        open_ |= ~((value > 0.0) & (value < 2.0**127))
        lanes = np.flatnonzero(open_)
        escalated = 0
        if lanes.size:
            judged = _judge_raw(
                y[lanes], gradient[lanes], None if dy is None else dy[lanes], self._format
            )
            self._lanes.settle(lanes, judged)
            escalated = judged.escalated
        return self._lanes.judgement(n, escalated)


class Alike:
    """Answers for blocks on which every exact value rounds to the same and every result is that."""

    def __init__(self, block: int) -> None:
        self._no_error = np.zeros(block)
        self._no_size = np.full(block, np.nan)
        self._no = np.zeros(block, np.bool_)
        self._zero = np.zeros(block, np.float32)
        self._one = np.ones(block, np.float32)
        for array in (self._no_error, self._no_size, self._no, self._zero, self._one):
            array.flags.writeable = False

    def activation(
        self,
        x: Carried,
        output: Carried,
        gradient: Carried,
        signs: Signs | None,
        least: int,
        greatest: int,
    ) -> ActivationJudgement | None:
        """The judgement of a block of tiny, saturated or NaN inputs without an error, else None."""
        n = x.size
        y, d = output.view(np.int32), gradient.view(np.int32)
        if greatest < _TINY:
            if np.array_equal(y, x.view(np.int32)) and (d == bits32(1.0)).all():
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least >= _SATURATED and greatest < INFINITY:
            one = self._one[:n] if signs is None else np.copysign(self._one[:n], x)
            if np.array_equal(y, one.view(np.int32)) and not d.any():
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least > INFINITY and np.isnan(output).all() and np.isnan(gradient).all():
            return ActivationJudgement(self._nan(output), self._nan(gradient))
        return None

    def raw(self, y: Carried, gradient: Carried, least: int, greatest: int) -> Judgement | None:
        """The judgement of a block of tiny, overflowing or NaN y without an error, else None.

        The upstream gradient is 1.
        """
        if greatest < _TINY:
            if (gradient == 1.0).all():
                return self._right(gradient)
        elif least >= OVERFLOWING and greatest <= INFINITY:
            if greatest < INFINITY and (gradient == -np.inf).all():
                return self._right(gradient)
        elif least > INFINITY and np.isnan(gradient).all():
            return self._nan(gradient)
        return None

    def _right(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_error[:n], self._no[:n], self._no[:n], 0)

    def _nan(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_size[:n], self._no[:n], self._no[:n], 0)


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


def _require_block(arrays: list[Carried], block: int) -> None:
    shapes = [array.shape for array in arrays]
    if len(shapes[0]) != 1 or len(set(shapes)) != 1 or shapes[0][0] > block:
        raise ValueError(
            f"arrays of shapes {', '.join(map(str, shapes))} are not a block; expected one length, "
            f"at most {block}"
        )
