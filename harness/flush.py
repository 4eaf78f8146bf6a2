"""Flush-to-zero: whether the calling thread turns subnormals into zeros, and how to stop it.

The setting belongs to a thread (on x86 it is in MXCSR, on Arm in FPCR) and anything in the process
may have set it: `torch.set_flush_denormal`, a library built with -ffast-math, a subject under
test. It is found out by computing, so finding out needs no torch.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

_SMALLEST_NORMAL_BITS: Final = 1 << 52
_SMALLEST_SUBNORMAL_BITS: Final = 1


@dataclass(frozen=True, slots=True)
class Flushing:
    """What a thread does to subnormals; true if it touches them at all."""

    results: bool
    """A subnormal result becomes zero (flush-to-zero)."""
    operands: bool
    """A subnormal operand counts as zero (denormals-are-zero)."""

    def __bool__(self) -> bool:
        return self.results or self.operands

    def __str__(self) -> str:
        if self.results and self.operands:
            return "subnormal operands and results are flushed to zero"
        if self.results:
            return "subnormal results are flushed to zero"
        return "subnormal operands are flushed to zero" if self.operands else "subnormals are kept"


def flushing() -> Flushing:
    """What the calling thread does to subnormals now, in binary64 arithmetic."""
    # From bits, so that neither the compiler nor the parser does the arithmetic beforehand.
    smallest_normal = _float(_SMALLEST_NORMAL_BITS)
    smallest_subnormal = _float(_SMALLEST_SUBNORMAL_BITS)
    return Flushing(
        results=_bits(smallest_normal * 0.5) == 0,
        operands=_bits(smallest_subnormal * 2.0**60) == 0,
    )


def flushes_subnormals() -> bool:
    """Whether the calling thread flushes subnormal operands or results now."""
    return bool(flushing())


@contextmanager
def subnormals_kept() -> Iterator[Flushing]:
    """Keep subnormals in the calling thread for a while, then restore what was found.

    Yields what was found. torch is imported only where there is something to switch. Raises
    RuntimeError if the flushing cannot be switched off; warns (RuntimeWarning) if what was found
    cannot be restored exactly, for torch switches operands and results together.
    """
    found = flushing()
    if found and not _set(False):
        raise RuntimeError(
            f"{found} in this thread, and torch.set_flush_denormal(False) does not change that; "
            "run in a process that does not set it"
        )
    try:
        yield found
    finally:
        if flushing() != found:
            _set(bool(found))
        left = flushing()
        if left != found:
            warnings.warn(
                f"when subnormals_kept began, {found}; now {left}: "
                "torch.set_flush_denormal could not restore it",
                RuntimeWarning,
                stacklevel=3,
            )


def _set(flush: bool) -> bool:
    """Ask torch to switch flushing on or off; whether it is then as asked."""
    import torch

    torch.set_flush_denormal(flush)
    return bool(flushing()) == flush


def _float(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def _bits(value: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits
