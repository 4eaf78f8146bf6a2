"""Blocks on which every exact value rounds to the same, recognised from their least and greatest.

Most floats are tiny or huge: nine in ten binary32 patterns have tanh x = x and sech^2 x = 1 to
within a hundredth of an ulp, or tanh x = +-1 and sech^2 x = 0. A block of such floats whose
computed results are all exactly that needs no evaluation. Anything else is left to others.
"""

from __future__ import annotations

from typing import NamedTuple

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
        self._one = np.ones(block, dtype)
        for array in (self._no_error, self._no_size, self._no, self._one):
            array.flags.writeable = False

    def extremes(self, x: Carried) -> tuple[int, int]:
        """The least and the greatest bit pattern of |x|."""
        patterns = x.view(self._pattern) & self._magnitude
        return int(patterns.min()), int(patterns.max())

    def activation(
        self, x: Carried, output: Carried, gradient: Carried, least: int, greatest: int
    ) -> ActivationJudgement | None:
        """The judgement of a block of tiny, saturated or NaN inputs without an error, else None."""
        limits = self.thresholds
        one = self._one[: x.size]
        if greatest < limits.tiny:
            if self._identical(output, x) and self._identical(gradient, one):
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least >= limits.saturated and greatest < limits.infinity:
            if not gradient.view(self._pattern).any() and self._identical(
                output, np.copysign(one, x)
            ):
                return ActivationJudgement(self._right(output), self._right(gradient))
        elif least > limits.infinity and np.isnan(output).all() and np.isnan(gradient).all():
            return ActivationJudgement(self._nan(output), self._nan(gradient))
        return None

    def raw(self, y: Carried, gradient: Carried, least: int, greatest: int) -> Judgement | None:
        """The judgement of a block of tiny, overflowing or NaN y without an error, else None.

        The upstream gradient is 1.
        """
        limits = self.thresholds
        if greatest < limits.tiny:
            if self._identical(gradient, self._one[: y.size]):
                return self._right(gradient)
        elif least >= limits.overflowing and greatest < limits.infinity:
            if (gradient == -np.inf).all():
                return self._right(gradient)
        elif least > limits.infinity and np.isnan(gradient).all():
            return self._nan(gradient)
        return None

    def _identical(self, left: Carried, right: Carried) -> bool:
        return np.array_equal(left.view(self._pattern), right.view(self._pattern))

    def _right(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_error[:n], self._no[:n], self._no[:n], 0)

    def _nan(self, computed: Carried) -> Judgement:
        n = computed.size
        return Judgement(computed, self._no_size[:n], self._no[:n], self._no[:n], 0)


#: binary32: x^2 2^24 < 2^-8; sech^2(60) < 2^-171 = 2^-22 ulps; 2^128 - 1 > 2^128 - 2^103.
#: binary64: x^2 2^53 < 2^-9; sech^2(380) < 2^-1094 = 2^-20 ulps; 2^1024 - 1 > 2^1024 - 2^970.
_RANGES: dict[Format, tuple[float, ...]] = {
    BINARY32: (2.0**-16, 60.0, 2.0**64, float("inf")),
    BINARY64: (2.0**-31, 380.0, 2.0**512, float("inf")),
}
