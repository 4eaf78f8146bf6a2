"""What was verified in a run of pytest, as lines of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.inert import inert
from harness.terminal import short

_HEAD = ("test", "subject", "dtype", "device", "grade", "required", "worst ulps", "examples")


def summary_lines(rows: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """A line for each verification, those that failed first, and one that counts them."""
    ordered = sorted(rows, key=lambda row: row[1]["passed"])
    cells = [_HEAD, *(_cells(test.rpartition("::")[2], row) for test, row in ordered)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    failed = sum(not row["passed"] for _, row in rows)
    return [*lines, f"{len(rows) - failed} verdicts as required, {failed} not"]


def _cells(test: str, row: dict[str, Any]) -> tuple[str, ...]:
    worst = max(row["max_ulp"].values(), default=None)
    return (
        inert(test, 60),
        inert(row["subject"], 60),
        row["dtype"],
        row["device"],
        row["grade"],
        row["required"],
        "-" if worst is None else short(worst),
        str(row["examples"]),
    )
