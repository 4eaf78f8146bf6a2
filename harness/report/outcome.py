"""Whether a night is green, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from harness.report.nights import Night, RowKey
from harness.report.ratchet import Standing, State
from harness.verdict import EXIT_INCONCLUSIVE, EXIT_NOTHING, EXIT_OK, EXIT_VIOLATION

#: So many lines of one state are shown; the rest are counted.
_SHOWN: Final = 20


class Colour(StrEnum):
    """Green: all as required and as accepted. Red: something is not. Amber: that cannot be told."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The colour of a night, the exit status that stands for it, and why, a line each."""

    colour: Colour
    exit_status: int
    headline: str
    lines: tuple[str, ...]


def outcome(night: Night, standings: Sequence[Standing]) -> Outcome:
    """The outcome of a night.

    Exit status: 0 green; 1 a row failed, or a figure is worse than accepted, or better and not
    accepted; 3 nothing was looked at; 5 something has no accepted figure, is of other inputs, or
    was not measured.
    """
    failed = [(key, row) for key, row in night.rows.items() if not row.passed]
    by_state = Counter(standing.state for standing in standings)
    worse, better = by_state[State.WORSE], by_state[State.BETTER]
    lines = [f"failed: {key}: {row.failure or 'failed'}" for key, row in failed]
    for state in (State.WORSE, State.BETTER):
        lines += _lines(standings, state)
    if better:
        lines.append("what is better must be accepted, or it could be lost unseen: report --accept")
    unsure: list[str] = []
    for state in (State.OTHER_INPUTS, State.NO_BASELINE, State.NOT_MEASURED):
        unsure += _lines_by_row(standings, state)
    if night.interrupted:
        unsure.append("interrupted: what is shown was complete")
    if failed or worse or better:
        counted = [
            text
            for count, text in (
                (len(failed), f"{len(failed)} failed"),
                (worse, f"{worse} worse"),
                (better, f"{better} better and not accepted"),
            )
            if count
        ]
        return Outcome(
            colour=Colour.RED,
            exit_status=EXIT_VIOLATION,
            headline=", ".join(counted),
            lines=(*lines, *unsure),
        )
    if not night.rows:
        return Outcome(
            colour=Colour.AMBER,
            exit_status=EXIT_NOTHING,
            headline="nothing was looked at",
            lines=tuple(unsure),
        )
    if unsure:
        count = sum(by_state.values()) - by_state[State.KEPT]
        return Outcome(
            colour=Colour.AMBER,
            exit_status=EXIT_INCONCLUSIVE,
            headline=f"{count} of {len(standings)} figures cannot be held against accepted ones"
            if count
            else "interrupted",
            lines=tuple(unsure),
        )
    return Outcome(
        colour=Colour.GREEN,
        exit_status=EXIT_OK,
        headline=f"all {len(night.rows)} looks as required, all {len(standings)} figures as "
        "accepted",
        lines=(),
    )


def _lines_by_row(standings: Sequence[Standing], state: State) -> Iterator[str]:
    rows: dict[tuple[RowKey, tuple[str, ...]], list[str]] = {}
    for standing in standings:
        if standing.state is state:
            rows.setdefault((standing.row, standing.words), []).append(standing.quantity)
    for (row, words), quantities in list(rows.items())[:_SHOWN]:
        said = f": {'; '.join(words)}" if words else ""
        yield f"{state}: {row}: {', '.join(quantities)}{said}"
    if len(rows) > _SHOWN:
        yield f"{state}: {len(rows) - _SHOWN} more looks"


def _lines(standings: Sequence[Standing], state: State) -> Iterator[str]:
    found = [standing for standing in standings if standing.state is state]
    for standing in found[:_SHOWN]:
        words = f": {'; '.join(standing.words)}" if standing.words else ""
        yield f"{state}: {standing.place}{words}"
    if len(found) > _SHOWN:
        yield f"{state}: {len(found) - _SHOWN} more"
