"""Judging sweeps block by block: binary64 with a stated bound first, then double-double, then mpmath.

For binary32 a binary64 evaluation settles all but a few lanes in a thousand; each lane it leaves
open goes through `answers.judge_block`, which is the authority. The other formats go there at once.

The bound `_RELATIVE` on numpy's float64 tanh and exp is generous: numpy documents errors of a few
ulps for its own loops and takes the platform's libm elsewhere, whose documented errors are one or
two (Innocente and Zimmermann, "Accuracy of mathematical functions", 2024). 4t/(1+t)^2 adds four
roundings to twice the error of t. 2^-42 is 2048u, some two hundred times all that. It is checked
against `certified_curves`, which trusts no library, when first used in a process.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reference import certified_curves as curves
from reference.answers import BLOCK, Judgement, judge_block, round_block
from reference.carriers import Carried, carried, carrier, require_ieee, widened
from reference.certified_gradient import tanh_gradient as enclose_tanh_gradient
from reference.doubledouble import Float64
from reference.enclosures import Bool, Enclosures
from reference.exact import exact
from reference.formats import BINARY32, Format
from reference.neuron import sech2 as exact_sech2
from reference.neuron import tanh as exact_tanh
from reference.neuron import tanh_gradient as exact_tanh_gradient

#: Elements a block: 128 KiB an array of binary64.
SWEEP_BLOCK: Final = 16384

#: Relative error allowed to binary64's tanh|x| and 4t/(1+t)^2.
_RELATIVE: Final = 2.0**-42
#: The same in units of the last place of binary64: |v| < 2^(e+1), so 2^-42 |v| < 2^11 units.
_CURVE_UNITS: Final = 1 << 11
#: For g (1 - y^2): two roundings, each half a unit or, across a binade, one.
_GRADIENT_UNITS: Final = 1 << 2

_BELOW_ONE: Final = 1.0 - 2.0**-53
_LOW_BITS: Final = np.int64((1 << 29) - 1)
_TIE: Final = 1 << 28
_EXPONENT: Final = np.int64(0x7FF << 52)
#: Minus the exponent bits of v this is 1/ulp(v) in binary32; modulo 2^64, as the subtraction is.
_INVERSE_ULP: Final = np.int64(((2 * 1023 + 23) << 52) - (1 << 64))
_LEAST_EXPONENT: Final = np.int64((1023 - 126) << 52)
_SIGN32: Final = np.int32(-(1 << 31))
_MAGNITUDE32: Final = np.int32((1 << 31) - 1)
_FRACTION32: Final = np.int32((1 << 23) - 1)


def _bits32(value: float) -> int:
    return int(np.float32(value).view(np.int32))


#: |x| < 2^-16: tanh x is within 2^-33.5 of x and sech^2 within 2^-32 of 1, under 2^-7.9 ulps.
_TINY: Final = _bits32(2.0**-16)
#: |x| >= 60: tanh rounds to 1 and sech^2 < 2^-171 to 0, both within 2^-22 ulps.
_SATURATED: Final = _bits32(60.0)
#: sech^2(42) = 2^-119.2: up to here sech^2 is normal with room to spare.
_NORMAL_SLOPE: Final = _bits32(42.0)
_LEAST_NORMAL: Final = _bits32(2.0**-126)
_INFINITY: Final = _bits32(float("inf"))
#: |y| >= 2^64: y^2 - 1 rounds to infinity: 2^128 - 1 is beyond the threshold 2^128 - 2^103.
_OVERFLOWING: Final = _bits32(2.0**64)


class TanhSech2(NamedTuple):
    """Correctly rounded tanh and sech^2 in the carrier, and how many elements were escalated."""

    tanh: Carried
    sech2: Carried
    escalated: int


class ActivationJudgement(NamedTuple):
    """tanh(x) and sech^2(x): the one-input neuron with weight 1, bias 0, upstream gradient 1."""

    output: Judgement
    gradient: Judgement


class _Signs(NamedTuple):
    """The sign bits of binary32 numbers, and the same as factors +1 and -1."""

    bits: npt.NDArray[np.int32]
    factors: Float64


def _signs(x: Carried) -> _Signs | None:
    """None where every sign is positive, the usual case in a sweep of neighbouring patterns."""
    patterns = x.view(np.int32)
    if patterns.min() >= 0:
        return None
    return _Signs(patterns & _SIGN32, np.copysign(1.0, widened(x)))


class _Lanes:
    """Scratch in which one quantity of a block is compared with a binary64 value of it."""

    def __init__(self, block: int) -> None:
        self._rounded = np.empty(block, np.float32)
        self._ulps = np.empty(block)
        self._misrounded = np.empty(block, np.bool_)
        self._unfaithful = np.empty(block, np.bool_)
        self._computed = np.empty(block, np.int32)
        self._half = np.empty(block, np.int32)
        self._wide = np.empty(block)
        self._whole = np.empty(block, np.int64)
        self._open = np.empty(block, np.bool_)
        self._flag = np.empty(block, np.bool_)

    def compare(
        self,
        value: Float64,
        computed: Carried,
        signs: _Signs | None,
        *,
        units: int,
        below_one: bool,
        subnormal: bool,
    ) -> Bool:
        """Fill the scratch for |exact| = value (1 +- units 2^-52); return the lanes left open.

        `signs` are those of the exact values (None: all positive), `below_one` promises that they
        are under 1 in magnitude and `value` too, `subnormal` that some may be subnormal in
        binary32. A lane is settled if value is not within `units` of a tie; nor close to a power of
        two, where the ulp changes and a float less than an ulp below need not be a neighbour; nor
        the computed result close to an ulp away or further, where the side of a float on which the
        exact value lies decides whether it is a neighbour.
        """
        n = value.size
        rounded, ulps, wide = self._rounded[:n], self._ulps[:n], self._wide[:n]
        whole, half, result = self._whole[:n], self._half[:n], self._computed[:n]
        open_, flag = self._open[:n], self._flag[:n]
        np.copyto(rounded, value, casting="same_kind")
        mark_ties(value, units, subnormal, rounded, whole, wide, half.view(np.float32), open_)
        patterns = rounded.view(np.int32)
        np.bitwise_and(patterns, _FRACTION32, out=half)
        np.equal(half, 0, out=flag)
        if flag.any():
            if below_one:
                flag &= rounded != 1.0
            if subnormal:
                flag &= rounded >= 2.0**-125
            open_ |= flag

        given = computed.view(np.int32)
        if signs is not None:
            given = np.bitwise_xor(given, signs.bits, out=result)
        np.not_equal(given.view(np.float32), rounded, out=self._misrounded[:n])
        np.copyto(ulps, given.view(np.float32))
        ulps -= value
        np.bitwise_and(value.view(np.int64), _EXPONENT, out=whole)
        if subnormal:
            np.maximum(whole, _LEAST_EXPONENT, out=whole)
        np.subtract(_INVERSE_ULP, whole, out=whole)
        ulps *= whole.view(np.float64)
        np.abs(ulps, out=wide)
        # A comparison that NaN fails, so that NaN stays open.
        np.less_equal(wide, 1.0 - 2.0**-16, out=flag)
        if not flag.all():
            np.logical_not(flag, out=flag)
            open_ |= flag
        if signs is not None:
            np.bitwise_xor(patterns, signs.bits, out=patterns)
            ulps *= signs.factors
        self._unfaithful[:n] = False
        return open_

    def settle(self, lanes: npt.NDArray[np.intp], judged: Judgement) -> None:
        """Enter the authority's judgement of the lanes that were open."""
        self._rounded[lanes] = judged.rounded
        self._ulps[lanes] = judged.ulps
        self._misrounded[lanes] = judged.misrounded
        self._unfaithful[lanes] = judged.unfaithful

    def judgement(self, n: int, escalated: int) -> Judgement:
        """The scratch as the answer, valid until the next comparison."""
        return Judgement(
            self._rounded[:n], self._ulps[:n], self._misrounded[:n], self._unfaithful[:n], escalated
        )


def mark_ties(
    value: Float64,
    units: int,
    subnormal: bool,
    rounded: npt.NDArray[np.float32],
    whole: npt.NDArray[np.int64],
    wide: Float64,
    narrow: npt.NDArray[np.float32],
    out: Bool,
) -> None:
    """Mark in `out` where binary64 values within `units` units may round otherwise in binary32.

    A normal result is a tie where the 29 bits that it drops are 2^28. Subnormal results drop more:
    there both ends of value (1 +- units 2^-52) must round alike. The other arrays are scratch.
    """
    np.add(value.view(np.int64), units - _TIE, out=whole)
    np.bitwise_and(whole, _LOW_BITS, out=whole)
    np.less_equal(whole, 2 * units, out=out)
    if subnormal:
        for end in (1.0 - units * 2.0**-52, 1.0 + units * 2.0**-52):
            np.multiply(value, end, out=wide)
            np.copyto(narrow, wide, casting="same_kind")
            np.logical_or(out, narrow != rounded, out=out)


@cache
def _require_accurate_numpy() -> None:
    """Raise RuntimeError if numpy's tanh and exp are worse than the bound allows, by a factor 8."""
    x = np.concatenate([np.geomspace(2.0**-40, 300.0, 6000), np.linspace(0.01, 45.0, 6000)])
    with np.errstate(all="ignore"):
        found = np.tanh(x), _slope(x, np.empty_like(x), np.empty_like(x))
        for name, value, proved in zip(("tanh", "exp"), found, curves.tanh_sech2(x), strict=True):
            exponent = np.maximum(proved.scale, -1000)
            off = np.abs(np.ldexp(value, -exponent.astype(np.intc)) / proved.head - 1.0)
            if not off.max() < _RELATIVE / 8:
                raise RuntimeError(
                    f"numpy.{name} on float64 is off by a relative {off.max():.2g} here, expected under "
                    f"{_RELATIVE / 8:.2g}; use a numpy build without fast-math"
                )


def _slope(magnitude: Float64, out: Float64, scratch: Float64) -> Float64:
    """4t/(1+t)^2 with t = exp(-2|x|), |x| limited to 350 so that t stays normal."""
    np.multiply(magnitude, -2.0, out=out)
    np.maximum(out, -700.0, out=out)
    np.exp(out, out=out)
    np.add(out, 1.0, out=scratch)
    np.square(scratch, out=scratch)
    np.divide(out, scratch, out=out)
    return np.multiply(out, 4.0, out=out)


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
            _require_accurate_numpy()
            self._x, self._slope, self._scratch = np.empty(block), np.empty(block), np.empty(block)
            self._output, self._gradient = _Lanes(block), _Lanes(block)
            self._alike = _Alike(block)

    def judge(self, x: Carried, output: Carried, gradient: Carried) -> ActivationJudgement:
        """Set outputs against tanh(x) and gradients against sech^2(x).

        Three 1-D contiguous arrays of one length, at most `block`, in the carrier of the format.
        Arrays in the answer are read-only scratch, valid until the next call. Blocks of neighbouring
        floats are fastest: ranges where every answer is the same are recognised. Errors are within
        0.005 ulps; see `Judgement`. Raises TypeError, ValueError and RuntimeError as `certified.tanh`.
        """
        arrays = [
            carried(values, self._format, name)
            for values, name in ((x, "x"), (output, "output"), (gradient, "gradient"))
        ]
        _require_block(arrays, self._block)
        require_ieee()
        x, output, gradient = arrays
        if not self._fast or not x.size:
            return _judge_activation(x, output, gradient, self._format)
        patterns = x.view(np.int32) & _MAGNITUDE32
        least, greatest = int(patterns.min()), int(patterns.max())
        signs = _signs(x)
        known = self._alike.activation(x, output, gradient, signs, least, greatest)
        if known is not None:
            return known
        if greatest >= _INFINITY:
            return _judge_activation(x, output, gradient, self._format)
        return self._compare(x, output, gradient, signs, least, greatest)

    def _compare(
        self,
        x: Carried,
        output: Carried,
        gradient: Carried,
        signs: _Signs | None,
        least: int,
        greatest: int,
    ) -> ActivationJudgement:
        n = x.size
        magnitude, slope, scratch = self._x[:n], self._slope[:n], self._scratch[:n]
        with np.errstate(all="ignore"):
            np.copyto(magnitude, x)
            np.abs(magnitude, out=magnitude)
            _slope(magnitude, slope, scratch)
            np.minimum(slope, _BELOW_ONE, out=slope)
            tanh = np.tanh(magnitude, out=magnitude)
            np.minimum(tanh, _BELOW_ONE, out=tanh)
            open_output = self._output.compare(
                tanh,
                output,
                signs,
                units=_CURVE_UNITS,
                below_one=True,
                subnormal=least < _LEAST_NORMAL,
            )
            open_gradient = self._gradient.compare(
                slope,
                gradient,
                None,
                units=_CURVE_UNITS,
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
            with np.errstate(all="ignore"):
                values = curves.tanh_sech2(widened(part)).tanh
            judged, _ = judge_block(
                values, output[lanes], lambda i: exact_tanh(exact(float(part[i]))), self._format
            )
            self._output.settle(lanes, judged)
            counts[0] = judged.escalated
        lanes = np.flatnonzero(open_gradient)
        if lanes.size:
            rest = x[lanes]
            with np.errstate(all="ignore"):
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
    """Judges blocks of (y, gradient) of the raw operation dy * (1 - y^2); scratch as in `ActivationSweep`."""

    def __init__(self, format: Format, block: int = SWEEP_BLOCK) -> None:
        self._format = format
        self._block = block
        self._fast = format == BINARY32
        if self._fast:
            self._value, self._factor = np.empty(block), np.empty(block)
            self._lanes = _Lanes(block)
            self._alike = _Alike(block)

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
        y, gradient = arrays[:2]
        dy = arrays[2] if upstream_gradient is not None else None
        if not self._fast or not y.size:
            return _judge_raw(y, gradient, dy, self._format)
        patterns = y.view(np.int32) & _MAGNITUDE32
        least, greatest = int(patterns.min()), int(patterns.max())
        if dy is None:
            known = self._alike.raw(y, gradient, least, greatest)
            if known is not None:
                return known
        if greatest >= _OVERFLOWING:
            return _judge_raw(y, gradient, dy, self._format)
        return self._compare(y, gradient, dy)

    def _compare(self, y: Carried, gradient: Carried, dy: Carried | None) -> Judgement:
        n = y.size
        value, factor = self._value[:n], self._factor[:n]
        with np.errstate(all="ignore"):
            np.copyto(value, y)
            np.square(value, out=value)
            np.subtract(1.0, value, out=value)
            if dy is not None:
                np.copyto(factor, dy)
                np.multiply(value, factor, out=value)
            np.copyto(factor, value)
            np.abs(value, out=value)
            signs = _Signs(
                np.copysign(np.float32(0.0), factor.astype(np.float32)).view(np.int32),
                np.copysign(1.0, factor),
            )
            open_ = self._lanes.compare(
                value, gradient, signs, units=_GRADIENT_UNITS, below_one=False, subnormal=True
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


class _Alike:
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
        signs: _Signs | None,
        least: int,
        greatest: int,
    ) -> ActivationJudgement | None:
        """The judgement of a block of tiny, saturated or NaN inputs without an error, else None."""
        n = x.size
        y, d = output.view(np.int32), gradient.view(np.int32)
        if greatest < _TINY:
            if np.array_equal(y, x.view(np.int32)) and (d == _bits32(1.0)).all():
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least >= _SATURATED and greatest < _INFINITY:
            one = self._one[:n] if signs is None else np.copysign(self._one[:n], x)
            if np.array_equal(y, one.view(np.int32)) and not d.any():
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least > _INFINITY and np.isnan(output).all() and np.isnan(gradient).all():
            return ActivationJudgement(self._nan(output), self._nan(gradient))
        return None

    def raw(self, y: Carried, gradient: Carried, least: int, greatest: int) -> Judgement | None:
        """The judgement of a block of tiny, overflowing or NaN y at dy = 1 without an error, else None."""
        if greatest < _TINY:
            if (gradient == 1.0).all():
                return self._right(gradient)
        elif least >= _OVERFLOWING and greatest <= _INFINITY:
            if greatest < _INFINITY and (gradient == -np.inf).all():
                return self._right(gradient)
        elif least > _INFINITY and np.isnan(gradient).all():
            return self._nan(gradient)
        return None

    def _right(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_error[:n], self._no[:n], self._no[:n], 0)

    def _nan(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_size[:n], self._no[:n], self._no[:n], 0)


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
        _require_accurate_numpy()
        rounder = _Rounder(min(SWEEP_BLOCK, max(flat.size, 1)))
        for start in range(0, flat.size, SWEEP_BLOCK):
            block = slice(start, start + SWEEP_BLOCK)
            escalated += rounder.round(flat[block], tanh[block], sech2[block])
    else:
        for start in range(0, flat.size, BLOCK):
            block = slice(start, start + BLOCK)
            tanh[block], sech2[block], count = _round_pair(flat[block], format)
            escalated += count
    return TanhSech2(tanh.reshape(array.shape), sech2.reshape(array.shape), escalated)


class _Rounder:
    """Scratch for `rounded_tanh_sech2` in binary32."""

    def __init__(self, block: int) -> None:
        self._x, self._slope, self._wide = np.empty(block), np.empty(block), np.empty(block)
        self._whole = np.empty(block, np.int64)
        self._narrow = np.empty(block, np.float32)
        self._open, self._flag = np.empty(block, np.bool_), np.empty(block, np.bool_)

    def round(self, x: Carried, tanh: Carried, sech2: Carried) -> int:
        """Fill `tanh` and `sech2`; return how many elements were escalated.

        Zeros, infinities and NaN come out of the binary64 functions as they should; tanh of a
        subnormal x is x within 2^-42, which is no tie.
        """
        n = x.size
        wide, slope, scratch = self._x[:n], self._slope[:n], self._wide[:n]
        whole, narrow = self._whole[:n], self._narrow[:n]
        open_, flag = self._open[:n], self._flag[:n]
        with np.errstate(all="ignore"):
            np.copyto(wide, x)
            np.abs(wide, out=slope)
            # NaN compares false, and takes the longer way.
            subnormal = not slope.max() <= 42.0
            _slope(slope, slope, scratch)
            value = np.tanh(wide, out=wide)
            np.copyto(tanh, value, casting="same_kind")
            np.copyto(sech2, slope, casting="same_kind")
            mark_ties(value, _CURVE_UNITS, False, tanh, whole, scratch, narrow, open_)
            mark_ties(slope, _CURVE_UNITS, subnormal, sech2, whole, scratch, narrow, flag)
            np.logical_or(open_, flag, out=open_)
        if not open_.any():
            return 0
        lanes = np.flatnonzero(open_)
        tanh[lanes], sech2[lanes], escalated = _round_pair(x[lanes], BINARY32)
        return escalated


def _round_pair(x: Carried, format: Format) -> tuple[Carried, Carried, int]:
    """Both functions from double-double. Narrows to the carrier, exactly."""
    with np.errstate(all="ignore"):
        pairs = curves.tanh_sech2(widened(x))
    tanh, first = round_block(pairs.tanh, lambda i: exact_tanh(exact(float(x[i]))), format)
    sech2, second = round_block(pairs.sech2, lambda i: exact_sech2(exact(float(x[i]))), format)
    narrow = carrier(format)
    return tanh.astype(narrow), sech2.astype(narrow), first + second


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
