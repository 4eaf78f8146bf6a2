"""A sound subject that is written unlike the textbook, with the grade that it earns and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any

from harness.case import DTYPES
from harness.grade import Grade
from harness.subjects import Kind, Stated, Subject


@dataclass(frozen=True)
class Sound:
    """A sound subject.

    `subject.stated` holds its grade in each dtype, with the reason. `what` is how it is written, in
    one line; `missing()` what it needs and this machine lacks, None if nothing.
    """

    subject: Subject
    what: str
    missing: Callable[[], str | None]

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.subject.name


def earns(grade: Grade, reason: str, *dtypes: str) -> dict[str, Stated]:
    """The same grade, for the same reason, in each of `dtypes` (all of them if there are none)."""
    return {dtype: Stated(grade, reason) for dtype in dtypes or DTYPES}


def sound(
    kind: Kind,
    stated: Mapping[str, Stated],
    *,
    activation_ulps: float | None = None,
    missing: Callable[[], str | None] = lambda: None,
) -> Callable[[Callable[..., Any]], Sound]:
    """A decorator: the sound subject that a function of `kind` is, named after it.

    `what` is the first line of the function's docstring; `activation_ulps` is what the subject
    declares.
    """

    def declare(function: Callable[..., Any]) -> Sound:
        name = function.__name__.replace("_", "-")
        subject = Subject(name, kind, function, stated, activation_ulps=activation_ulps)
        return Sound(subject, (getdoc(function) or "").partition("\n")[0], missing)

    return declare


def sound_in(module: Mapping[str, object]) -> tuple[Sound, ...]:
    """The sound subjects among the globals of a module, in the order of their definition."""
    return tuple(value for value in module.values() if isinstance(value, Sound))
