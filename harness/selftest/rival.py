"""A rival: another test of the same subjects, as someone would write it who has no oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

from harness.subjects import Subject

#: One round on fresh inputs: how the subject was caught, in a few words; None if it passed.
#: Whatever a round raises, the subject's own errors among it, turns a test red: a catch as well.
Round = Callable[[torch.Generator], str | None]


class Rival(Protocol):
    """A test that is run once, and then again until it catches a subject or its time is up."""

    @property
    def name(self) -> str:
        """Its name, the head of its column."""

    @property
    def settings(self) -> str:
        """What it does, with its settings, in a paragraph."""

    @property
    def rounds(self) -> int:
        """How many rounds make up the test, so that each of its inputs has its turn."""

    def unable(self, subject: Subject, dtype: str) -> str | None:
        """Why it cannot judge the subject in `dtype`, in one line; None if it can."""

    def begin(self, subject: Subject, dtype: str) -> Round:
        """The test of one subject in `dtype`, on the CPU."""
