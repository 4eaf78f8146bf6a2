"""How far a measurement has come, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, TextColumn

from harness.progress import on_terminal


class Count(Protocol):
    """Told how many are done, of how many if that is known, and what is next."""

    def __call__(self, done: int, planned: int | None = None, text: str = "", /) -> None: ...


@contextmanager
def counting(unit: str) -> Iterator[Count]:
    """A bar that counts `unit`, gone when done; silent where standard error is no terminal.

    It is drawn only when something is done, never while something is timed.
    """
    columns = (BarColumn(), TextColumn("{task.completed:.0f} {task.description}"))
    with on_terminal(unit, *columns) as progress:
        task = None if progress is None else progress.add_task("", total=None)
        if progress is not None:
            progress.live.auto_refresh = False

        def count(done: int, planned: int | None = None, text: str = "", /) -> None:
            if progress is not None and task is not None:
                progress.update(task, completed=done, total=planned, description=text)
                progress.refresh()

        yield count
