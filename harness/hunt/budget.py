"""How long a hunt may take: seconds, evaluations or both; and an alarm for calls that take longer.

Seconds are looked at between evaluations. A single call of the subject may outlast them, so that
while the subject runs a timer of the operating system is armed (in the main thread, on systems that
have one), which ends the call with `TimeUp`.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType
from typing import Final

#: Seconds past the end before a call is ended: most end by themselves in that time.
_GRACE: Final = 0.2
#: A call that is ended after so many seconds is worth a word: most are sized to take far less.
_LONG: Final = 1.0


class TimeUp(KeyboardInterrupt):
    """The time is over in the middle of a call. A KeyboardInterrupt, since what runs the subject
    takes everything else that is raised there for the subject's own."""


class Budget:
    """What is left of the seconds and evaluations allowed; None for any number.

    The clock starts when the object is made.
    """

    def __init__(self, seconds: float | None, evaluations: int | None = None) -> None:
        self._limit = inf if seconds is None else seconds
        self._most = inf if evaluations is None else evaluations
        self._started = time.monotonic()
        self._armed = False
        #: Evaluations so far.
        self.evaluations = 0
        #: The first call that was ended after long, in words; None where there was none.
        self.unreturned: str | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def left(self) -> float:
        """Seconds left; inf where there is no limit, negative past it."""
        return self._limit - self.seconds

    @property
    def fraction(self) -> float:
        """How much of the budget is used, from 0 to 1."""
        return min(1.0, max(self.seconds / self._limit, self.evaluations / self._most))

    def spent(self, reserve: float = 0.0) -> bool:
        """Whether the evaluations are used up, or the seconds but for `reserve`."""
        return self.evaluations >= self._most or self.left <= reserve

    def room(self, evaluations: int) -> int:
        """So many evaluations, or as many as are left."""
        return int(min(evaluations, max(0.0, self._most - self.evaluations)))

    @contextmanager
    def calling(self, inputs: Callable[[], str] | None = None) -> Iterator[None]:
        """Around calls of the subject: raises TimeUp there where the alarm goes off.

        `inputs` says what the subject is called on; it is asked only if the call is ended.
        """
        began = self.seconds
        self._armed = True
        try:
            yield
        except TimeUp:
            self._armed = False
            spent = self.seconds - began
            if spent >= _LONG and self.unreturned is None:
                what = "" if inputs is None else f" on {inputs()}"
                self.unreturned = f"a call{what} did not return within {spent:.1f} s"
            raise
        finally:
            self._armed = False

    @contextmanager
    def alarm(self, reserve: float = 0.0) -> Iterator[None]:
        """Set the alarm to when the seconds but for `reserve` are over."""
        delay = self.left - reserve + _GRACE
        if not _can_set_alarm() or delay == inf:
            yield
            return

        def ring(_number: int, _frame: FrameType | None) -> None:
            if self._armed:
                raise TimeUp

        before = signal.signal(signal.SIGALRM, ring)
        # Again and again: the first may meet the hunt between two calls.
        signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-3), _GRACE)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _can_set_alarm() -> bool:
    """Whether nobody else uses the timer, and this is the thread that hears it."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN, None)
    )
