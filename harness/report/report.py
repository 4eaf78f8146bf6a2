"""A night with all that there is to say of it: what report.json holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from harness.report.compare import Comparison, compare
from harness.report.nights import FigureKey, Night
from harness.report.outcome import Outcome, outcome
from harness.report.ratchet import Entry, Standing, standings
from harness.report.record import Run
from harness.report.trend import Series, trends

SCHEMA: Final = "neuron-harness/report/1"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report. `nights` are the labels of all nights up to this one, in the order of time;
    `since` is what changed since the night before, None for the first."""

    night: str
    outcome: Outcome
    nights: tuple[str, ...]
    runs: tuple[Run, ...]
    standings: tuple[Standing, ...]
    since: Comparison | None
    series: tuple[Series, ...]
    schema: str = SCHEMA

    @property
    def tonight(self) -> Night:
        """The night that it is about."""
        return Night(self.night, self.runs)


def make_report(
    nights: Sequence[Night], runs: Sequence[Run], accepted: Mapping[FigureKey, Entry]
) -> Report:
    """The report of the last of `nights`; `runs` are its runs with their details."""
    night = Night(nights[-1].label, tuple(runs))
    found = standings(night, accepted)
    return Report(
        night=night.label,
        outcome=outcome(night, found),
        nights=tuple(each.label for each in nights),
        runs=night.runs,
        standings=found,
        since=compare(nights[-2], night) if len(nights) > 1 else None,
        series=trends(nights),
    )


def to_json(report: Report) -> bytes:
    """A report as JSON (schema neuron-harness/report/1), indented."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def json_schema() -> dict[str, Any]:
    """The JSON schema of report.json."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    # As it is written: tuples are lists there.
    found: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(dialect | msgspec.json.schema(Report))
    )
    return found
