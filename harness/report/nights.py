"""The runs of a night together, whichever machines they are from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from harness.report.record import Details, Figure, LeftOut, Row, Run


class RowKey(NamedTuple):
    """What tells the rows of a night apart, and joins those of different nights."""

    subject: str
    dtype: str
    device: str
    machine: str
    look: str

    def __str__(self) -> str:
        return f"{self.subject} {self.dtype} {self.device} ({self.machine}), {self.look}"


class FigureKey(NamedTuple):
    """A row's key and a quantity."""

    row: RowKey
    quantity: str

    def __str__(self) -> str:
        return f"{self.row}: {self.quantity}"


def key_of(row: Row) -> RowKey:
    """The key of a row."""
    return RowKey(row.subject, row.dtype, row.device, row.machine, row.look)


@dataclass(frozen=True)
class Night:
    """A night's runs, the oldest first. Where two looked at the same, the later one counts."""

    label: str
    runs: tuple[Run, ...]

    @cached_property
    def rows(self) -> dict[RowKey, Row]:
        """What was found, in the order in which it was looked for."""
        return {key_of(row): row for run in self.runs for row in run.rows}

    @cached_property
    def environments(self) -> dict[RowKey, dict[str, str]]:
        """The environment that each row was found in."""
        return {key_of(row): run.environment for run in self.runs for row in run.rows}

    @cached_property
    def details(self) -> tuple[Details, ...]:
        """The details of every target and machine, those of the later run."""
        found = {(*each.target, each.machine): each for run in self.runs for each in run.details}
        return tuple(found.values())

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was not looked at on which machine."""
        several = len({run.machine for run in self.runs}) > 1
        return tuple(
            LeftOut(f"{each.what} ({run.machine})" if several else each.what, each.why)
            for run in self.runs
            for each in run.left_out
        )

    @property
    def interrupted(self) -> bool:
        """Whether a run was ended before its plan was."""
        return any(run.interrupted for run in self.runs)

    @property
    def machines(self) -> frozenset[str]:
        """The machines that rows are from."""
        return frozenset(key.machine for key in self.rows)

    def figures(self) -> Iterator[tuple[FigureKey, Row, Figure]]:
        """Every figure with its row."""
        for key, row in self.rows.items():
            for figure in row.figures:
                yield FigureKey(key, figure.quantity), row, figure


def nights_of(runs: Iterable[Run]) -> list[Night]:
    """Runs by night, nights by their first run."""
    found: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.started):
        found.setdefault(run.night, []).append(run)
    return [Night(label, tuple(of_night)) for label, of_night in found.items()]


def dependency_changes(before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    """What differs between two environments, one text each: `torch 2.12.0 -> 2.13.0`."""
    return tuple(
        f"{name} {before.get(name, 'none')} -> {after.get(name, 'none')}"
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )
