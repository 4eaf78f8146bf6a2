"""The summary of a report as Markdown, for a step summary or a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from harness.inert import inert
from harness.report.record import Row
from harness.report.report import Report
from harness.report.words import duration, name, number

#: Lines of one list that are shown; GitHub cuts a step summary off at a megabyte.
_SHOWN: Final = 40
_SPECIAL: Final = str.maketrans({each: f"\\{each}" for each in "\\`*_{}[]()#+!|~@"})


def to_markdown(report: Report) -> str:
    """The outcome, what changed, a table of all looks, and what was left out."""
    outcome, night = report.outcome, report.tonight
    parts = [
        f"# Accuracy, {text(report.night)}: {outcome.colour}",
        "",
        f"{text(outcome.headline)}.",
        "",
        *_list("", outcome.lines),
    ]
    if report.since is not None:
        since = report.since
        lines = [difference.line for difference in since.differences]
        lines += [
            f"{machine}: {change}"
            for machine, found in since.environments.items()
            for change in found
        ]
        lines.append(f"{since.same} figures are as they were")
        parts += _list(f"## Since {text(since.before)}", lines)
    parts += ["## Looks", "", *_table(_HEADS, (_cells(row) for row in night.rows.values())), ""]
    parts += _list("## Left out", [f"{each.what}: {each.why}" for each in night.left_out])
    seconds = sum(run.seconds for run in night.runs)
    machines = ", ".join(text(name(each)) for each in sorted(night.machines))
    parts.append(
        f"{len(night.runs)} runs on {machines or 'no machine'}, {duration(seconds)}. An ulp is "
        "that of the exact value; *all* means every number of the format. index.html has segments, "
        "plots, worst inputs and the history."
    )
    return "\n".join(parts) + "\n"


_HEADS: Final = (
    *("subject", "dtype", "device", "look", "passed", "grade", "looked at"),
    *("worst errors in ulps",),
)


def _cells(row: Row) -> list[str]:
    figures = ", ".join(f"{each.quantity} {number(each.max_ulp)}" for each in row.figures)
    return [
        name(row.subject),
        row.dtype,
        f"{row.device} ({row.machine})",
        row.look,
        "yes" if row.passed else "NO",
        row.grade or "-",
        f"all {row.points:,}" if row.exhaustive else f"{row.points:,} sampled",
        figures,
    ]


def text(said: str) -> str:
    """Text that Markdown takes as nothing but text."""
    return escape(inert(said), quote=False).translate(_SPECIAL)


def _list(head: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    shown = [f"- {text(line)}" for line in lines[:_SHOWN]]
    if len(lines) > _SHOWN:
        shown.append(f"- and {len(lines) - _SHOWN} more")
    return [*([head, ""] if head else []), *shown, ""]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(map(text, row))} |" for row in rows),
    ]
