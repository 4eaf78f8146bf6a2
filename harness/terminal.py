"""What is shown on a terminal, in a log or through a pipe: tables, figures, progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from typing import IO, Literal, Protocol, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from harness.errors import UsageError

#: Columns of output where there is no terminal to ask: wide enough that no row is folded.
_LOG_WIDTH = 150
_WIDEST = 100_000
_Colours = Literal["auto", "standard", "256", "truecolor", "windows"] | None


def console(stream: IO[str]) -> Console:
    """A console on `stream` that follows NO_COLOR and, off a terminal, COLUMNS."""
    width = None if stream.isatty() or "COLUMNS" in os.environ else _LOG_WIDTH
    # rich drops the colours for NO_COLOR but keeps bold; here no escape code is left.
    colours: _Colours = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=stream, highlight=False, width=width, color_system=colours)


def table_text(table: Table, stream: IO[str], *, fold: bool = False) -> str:
    """A table as a console on `stream` shows it; nothing is written to `stream`.

    Only with `fold` is the table kept within the width; else it is as wide as it needs to be, for
    a figure cut short is another figure.
    """
    out = console(stream)
    width = out.width
    if not fold:
        needed = out.measure(table, options=out.options.update(width=_WIDEST)).maximum
        width = max(width, needed)
    text = StringIO()
    Console(
        file=text,
        width=width,
        highlight=False,
        force_terminal=out.is_terminal,
        color_system=cast(_Colours, out.color_system),
    ).print(table, crop=False)
    return text.getvalue()


def show(text: str, stream: IO[str]) -> None:
    """Print to a reader who may be gone, which is no error of this program's.

    Raises UsageError if the text cannot be written for another reason.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        abandon(stream)
    except OSError as error:
        abandon(stream)
        raise UsageError(
            f"standard output cannot be written ({error.strerror}); expected a writable place; "
            "free some room or redirect it elsewhere"
        ) from None


def abandon(stream: IO[str]) -> None:
    """Send what a stream still holds nowhere, so that Python does not complain of it at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def short(value: float) -> str:
    """A non-negative figure in a few characters, rounded up so that no bound looks kept that
    was broken."""
    if value == 0:
        return "0"
    if value >= 1e5:
        return _ceiling(value, ".2e")
    return _ceiling(value, ".1f" if value >= 100 else ".3f")


def _ceiling(value: float, spec: str) -> str:
    text = format(value, spec)
    if float(text) >= value:
        return text
    step = 10 ** (-int(spec[1]))
    if spec.endswith("e"):
        mantissa, exponent = text.split("e")
        return f"{float(mantissa) + step:.2f}e{exponent}"
    return format(float(text) + step, spec)


class Advance(Protocol):
    """Tells a progress bar that a case is done, or that another plan starts."""

    def case(self) -> None: ...

    def plan(self, name: str) -> None: ...


class _Silent:
    def case(self) -> None:
        """Nobody watches."""

    def plan(self, name: str) -> None:
        """Nobody watches."""


class _Bar:
    def __init__(self, bar: Progress, total: int) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=total)

    def case(self) -> None:
        self._bar.advance(self._task)

    def plan(self, name: str) -> None:
        self._bar.update(self._task, description=name)


@contextmanager
def progress(total: int) -> Iterator[Advance]:
    """A progress bar over `total` cases on stderr, if that is a terminal; else nothing."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    columns: Sequence[TextColumn | BarColumn | MofNCompleteColumn | TimeRemainingColumn] = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, total)
