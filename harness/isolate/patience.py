"""How long a call of a subject may take, in one dtype on one device.

The timeout, until a call has not returned within it. After that, waiting so long for every call
like it would take hours, and calls are given a small multiple of what they usually take; a case
that is shown to a user as one that hangs has had the whole timeout all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: The first call of a process may compile: it has this many times the timeout.
_FIRST: Final = 6
_USUAL: Final = 100
#: No less than this in seconds, for the machine may be busy.
_LEAST: Final = 0.25
#: The part of the timeout that stands for what calls usually take while that is not known.
_GUESS: Final = 0.1
#: The weight of the latest call in the mean.
_LATEST: Final = 0.05


class Patience:
    """`losses` counts the calls in which the subject's process was lost, `lost_seconds` adds up the
    time that they took, the start of another process included."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._usual: float | None = None
        self._hung = False
        self._whole = False
        self.losses = 0
        self.lost_seconds = 0.0

    def seconds(self, *, first: bool) -> float:
        """For the next call; `first` if it is the first of its process and none before it has
        answered."""
        if self._hung and not self._whole:
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

    def lost(self, seconds: float, *, hung: bool) -> None:
        """A call has lost the process after so long; `hung` if because it did not answer."""
        self.losses += 1
        self.lost_seconds += seconds
        self._hung = self._hung or hung

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Within this every call has the whole timeout."""
        self._whole = True
        try:
            yield
        finally:
            self._whole = False
