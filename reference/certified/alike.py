"""Blocks on which every exact value rounds to the same, recognised from their least and greatest.

Most floats are tiny or huge: nine in ten binary32 patterns have tanh x = x and sech^2 x = 1 to
within a hundredth of an ulp, or tanh x = +-1 and sech^2 x = 0. A block of such floats whose
computed results are all exactly that needs no evaluation. Anything else is left to others.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from reference.certified.answers import ActivationJudgement, Judgement
from reference.certified.carriers import Carried, carrier
from reference.formats import BINARY32, BINARY64, Format


class Thresholds(NamedTuple):
    """Magnitudes that bound the ranges, as bit patterns.

    tiny: below it tanh x is within x^3/3 of x and sech^2 x and 1 - x^2 within x^2 of 1, under 2^-8
    ulps. saturated: from it on 1 - tanh x and sech^2 x are under 2^-20 ulps. overflowing: from it
    on y^2 - 1 is beyond what rounds to infinity.
    """

    tiny: int
    saturated: int
    overflowing: int
    infinity: int


class Plain(NamedTuple):
    """What tanh and sech^2 round to on a whole range, with errors that count as 0: tanh x to x
    itself (`identity`) or to +-1, sech^2 x to `gradient`."""

    identity: bool
    gradient: float


class Alike:
    """Recognises such blocks of binary32 or binary64 numbers; see the module's docstring."""

    def __init__(self, format: Format, block: int) -> None:
        dtype = carrier(format)
        self._pattern = np.dtype(f"i{format.width // 8}")
        self.thresholds = Thresholds(
            *(int(dtype.type(value).view(self._pattern)) for value in _RANGES[format])
        )
        self._magnitude = self._pattern.type((1 << (format.width - 1)) - 1)
        self._no_error = np.zeros(block)
        self._no_size = np.full(block, np.nan)
        self._no = np.zeros(block, np.bool_)
        self._one = dtype.type(1.0)
        for array in (self._no_error, self._no_size, self._no):
            array.flags.writeable = False

    def extremes(self, x: Carried) -> tuple[int, int]:
        """The least and the greatest bit pattern of |x|."""
        patterns = x.view(self._pattern) & self._magnitude
        return int(patterns.min()), int(patterns.max())

    def activation(
        self, x: Carried, output: Carried, gradient: Carried, least: int, greatest: int
    ) -> ActivationJudgement | None:
        """The judgement of a block of tiny, saturated or NaN inputs without an error, else None."""
        plain = self.plain(least, greatest)
        if plain is not None:
            expected = x if plain.identity else np.copysign(self._one, x)
            if self._all(output, expected) and self._all(gradient, x.dtype.type(plain.gradient)):
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least > self.thresholds.infinity and _all_nan(output) and _all_nan(gradient):
            return ActivationJudgement(self._nan(output), self._nan(gradient))
        return None

    def plain(self, least: int, greatest: int) -> Plain | None:
        """What tanh and sech^2 of arguments between two bit patterns of |x| all round to, if all
        are tiny or all saturated."""
        limits = self.thresholds
        if greatest < limits.tiny:
            return Plain(identity=True, gradient=1.0)
        if least >= limits.saturated and greatest < limits.infinity:
            return Plain(identity=False, gradient=0.0)
        return None

    def raw(self, y: Carried, gradient: Carried, least: int, greatest: int) -> Judgement | None:
        """The judgement of a block of tiny, overflowing or NaN y without an error, else None.

        The upstream gradient is 1.
        """
        plain = self.plain_raw(least, greatest)
        if plain is not None:
            if self._all(gradient, y.dtype.type(plain)):
                return self._right(gradient)
        elif least > self.thresholds.infinity and _all_nan(gradient):
            return self._nan(gradient)
        return None

    def plain_raw(self, least: int, greatest: int) -> float | None:
        """What 1 - y^2 of y between two bit patterns of |y| all round to, if all are tiny or all
        overflow."""
        limits = self.thresholds
        if greatest < limits.tiny:
            return 1.0
        if least >= limits.overflowing and greatest < limits.infinity:
            return -inf
        return None

    def _all(self, values: Carried, expected: Carried | np.floating[Any]) -> bool:
        return bool((values.view(self._pattern) == expected.view(self._pattern)).all())

    def _right(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_error[:n], self._no[:n], self._no[:n], 0)

    def _nan(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_size[:n], self._no[:n], self._no[:n], 0)


def _all_nan(values: Carried) -> bool:
    return bool(np.isnan(values).all())


#: binary32: x^2 2^24 < 2^-8; sech^2(60) < 2^-171 = 2^-22 ulps; 2^128 - 1 > 2^128 - 2^103.
#: binary64: x^2 2^53 < 2^-9; sech^2(380) < 2^-1094 = 2^-20 ulps; 2^1024 - 1 > 2^1024 - 2^970.
_RANGES: dict[Format, tuple[float, ...]] = {
    BINARY32: (2.0**-16, 60.0, 2.0**64, inf),
    BINARY64: (2.0**-31, 380.0, 2.0**512, inf),
}
