"""What Python's floats and float64 tensors do not spell alike: the rest they share as operators.

Both are binary64, rounded to nearest even, so a formula gives either the same value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import torch

#: A float, or a float64 tensor of them.
Number = TypeVar("Number", float, torch.Tensor)
#: An unevaluated sum hi + lo.
Pair = tuple[Number, Number]

_NARROWED: Final = (torch.float16, torch.bfloat16)
_EXPONENT_BIAS: Final = 1023
_MANTISSA_BITS: Final = 52
#: The bits of a binary64 mantissa that binary32 has no place for.
_BEYOND_BINARY32: Final = (1 << 29) - 1


class Numbers(ABC, Generic[Number]):
    """The operations that differ. Booleans are bools, or bool tensors."""

    @abstractmethod
    def of(self, x: torch.Tensor) -> Number:
        """A tensor of numbers: 0-dim where the number is a float."""

    @abstractmethod
    def column(self, x: Number) -> Number:
        """x, to be multiplied with or added to the rows it belongs to."""

    @abstractmethod
    def tensor(self, x: Number, like: torch.Tensor) -> torch.Tensor:
        """A tensor of x in the dtype and on the device of another, rounded once."""

    @abstractmethod
    def subtract_multiple(self, x: torch.Tensor, factor: Number, y: torch.Tensor) -> None:
        """Take factor times y from x, in place; the product is rounded, or not, where it may be."""

    @abstractmethod
    def settle(
        self, known: Any, pair: Pair[Number], exact: Callable[[tuple[int, ...]], Pair[float]]
    ) -> Pair[Number]:
        """The pair where it is known, else the exact one at its index. Waits for a device."""

    @abstractmethod
    def all(self, condition: Any) -> bool:
        """Whether it holds for every number. Waits for a device."""

    @abstractmethod
    def within_binary32(self, x: Number) -> bool:
        """Whether binary32 is known to hold x with all its bits, and x is not near its end."""

    @abstractmethod
    def clamp(self, x: Number, least: float, most: float) -> Number:
        """x, or the end that it is beyond."""

    @abstractmethod
    def exp(self, x: Number) -> Number:
        """e^x."""

    @abstractmethod
    def tanh(self, x: Number) -> Number:
        """tanh x, to an ulp or two of binary64."""

    @abstractmethod
    def round(self, x: Number) -> Number:
        """The nearest integer to a finite x."""

    @abstractmethod
    def select(self, condition: Any, x: Number | float, y: Number | float) -> Number:
        """x where the condition holds, else y."""

    @abstractmethod
    def finite(self, x: Number) -> Any:
        """Whether x is neither infinite nor NaN."""

    @abstractmethod
    def copysign(self, x: Number, sign: Number) -> Number:
        """|x| with the sign of `sign`."""

    @abstractmethod
    def power_of_two(self, exponent: Number) -> Number:
        """2^exponent of a whole exponent, infinity from 1024; of one below -1022 about 0."""

    @abstractmethod
    def split_exponent(self, x: Number) -> tuple[Number, Number]:
        """(m, e) with x = m 2^e and 1/2 <= |m| < 1; (x, 0) for 0, infinity and NaN."""

    @abstractmethod
    def at(self, table: Sequence[float], index: Number) -> Number:
        """The element of a table at a whole index from 0."""


class _Floats(Numbers[float]):
    def of(self, x: torch.Tensor) -> float:
        return float(x.item())

    def column(self, x: float) -> float:
        return x

    def tensor(self, x: float, like: torch.Tensor) -> torch.Tensor:
        if like.dtype in _NARROWED:
            x = _odd(x)
        return torch.full((), x, dtype=like.dtype, device=like.device)

    def subtract_multiple(self, x: torch.Tensor, factor: float, y: torch.Tensor) -> None:
        x.sub_(y, alpha=factor)

    def settle(
        self, known: Any, pair: Pair[float], exact: Callable[[tuple[int, ...]], Pair[float]]
    ) -> Pair[float]:
        return pair if known else exact(())

    def all(self, condition: Any) -> bool:
        return bool(condition)

    def within_binary32(self, x: float) -> bool:
        return not 0 < abs(x) < 2.0**-100

    def clamp(self, x: float, least: float, most: float) -> float:
        return min(max(x, least), most)

    def exp(self, x: float) -> float:
        return math.exp(x)

    def tanh(self, x: float) -> float:
        return math.tanh(x)

    def round(self, x: float) -> float:
        return float(round(x))

    def select(self, condition: Any, x: float, y: float) -> float:
        return x if condition else y

    def finite(self, x: float) -> bool:
        return math.isfinite(x)

    def copysign(self, x: float, sign: float) -> float:
        return math.copysign(x, sign)

    def power_of_two(self, exponent: float) -> float:
        return float(2.0**exponent) if exponent <= _EXPONENT_BIAS else math.inf

    def split_exponent(self, x: float) -> tuple[float, float]:
        mantissa, exponent = math.frexp(x)
        return mantissa, float(exponent)

    def at(self, table: Sequence[float], index: float) -> float:
        return table[int(index)]


class _Tensors(Numbers[torch.Tensor]):
    def of(self, x: torch.Tensor) -> torch.Tensor:
        return x.double()

    def column(self, x: torch.Tensor) -> torch.Tensor:
        return x.unsqueeze(-1)

    def tensor(self, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        if like.dtype in _NARROWED:
            x = _odd_bits(x)
        return x.to(like.dtype)

    def subtract_multiple(self, x: torch.Tensor, factor: torch.Tensor, y: torch.Tensor) -> None:
        x -= y * factor.unsqueeze(-1)

    def settle(
        self, known: Any, pair: Pair[torch.Tensor], exact: Callable[[tuple[int, ...]], Pair[float]]
    ) -> Pair[torch.Tensor]:
        if known.is_meta or bool(known.all()):
            return pair
        hi, lo = (part.clone() for part in pair)
        for row in known.logical_not().nonzero().tolist():
            index = tuple(row)
            hi[index], lo[index] = exact(index)
        return hi, lo

    def all(self, condition: Any) -> bool:
        return bool(condition.is_meta or condition.all())

    def within_binary32(self, x: torch.Tensor) -> bool:
        return False  # not known without waiting for it

    def clamp(self, x: torch.Tensor, least: float, most: float) -> torch.Tensor:
        return x.clamp(least, most)

    def exp(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(x)

    def tanh(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)

    def round(self, x: torch.Tensor) -> torch.Tensor:
        return torch.round(x)

    def select(
        self, condition: Any, x: torch.Tensor | float, y: torch.Tensor | float
    ) -> torch.Tensor:
        return torch.where(condition, x, y)

    def finite(self, x: torch.Tensor) -> torch.Tensor:
        return torch.isfinite(x)

    def copysign(self, x: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return torch.copysign(x, sign)

    def power_of_two(self, exponent: torch.Tensor) -> torch.Tensor:
        whole = exponent.clamp(-_EXPONENT_BIAS, _EXPONENT_BIAS + 1).to(torch.int64)
        return ((whole + _EXPONENT_BIAS) << _MANTISSA_BITS).view(torch.float64)

    def split_exponent(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mantissa, exponent = torch.frexp(x)
        # frexp leaves the exponent of infinity and NaN to the platform.
        return mantissa, torch.where(torch.isfinite(x), exponent, 0).double()

    def at(self, table: Sequence[float], index: torch.Tensor) -> torch.Tensor:
        return _on(index.device, tuple(table))[index.to(torch.int64)]


def _odd(x: float) -> float:
    """x rounded to odd to the 24 bits of binary32, so that it rounds on to a 16-bit format as if x
    itself did.

    torch converts to 16 bits by way of binary32, where a number near a tie would round twice.
    Source: Boldo and Melquiond, Emulation of a FMA and correctly rounded sums (2008), theorem 1.
    """
    if not math.isfinite(x):
        return x
    mantissa, exponent = math.frexp(x)
    scaled = mantissa * 2.0**24
    whole = int(scaled)
    if whole == scaled:
        return x
    # Truncated towards 0; the last bit says that something was cut off.
    return math.copysign(math.ldexp(abs(whole) | 1, exponent - 24), x)


def _odd_bits(x: torch.Tensor) -> torch.Tensor:
    """`_odd` of a tensor, on its bits: a carry out of the bits cut off sets the last bit kept."""
    bits = x.view(torch.int64)
    sticky = (bits & _BEYOND_BINARY32) + _BEYOND_BINARY32
    odd = ((bits | sticky) & ~_BEYOND_BINARY32).view(torch.float64)
    return torch.where(torch.isfinite(x), odd, x)


@lru_cache(maxsize=64)
def _on(device: torch.device, table: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(table, dtype=torch.float64, device=device)


FLOATS: Final = _Floats()
TENSORS: Final = _Tensors()
