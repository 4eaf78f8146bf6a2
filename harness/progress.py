"""Progress of long work on standard error, where that is a terminal; elsewhere notices alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, ProgressColumn, TaskID, TextColumn


class Lines:
    """Notices, one a line on standard error."""

    def notice(self, text: str) -> None:
        """Print one line."""
        print(text, file=sys.stderr)


class Bar:
    """A progress bar of one task, and notices above it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=None, found="")

    def notice(self, text: str) -> None:
        """Print one line above the bar."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def on_terminal(title: str, *columns: ProgressColumn) -> Iterator[Progress | None]:
    """A progress display with a title and these columns, gone when done; None where standard error
    is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    console = Console(stderr=True)
    with Progress(TextColumn(title), *columns, console=console, transient=True) as progress:
        yield progress
