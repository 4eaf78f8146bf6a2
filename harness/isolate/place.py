"""Which subjects are isolated: those that are named by a file, unless it is said of all or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from harness.errors import UsageError
from harness.isolate.limits import Limits, memory_limit
from harness.isolate.subject import Isolation
from harness.subjects.registry import is_file_name


def limits_of(timeout: float | None, memory: str | None) -> Limits | None:
    """The limits that were asked for; None if none were. Raises UsageError for a bad one."""
    if timeout is None and memory is None:
        return None
    limits = Limits() if memory is None else Limits(memory=memory_limit(memory))
    return limits if timeout is None else replace(limits, timeout=timeout)


class Place:
    """Where the subjects of a run live. `isolate` is None for the default."""

    def __init__(self, isolate: bool | None, isolation: Isolation | None) -> None:
        self._isolate = isolate
        self._isolation = isolation

    def of(self, subject: Any) -> Isolation | None:
        """Where a subject lives, if isolated; None for this process."""
        return self._isolation if _is_isolated(subject, self._isolate) else None

    @property
    def printed(self) -> dict[str, tuple[int, str]]:
        """How many bytes each isolated subject has printed, where there were any, and their
        beginning."""
        if self._isolation is None:
            return {}
        functions = self._isolation.functions
        return {each.name: each.printed for each in functions if each.printed[0]}


@contextmanager
def isolation(
    subjects: Iterable[Any], isolate: bool | None, limits: Limits | None
) -> Iterator[Place]:
    """A place for subjects: names, objects or callables.

    Processes are only started where one of them is isolated, the one that the others come from at
    once: it imports torch, as this one may be about to. Raises CannotVerify where `isolate` is true
    and the system cannot fork; by default nothing is isolated there. Raises UsageError for limits
    where nothing is isolated.
    """
    able = isolate or hasattr(os, "fork")
    if not (able and any(_is_isolated(each, isolate) for each in subjects)):
        if limits is not None:
            raise UsageError(
                "a timeout or a memory limit is for an isolated subject, and none is; expected "
                "neither; leave them out, or say --isolate"
            )
        yield Place(False, None)
        return
    with Isolation(limits) as place:
        yield Place(isolate, place)


def _is_isolated(subject: Any, isolate: bool | None) -> bool:
    if isolate is not None:
        return isolate
    return isinstance(subject, str) and is_file_name(subject)
