"""How long a call of a subject may take, and how much memory, in one dtype on one device.

The timeout, until a call has not returned within it. After that, waiting so long for every call
like it would take hours, and calls are given a small multiple of what they usually take. The same
holds for memory, which takes time to fill. A case that is shown to a user as one that hangs, or
that exhausts the memory, has had the whole of it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from harness.isolate.limits import MIB, Limits
from harness.isolate.lost import Lost

#: The first call of a process may compile: it has this many times the timeout.
_FIRST: Final = 6
_USUAL: Final = 100
#: No less than this in seconds, for the machine may be busy.
_LEAST: Final = 0.25
#: The part of the memory that is given where the whole of it was exhausted, and no less than this.
_LESS: Final = 16
_LEAST_MEMORY: Final = 128 * MIB
#: The part of the timeout that stands for what calls usually take while that is not known.
_GUESS: Final = 0.1
#: The weight of the latest call in the mean.
_LATEST: Final = 0.05


class Patience:
    """`losses` counts the calls in which the subject's process was lost, `lost_seconds` adds up the
    time that they took, the start of another process included; `shrinking` of
    that went into shrinking."""

    def __init__(self, limits: Limits) -> None:
        self._timeout = limits.timeout
        self._memory = limits.memory
        self._exhausted = False
        self._usual: float | None = None
        self._hung = False
        self._whole = False
        self.losses = 0
        self.lost_seconds = 0.0
        self.shrinking = 0.0

    @property
    def memory(self) -> int:
        """The bytes that a process may take."""
        if self._exhausted and not self._whole:
            return min(self._memory, max(_LEAST_MEMORY, self._memory // _LESS))
        return self._memory

    def seconds(self, *, first: bool) -> float:
        """For the next call; `first` if none of its type was ever answered."""
        if self._hung and not self._whole and not first:
            usual = self._timeout * _GUESS if self._usual is None else self._usual * _USUAL
            return min(self._timeout, max(_LEAST, usual))
        return self._timeout * _FIRST if first and not self._hung else self._timeout

    def first_seconds(self) -> float:
        """For a call that an earlier process has answered, in one that may have to compile."""
        return self._timeout * _FIRST

    def answered(self, seconds: float) -> None:
        """A call took so long."""
        usual = seconds if self._usual is None else self._usual
        self._usual = usual + _LATEST * (seconds - usual)

    def lost(self, seconds: float, why: Lost) -> None:
        """A call has lost the process after so long."""
        self.losses += 1
        self.lost_seconds += seconds
        self._hung = self._hung or why.hung
        self._exhausted = self._exhausted or why.exhausted

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Within this every call has the whole timeout, and all of the memory."""
        self._whole = True
        try:
            yield
        finally:
            self._whole = False
