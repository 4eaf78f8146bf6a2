"""The four binary floating-point formats: precision, exponent range, ulp, rounding, bit patterns.

Every float of every format is also a Python float (binary64), so values travel as Python floats
and a `Format` says what they are rounded to. Rounding works on integers: see `dyadic`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import copysign
from typing import Final

from reference.dyadic import Dyadic, from_float

_INFINITY = float("inf")
_NAN = float("nan")


@dataclass(frozen=True)
class Format:
    """An IEEE 754 binary interchange format, or one shaped like them (bfloat16).

    `precision` counts the hidden bit; `width` is the storage size in bits.
    """

    name: str
    precision: int
    emax: int
    width: int

    @cached_property
    def emin(self) -> int:
        """The exponent of the smallest normal number."""
        return 1 - self.emax

    @cached_property
    def least_ulp_exponent(self) -> int:
        """log2 of the spacing of the subnormals."""
        return self.emin - self.precision + 1

    @property
    def unit_roundoff(self) -> Dyadic:
        """u = 2^-p, the largest relative error of rounding to nearest in the normal range."""
        return Dyadic(1, -self.precision)

    @cached_property
    def smallest_subnormal(self) -> Dyadic:
        """eta, the spacing of the subnormals."""
        return Dyadic(1, self.least_ulp_exponent)

    @cached_property
    def smallest_normal(self) -> Dyadic:
        """2^emin."""
        return Dyadic(1, self.emin)

    @cached_property
    def largest_finite(self) -> Dyadic:
        """(2 - 2u) * 2^emax."""
        return Dyadic((1 << self.precision) - 1, self.emax - self.precision + 1)

    @cached_property
    def overflow_threshold(self) -> Dyadic:
        """The least magnitude that rounds to infinity: largest_finite + ulp/2."""
        return Dyadic((1 << (self.precision + 1)) - 1, self.emax - self.precision)

    @cached_property
    def overflow_value(self) -> Dyadic:
        """2^(emax+1), where an infinity counts as standing when its error is measured."""
        return Dyadic(1, self.emax + 1)

    def ulp_exponent(self, value: Dyadic) -> int:
        """log2 of `ulp(value)`."""
        mantissa, exponent = value
        normal = mantissa.bit_length() + exponent - self.precision
        least = self.least_ulp_exponent
        return normal if normal > least and mantissa else least

    def ulp(self, value: Dyadic) -> Dyadic:
        """2^(max(floor(log2|value|), emin) - p + 1); the smallest subnormal for zero.

        This is Goldberg's ulp (1991) of a real number, extended into the subnormal range.
        Beyond the largest finite value it grows with the value.
        """
        return Dyadic(1, self.ulp_exponent(value))

    def round(self, value: Dyadic) -> float:
        """`value` rounded to nearest, ties to even, overflowing to infinity."""
        mantissa = abs(value.mantissa)
        quantum = self.ulp_exponent(value)
        shift = quantum - value.exponent
        if shift <= 0:
            kept = mantissa << -shift
        else:
            kept = mantissa >> shift
            remainder = mantissa - (kept << shift)
            half = 1 << (shift - 1)
            kept += remainder > half or (remainder == half and kept & 1)
        return self._assemble(value.mantissa < 0, kept, quantum)

    def round_down(self, value: Dyadic) -> float:
        """The largest float (or -inf) that is at most `value`."""
        quantum = self.ulp_exponent(value)
        shift = quantum - value.exponent
        kept = value.mantissa << -shift if shift <= 0 else value.mantissa >> shift
        if kept >= 0 and kept.bit_length() + quantum - 1 > self.emax:
            return self._assemble(False, *self.largest_finite)
        return self._assemble(kept < 0, abs(kept), quantum)

    def round_up(self, value: Dyadic) -> float:
        """The smallest float (or inf) that is at least `value`."""
        if not value.mantissa:
            return 0.0
        return -self.round_down(Dyadic(-value.mantissa, value.exponent))

    def _assemble(self, negative: bool, mantissa: int, exponent: int) -> float:
        """The binary64 of a mantissa of at most p bits; infinity beyond this format's emax.

        Built from bits, because scaling by a multiplication flushes subnormals where the
        process flushes them.
        """
        length = mantissa.bit_length()
        if length + exponent - 1 > self.emax and mantissa:
            return -_INFINITY if negative else _INFINITY
        return _binary64(negative, mantissa, length, exponent)

    def contains(self, value: float) -> bool:
        """Whether `value` (NaN and infinities included) is a member of this format."""
        if value != value or value in (_INFINITY, -_INFINITY):
            return True
        return self.round(from_float(value)) == value

    @property
    def _fraction_bits(self) -> int:
        return self.precision - 1

    @property
    def _largest_biased(self) -> int:
        return 2 * self.emax + 1

    def from_bits(self, bits: int) -> float:
        """The value of a bit pattern in [0, 2^width). Every NaN pattern gives the Python NaN.

        Raises ValueError outside that range.
        """
        if not 0 <= bits < 1 << self.width:
            raise ValueError(
                f"{bits:#x} is not a bit pattern of {self.name}; "
                f"expected 0 to {2**self.width - 1:#x}"
            )
        negative = bool(bits >> (self.width - 1))
        biased = (bits >> self._fraction_bits) & self._largest_biased
        fraction = bits & ((1 << self._fraction_bits) - 1)
        if biased == self._largest_biased:
            if fraction:
                return _NAN
            return -_INFINITY if negative else _INFINITY
        mantissa = fraction | (1 << self._fraction_bits) if biased else fraction
        return self._assemble(negative, mantissa, (biased or 1) - self.emax - self._fraction_bits)

    def to_bits(self, value: float) -> int:
        """The bit pattern of a member of this format; the quiet NaN for every NaN.

        Raises ValueError if the format does not contain `value`.
        """
        sign = (1 << (self.width - 1)) if copysign(1.0, value) < 0 else 0
        if value != value:
            return (self._largest_biased << self._fraction_bits) | 1 << (self._fraction_bits - 1)
        if value in (_INFINITY, -_INFINITY):
            return sign | self._largest_biased << self._fraction_bits
        if not self.contains(value):
            raise ValueError(f"{value.hex()} is not a {self.name} number; round it first")
        exact = from_float(value)
        quantum = self.ulp_exponent(exact)
        shift = exact.exponent - quantum
        mantissa = abs(exact.mantissa)
        mantissa = mantissa << shift if shift >= 0 else mantissa >> -shift
        # The hidden bit of a normal number carries into the exponent field by itself.
        return sign | (
            (quantum + self.emax + self._fraction_bits - 1 << self._fraction_bits) + mantissa
        )

    def ordinal(self, value: float) -> int:
        """The place of a finite or infinite member on the number line: 0 for both zeros, then
        one step a float, negative for negative ones. Raises ValueError for NaN."""
        if value != value:
            raise ValueError("nan has no place on the number line")
        bits = self.to_bits(value)
        sign_bit = 1 << (self.width - 1)
        return -(bits ^ sign_bit) if bits & sign_bit else bits

    def from_ordinal(self, ordinal: int) -> float:
        """The inverse of `ordinal` (0 gives +0). Raises ValueError beyond the infinities."""
        limit = self._largest_biased << self._fraction_bits
        if abs(ordinal) > limit:
            raise ValueError(f"{ordinal} is beyond the infinities of {self.name}, at +-{limit}")
        return self.from_bits(ordinal if ordinal >= 0 else -ordinal | 1 << (self.width - 1))

    def next_up(self, value: float) -> float:
        """The least member greater than `value`; inf for inf, NaN for NaN."""
        if value != value or value == _INFINITY:
            return value
        return self.from_ordinal(self.ordinal(value) + 1)

    def next_down(self, value: float) -> float:
        """The greatest member less than `value`; -inf for -inf, NaN for NaN."""
        return -self.next_up(-value)


def _binary64(negative: bool, mantissa: int, length: int, exponent: int) -> float:
    magnitude = length + exponent - 1
    if not mantissa:
        bits = 0
    elif magnitude >= -1022:
        bits = (magnitude + 1022 << 52) + _shift(mantissa, 53 - length)
    else:
        bits = _shift(mantissa, exponent + 1074)
    value: float = struct.unpack("<d", struct.pack("<Q", bits | negative << 63))[0]
    return value


def _shift(mantissa: int, left: int) -> int:
    return mantissa << left if left >= 0 else mantissa >> -left


BINARY16: Final = Format("binary16", precision=11, emax=15, width=16)
BFLOAT16: Final = Format("bfloat16", precision=8, emax=127, width=16)
BINARY32: Final = Format("binary32", precision=24, emax=127, width=32)
BINARY64: Final = Format("binary64", precision=53, emax=1023, width=64)
FORMATS: Final = (BINARY16, BFLOAT16, BINARY32, BINARY64)
