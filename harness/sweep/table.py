"""A finished sweep as tables, and its progress, on a terminal or in a log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Final

from rich.console import JustifyMethod
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from harness.hexfloat import hex_text
from harness.progress import Bar, Lines, on_terminal
from harness.sweep.block import segments
from harness.sweep.engine import Silent, Watch
from harness.sweep.laws import REQUIRED
from harness.sweep.record import Quantity, Sweep, place
from harness.sweep.statistics import Statistics
from harness.terminal import short

_COLUMNS = ("points", "max ulps", "at", "scaled", "misrounded", "unfaithful", "nan/inf", "+-0")
_WORST_COLUMNS: Final[tuple[tuple[str, JustifyMethod], ...]] = (
    ("worst of", "left"),
    ("at", "left"),
    ("ulps", "right"),
    ("computed", "left"),
    ("correctly rounded", "left"),
)


def figures_table(sweep: Sweep) -> Table:
    """One row for each quantity over all inputs, and one for each region between landmarks. Errors
    are in ulps of the exact value, scaled errors in units of u |g|."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("quantity", no_wrap=True)
    swept = "y" if sweep.plan.quantities == ("gradient",) else "x"
    table.add_column(f"|{swept}| from", no_wrap=True)
    for head in _COLUMNS:
        table.add_column(head, justify="left" if head == "at" else "right", no_wrap=True)
    for quantity in sweep.quantities:
        table.add_row(quantity.name, "all", *_cells(sweep, quantity.name, quantity.total))
        for start, figures in _regions(sweep, quantity):
            table.add_row("", start, *_cells(sweep, quantity.name, figures), style="dim")
    return table


def worst_table(sweep: Sweep) -> Table:
    """The worst inputs of each quantity: what came out, and what should have."""
    table = Table(show_edge=False, pad_edge=False)
    for head, justify in _WORST_COLUMNS:
        table.add_column(head, justify=justify, no_wrap=True)
    for quantity in sweep.quantities:
        name = quantity.name
        for entry in quantity.worst:
            table.add_row(
                name,
                _brief(place(sweep.plan, entry.key)),
                f"{'-' if entry.ulps < 0 else '+'}{short(entry.size)}",
                _brief(hex_text(entry.computed)),
                _brief(hex_text(entry.rounded)),
            )
            name = ""
    return table


def law_lines(sweep: Sweep) -> list[str]:
    """One line for the laws that held and one for each observed law that did not. A required law
    that did not is one of the sweep's failures."""
    held = [name for name, tally in sweep.laws.items() if not tally.breaches]
    lines = [f"laws held everywhere: {', '.join(held)}"] if held else []
    for name, tally in sweep.laws.items():
        if tally.breaches and name not in REQUIRED:
            lines.append(
                f"law {name} (observed) broken {tally.breaches} times in {tally.checked}, first at "
                f"{place(sweep.plan, tally.first_breach)}"
            )
    return lines


def time_line(sweep: Sweep, jobs: int) -> str:
    """How long this run took and on what. The floor is what the subject's own calls would take."""
    outcome = sweep.outcome
    line = f"{outcome.fresh_points:,} of {sweep.plan.points:,} points in {outcome.seconds:.1f} s"
    if outcome.summary is None or not outcome.fresh_points:
        return line
    spent = outcome.summary.seconds
    each = 1e9 / sweep.points
    return (
        f"{line}, {outcome.fresh_points / outcome.seconds / 1e6:.1f} million a second; CPU time a "
        f"point: subject {spent.subject * each:.1f} ns, again for the law of lanes "
        f"{spent.lanes * each:.1f}, laws {spent.laws * each:.1f}, oracle and statistics "
        f"{spent.judging * each:.1f}; floor (the subject alone on {jobs} cores): "
        f"{spent.subject / jobs * outcome.fresh_points / sweep.points:.1f} s"
    )


def _regions(sweep: Sweep, quantity: Quantity) -> Iterator[tuple[str, Statistics]]:
    """The figures between landmarks: a landmark's segment with those that follow it."""
    plan = sweep.plan
    table = segments(plan).all
    region: list[Statistics] = []
    start = ""
    for index, figures in quantity.segments.items():
        segment = table[index]
        if segment.landmark or not region:
            if region:
                yield start, reduce(Statistics.merge, region)
            region = []
            value = _brief(hex_text(plan.format.from_bits(segment.start >> plan.pair_bits)))
            start = value if segment.landmark == "NaN" else f"{value}  {segment.landmark}".rstrip()
        region.append(figures)
    if region:
        yield start, reduce(Statistics.merge, region)


def _cells(sweep: Sweep, name: str, figures: Statistics) -> list[Text]:
    return [
        Text(text)
        for text in (
            str(figures.points),
            short(figures.max_ulp),
            _brief(place(sweep.plan, figures.worst if figures.max_ulp else -1)),
            short(figures.max_scaled_error) if name == "gradient" else "",
            str(figures.misrounded),
            str(figures.unfaithful),
            str(figures.nonfinite_mismatch),
            str(figures.zero_sign_mismatch),
        )
    ]


def _brief(text: str) -> str:
    """Hexadecimal floats without the zeros that end their fractions."""
    return re.sub(r"\.?0+(?=p)", "", text)


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed / 1e6:.1f} M points/s")


class _Lines(Lines, Silent):
    """Nothing but notices."""


class _Bar(Bar):
    def begin(self, points: int, done: int) -> None:
        self._progress.reset(self._task, total=points, completed=done)

    def advance(self, points: int) -> None:
        self._progress.advance(self._task, points)


@contextmanager
def watching() -> Iterator[Watch]:
    """Progress with rate and time left on stderr, if that is a terminal; elsewhere only notices."""
    columns = (BarColumn(), TaskProgressColumn(), _RateColumn(), TimeRemainingColumn())
    with on_terminal("sweep", *columns) as progress:
        yield _Lines() if progress is None else _Bar(progress)
