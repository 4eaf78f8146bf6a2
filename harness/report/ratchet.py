"""The accepted figures, and how a night stands to them. A ratchet with two sides: what is worse
fails, and what is better must be accepted too, or it could be lost again unseen.

An entry is a figure of one subject, dtype, device, machine and look, with the sample it is of. The
file has one entry a line, so that what is accepted can be reviewed as a diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from harness.errors import UsageError
from harness.report.figures import Change, changes, grade_change
from harness.report.nights import FigureKey, Night, RowKey
from harness.report.record import Figure

SCHEMA: Final = "neuron-harness/baseline/1"
FILE: Final = "baseline.json"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One accepted figure."""

    subject: str
    dtype: str
    device: str
    machine: str
    look: str
    quantity: str
    sample: str
    grade: str | None = None
    max_ulp: float | None = None
    max_scaled_error: float | None = None
    ratio: float | None = None
    nonfinite: int = 0
    misrounded: int | None = None
    unfaithful: int | None = None

    @property
    def key(self) -> FigureKey:
        """What the figure is of."""
        row = RowKey(self.subject, self.dtype, self.device, self.machine, self.look)
        return FigureKey(row, self.quantity)

    @property
    def figure(self) -> Figure:
        """The figure itself."""
        return Figure(quantity=self.quantity, **{name: getattr(self, name) for name in _COMPARED})


_COMPARED: Final = (
    *("grade", "max_ulp", "max_scaled_error", "ratio"),
    *("nonfinite", "misrounded", "unfaithful"),
)


class _Baseline(msgspec.Struct):
    schema: str
    entries: list[Entry]


class State(StrEnum):
    """How a figure of tonight stands to the accepted one."""

    KEPT = "as accepted"
    WORSE = "worse"
    BETTER = "better"
    OTHER_INPUTS = "other inputs"
    NO_BASELINE = "no baseline"
    NOT_MEASURED = "not measured"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A figure's state, and in words what is other than accepted."""

    subject: str
    dtype: str
    device: str
    machine: str
    look: str
    quantity: str
    state: State
    words: tuple[str, ...] = ()

    @property
    def row(self) -> RowKey:
        """What row the figure is of."""
        return RowKey(self.subject, self.dtype, self.device, self.machine, self.look)

    @property
    def place(self) -> str:
        """What the figure is of, in words."""
        return str(FigureKey(self.row, self.quantity))


def standings(night: Night, accepted: Mapping[FigureKey, Entry]) -> tuple[Standing, ...]:
    """How each figure of a night stands, and which accepted ones of its machines it lacks."""
    found = []
    measured = set()
    for key, row, figure in night.figures():
        measured.add(key)
        entry = accepted.get(key)
        words: tuple[str, ...] = ()
        if entry is None:
            state = State.NO_BASELINE
        elif entry.sample != row.sample:
            # Other inputs have other errors; grades are of the subject, and still compare.
            worse = grade_change(entry.grade, figure.grade) is Change.WORSE
            state = State.WORSE if worse else State.OTHER_INPUTS
            words = (f"{entry.sample} -> {row.sample}",)
            if worse:
                words = (f"grade {entry.grade} -> {figure.grade or 'none'}", *words)
        else:
            change, words = changes(entry.figure, figure)
            state = _STATES[change]
        found.append(Standing(**key.row._asdict(), quantity=key.quantity, state=state, words=words))
    for key in accepted:
        if key not in measured and key.row.machine in night.machines:
            found.append(
                Standing(**key.row._asdict(), quantity=key.quantity, state=State.NOT_MEASURED)
            )
    return tuple(found)


_STATES: Final = {
    Change.SAME: State.KEPT,
    Change.WORSE: State.WORSE,
    Change.BETTER: State.BETTER,
}


def accept(night: Night, accepted: Mapping[FigureKey, Entry]) -> dict[FigureKey, Entry]:
    """The accepted figures with those of a night in their place. Those of its machines that it
    lacks are dropped, unless it left something out; those of other machines stay."""
    partial = night.interrupted or bool(night.left_out)
    kept = {
        key: entry
        for key, entry in accepted.items()
        if partial or key.row.machine not in night.machines
    }
    for key, row, figure in night.figures():
        compared = {name: getattr(figure, name) for name in _COMPARED}
        kept[key] = Entry(**key.row._asdict(), quantity=key.quantity, sample=row.sample, **compared)
    return kept


def read_baseline(file: Path) -> dict[FigureKey, Entry]:
    """The accepted figures in a file; none where there is no file.

    Raises UsageError, in one line, for a file that cannot be read or is something else.
    """
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read ({error.strerror}); expected the accepted figures; restore it"
        ) from None
    try:
        found = msgspec.json.decode(content, type=_Baseline)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UsageError(
            f"{file} does not hold accepted figures ({error}); restore it, or remove it and write "
            "it anew with report --accept"
        ) from None
    if found.schema != SCHEMA:
        raise UsageError(
            f"{file} is of schema {found.schema[:80]!r}; expected {SCHEMA!r}; upgrade this program"
        )
    return {entry.key: entry for entry in found.entries}


def baseline_bytes(accepted: Mapping[FigureKey, Entry]) -> bytes:
    """The accepted figures as the file holds them: sorted, one entry a line."""
    lines = [
        msgspec.json.encode(entry).decode() for _, entry in sorted(accepted.items(), key=_sorted)
    ]
    body = "".join(f"\n  {line}," for line in lines).removesuffix(",")
    return f'{{"schema": "{SCHEMA}", "entries": [{body}\n]}}\n'.encode()


def _sorted(item: tuple[FigureKey, Entry]) -> FigureKey:
    return item[0]


def accepted_lines(
    before: Mapping[FigureKey, Entry], after: Mapping[FigureKey, Entry]
) -> Iterable[str]:
    """What accepting changes, one line each."""
    for key, entry in sorted(after.items(), key=_sorted):
        old = before.get(key)
        if old is None:
            yield f"new: {key}"
        elif old.sample != entry.sample:
            yield f"other inputs: {key}: {old.sample} -> {entry.sample}"
        elif old != entry:
            change, words = changes(old.figure, entry.figure)
            yield f"{change}: {key}: {'; '.join(words) or 'by less than can be told'}"
    for key in sorted(before.keys() - after.keys()):
        yield f"dropped: {key}"
