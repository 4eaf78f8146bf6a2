"""A finished hunt as a table, and its progress, on a terminal or in a log."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from rich.console import JustifyMethod
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from harness.failure import explain_command
from harness.grade import Grade
from harness.hexfloat import hex_text
from harness.hunt.budget import Budget
from harness.hunt.engine import Hunt, Silent, Watch
from harness.hunt.finds import Find
from harness.hunt.judge import MISMATCH, RAISED
from harness.progress import Bar, Lines, on_terminal
from harness.terminal import short

_REDRAWN_EVERY: Final = 0.2
_COLUMNS: Final[tuple[tuple[str, JustifyMethod], ...]] = (
    ("worst of", "left"),
    ("figure", "left"),
    ("value", "right"),
    ("grade", "left"),
    ("smallest case that keeps it", "left"),
    ("found by", "left"),
    ("after", "right"),
)


def finds_table(hunt: Hunt) -> Table:
    """One row for each find: the largest figure, where it is, and what was found by. Errors are in
    ulps of the exact value or of the textbook bound, scaled errors in units of u |g|."""
    table = Table(show_edge=False, pad_edge=False)
    for head, justify in _COLUMNS:
        table.add_column(head, justify=justify, no_wrap=True)
    for find in hunt.finds:
        sized = find.objective.figure not in (MISMATCH, RAISED)
        table.add_row(
            find.objective.quantity,
            find.objective.figure,
            short(find.value) if sized else "-",
            "not judged again" if find.judged is None else str(find.grade or "-"),
            Text(_case_text(find)),
            find.origin,
            f"{find.evaluations:,}",
        )
    return table


def case_lines(hunt: Hunt) -> list[str]:
    """How to see finds again, one command a line: those that are numbers or wrong."""
    plan = hunt.plan
    if plan.locator is None:
        return []
    finds = [find for find in hunt.finds if find.point or find.grade is Grade.WRONG]
    return [
        "again: "
        + explain_command(plan.locator, case, str(plan.kind), plan.device, plan.activation_ulps)
        for case in dict.fromkeys(find.case for find in finds)
    ]


def tail_line(hunt: Hunt) -> str:
    """How much was tried, and in what time."""
    parts = [f"{hunt.evaluations:,} inputs in {hunt.seconds:.1f} s"]
    if hunt.cases:
        parts.append(f"{hunt.cases:,} of them whole neurons")
    if hunt.exhausted:
        parts.append("every number of the format was tried")
    parts.append(f"started from {hunt.started_from} known inputs" if hunt.started_from else "cold")
    return f"{'; '.join(parts)}; seed {hunt.plan.seed}"


def _case_text(find: Find) -> str:
    case = find.case
    if find.point:
        return _brief(hex_text(case.inputs[0]))
    return f"n = {len(case.inputs)}, {case.layout}"


def _brief(text: str) -> str:
    return re.sub(r"\.?0+(?=p)", "", text)


class _Lines(Lines, Silent):
    """Nothing but notices."""


class _Bar(Bar):
    _drawn = 0.0

    def progress(self, budget: Budget, finds: Mapping[str, float]) -> None:
        now = time.monotonic()
        if now - self._drawn < _REDRAWN_EVERY:
            return
        self._drawn = now
        largest = [f"{name} {short(value)}" for name, value in finds.items() if value]
        self._progress.update(
            self._task,
            total=1.0,
            completed=budget.fraction,
            found=f"{budget.evaluations:,} inputs; {', '.join(largest[:3])}",
        )


@contextmanager
def watching() -> Iterator[Watch]:
    """Progress and the largest figures on stderr, if that is a terminal; elsewhere only notices."""
    found = TextColumn("{task.fields[found]}", markup=False)
    columns = (BarColumn(20), TaskProgressColumn(), TimeElapsedColumn(), found)
    with on_terminal("hunt", *columns) as progress:
        yield _Lines() if progress is None else _Bar(progress)
