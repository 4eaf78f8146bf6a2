"""Verdicts as a table, and a progress bar, on a terminal or in a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import IO, Literal, Protocol, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from harness.subjects import Subject
from harness.verdict import Verdict, Verification

#: Columns of output where there is no terminal to ask: wide enough that no row is folded.
_LOG_WIDTH = 150
_WIDEST = 100_000
_Colours = Literal["auto", "standard", "256", "truecolor", "windows"] | None
#: Short heads for the quantities, in the order of a verdict.
_HEADS = {
    "output": "y",
    "input_gradient": "dx",
    "weight_gradient": "dw",
    "bias_gradient": "d",
    "gradient": "d",
}


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


def verdict_table(verification: Verification) -> Table:
    """One row for each subject, dtype and device. Errors are the worst in ulps of the exact value;
    the ratio is the worst error over the textbook bound."""
    table = Table(title=None, show_edge=False, pad_edge=False)
    for head, justify in (
        ("subject", "left"),
        ("dtype", "left"),
        ("device", "left"),
        ("grade", "left"),
        ("required", "left"),
    ):
        table.add_column(head, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for head in ("y ulps", "dx ulps", "dw ulps", "d ulps", "ratio", "cases", "unjudged", "seconds"):
        table.add_column(head, justify="right", no_wrap=True)
    for verdict in verification.verdicts:
        table.add_row(*_row(verdict))
    return table


def subject_table(subjects: Sequence[Subject]) -> Table:
    """One row for each subject and dtype: the grade it is known to earn, and why."""
    table = Table(show_edge=False, pad_edge=False)
    for head in ("subject", "kind", "dtype", "known to be"):
        table.add_column(head, no_wrap=True)
    table.add_column("because", overflow="fold")
    for subject in subjects:
        name, kind = subject.name, str(subject.kind)
        for dtype, stated in subject.stated.items():
            table.add_row(name, kind, dtype, str(stated.grade), Text(stated.reason))
            name = kind = ""
    return table


def _row(verdict: Verdict) -> list[Text]:
    colour = "green" if verdict.passed else "red"
    ulps = {
        _HEADS[name]: short(quantity.max_ulp) + ("!" if quantity.nonfinite_mismatch else "")
        for name, quantity in verdict.quantities.items()
        if quantity.grade is not None
    }
    ratios = [quantity.max_bound_ratio for quantity in verdict.quantities.values()]
    return [
        Text(verdict.subject),
        Text(verdict.dtype),
        Text(verdict.device),
        Text(str(verdict.grade or "none"), style=colour),
        Text(str(verdict.required)),
        *(Text(ulps.get(head, "-")) for head in ("y", "dx", "dw", "d")),
        Text(short(max(ratios, default=0.0))),
        Text(str(verdict.examples)),
        Text(str(verdict.unjudged)),
        Text(f"{verdict.seconds:.1f}"),
    ]


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
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, total)
