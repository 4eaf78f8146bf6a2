"""A process that was lost."""

from __future__ import annotations


class Lost(Exception):
    """A subject's process was lost in a call; the message says how, in words that follow the
    subject's name. `hung` where it did not answer in time, `exhausted` where it asked for more
    memory than it may have."""

    def __init__(self, how: str, *, hung: bool = False, exhausted: bool = False) -> None:
        super().__init__(how)
        self.hung = hung
        self.exhausted = exhausted
