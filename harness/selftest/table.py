"""A self-test as tables, and in words what is not as it should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from harness.selftest.contest import CONTESTANTS, HARNESS, Trial
from harness.selftest.run import Selftest
from harness.selftest.tally import Count, cell, count, false_alarms, flagged_by, named, totals


def fault_table(selftest: Selftest) -> Table:
    """One row for each fault: in how many of the dtypes in which it is one, and in which they can
    judge it, contestants caught it, and how."""
    table = _table("fault", "group", *CONTESTANTS)
    for fault in selftest.faults:
        trials = selftest.of(fault)
        if trials:
            cells = [Text(cell(name, trials), style=_colour(name, trials)) for name in CONTESTANTS]
            table.add_row(Text(fault.name), Text(fault.group), *cells)
    return table


def _colour(contestant: str, trials: Sequence[Trial]) -> str:
    number = count(contestant, trials)
    if number.judged == 0:
        return "dim"
    return "" if number.caught == number.judged else "red" if contestant == HARNESS else "yellow"


def totals_table(selftest: Selftest) -> Table:
    """Pairs of a fault and a dtype that were caught, of those that were judged, by group and by
    dtype; then faults that were caught in every dtype in which they were judged."""
    return _count_table("caught, of judged", totals(selftest))


def alarm_table(selftest: Selftest) -> Table:
    """Pairs of a sound subject and a dtype that were flagged, of those that were judged."""
    return _count_table("flagged, of sound ones", false_alarms(selftest))


def _count_table(head: str, rows: Mapping[str, Sequence[Count]]) -> Table:
    table = _table(head, *CONTESTANTS)
    for name, counts in rows.items():
        table.add_row(Text(name), *(Text(str(each)) for each in counts))
    return table


def _table(*heads: str) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for head in heads:
        table.add_column(head, no_wrap=True)
    return table


def closing_lines(selftest: Selftest) -> list[str]:
    """Who flagged which sound subject, what could not be run, and what the run comes to."""
    lines = [
        f"{name} flags {', '.join(flagged)}"
        for name in CONTESTANTS
        if (flagged := flagged_by(name, selftest))
    ]
    lines += [f"not run: {name}: {lacks}" for name, lacks in selftest.skipped.items()]
    lines += [f"MISSED: {name}" for name in named(selftest.missed)]
    lines += [f"FALSE ALARM: {name}" for name in named(selftest.flagged)]
    if selftest.stopped is not None:
        lines.append(f"stopped: {selftest.stopped}; what was complete is shown")
    faults = selftest.among(selftest.faults)
    sound = selftest.among(selftest.sound)
    settings = selftest.settings
    budget = "the harness's own time" if settings.budget is None else f"{settings.budget:g} s"
    lines.append(
        f"{len(faults) - len(selftest.missed)} of {len(faults)} faults caught, "
        f"{len(selftest.flagged)} of {len(sound)} sound subjects flagged, each counted in every "
        f"dtype; {settings.examples} examples, rivals had {budget} each; seed {settings.seed}"
    )
    return lines
