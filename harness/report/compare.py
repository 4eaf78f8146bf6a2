"""What changed from one night to another, in words and as a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from harness.report.figures import Change, changes, grade_change
from harness.report.nights import Night, RowKey, dependency_changes
from harness.report.record import Row

SCHEMA: Final = "neuron-harness/comparison/1"
#: Kinds of differences, from what matters most.
FAILED, WORSE, FIXED, BETTER = "failed", "worse", "fixed", "better"
GONE, NEW, OTHER_INPUTS = "gone", "new", "other inputs"
KINDS: Final = (FAILED, WORSE, FIXED, BETTER, GONE, NEW, OTHER_INPUTS)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is other than it was. `quantity` is empty where it is about the row."""

    kind: str
    subject: str
    dtype: str
    device: str
    machine: str
    look: str
    quantity: str = ""
    words: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The difference in one line."""
        row = RowKey(self.subject, self.dtype, self.device, self.machine, self.look)
        place = f"{row}: {self.quantity}" if self.quantity else str(row)
        return f"{self.kind}: {place}" + (f": {'; '.join(self.words)}" if self.words else "")


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two nights against one another: what is other, by machine what else had changed, and how
    many figures are the same."""

    before: str
    after: str
    differences: tuple[Difference, ...]
    environments: dict[str, tuple[str, ...]]
    same: int
    schema: str = SCHEMA

    def lines(self) -> Iterator[str]:
        """The comparison in words."""
        yield f"{self.before} -> {self.after}"
        for difference in self.differences:
            yield difference.line
        for machine, found in self.environments.items():
            for change in found:
                yield f"changed on {machine}: {change}"
        yield f"{self.same} figures are the same, {len(self.differences)} differences"


def compare(before: Night, after: Night) -> Comparison:
    """What changed from one night to another."""
    found: list[Difference] = []
    same = 0
    for key in dict.fromkeys([*before.rows, *after.rows]):
        old, new = before.rows.get(key), after.rows.get(key)
        whom = key._asdict()
        if old is None or new is None:
            found.append(Difference(kind=GONE if new is None else NEW, **whom))
            continue
        found += _row_differences(old, new, whom)
        of_figures, kept = _figure_differences(old, new, whom)
        found += of_figures
        same += kept
    environments: dict[str, tuple[str, ...]] = {}
    for key, environment in after.environments.items():
        if key in before.environments:
            changed = dependency_changes(before.environments[key], environment)
            if changed:
                environments.setdefault(key.machine, changed)
    found.sort(key=lambda difference: KINDS.index(difference.kind))
    return Comparison(
        before=before.label,
        after=after.label,
        differences=tuple(found),
        environments=environments,
        same=same,
    )


def _row_differences(old: Row, new: Row, whom: dict[str, Any]) -> Iterator[Difference]:
    if old.passed and not new.passed:
        yield Difference(kind=FAILED, words=(new.failure or "failed",), **whom)
    if new.passed and not old.passed:
        yield Difference(kind=FIXED, words=(f"was: {old.failure or 'failed'}",), **whom)
    if old.sample != new.sample:
        words = (f"{old.sample} -> {new.sample}",)
        yield Difference(kind=OTHER_INPUTS, words=words, **whom)
    for kind, more, less in ((WORSE, new, old), (BETTER, old, new)):
        for laws in ("broken_laws", "observed_breaches"):
            names = [law for law in getattr(more, laws) if law not in getattr(less, laws)]
            if names:
                verb = "breaks" if kind == WORSE else "no longer breaks"
                yield Difference(kind=kind, words=(f"{verb} the law {', '.join(names)}",), **whom)


def _figure_differences(old: Row, new: Row, whom: dict[str, Any]) -> tuple[list[Difference], int]:
    found = []
    same = 0
    earlier = {figure.quantity: figure for figure in old.figures}
    for figure in new.figures:
        before = earlier.pop(figure.quantity, None)
        if before is None:
            found.append(Difference(kind=NEW, quantity=figure.quantity, **whom))
            continue
        if old.sample == new.sample:
            change, words = changes(before, figure)
        else:
            change = grade_change(before.grade, figure.grade)
            words = (f"grade {before.grade or 'none'} -> {figure.grade or 'none'}",)
        if change is Change.SAME:
            same += 1
        else:
            kind = WORSE if change is Change.WORSE else BETTER
            found.append(Difference(kind=kind, quantity=figure.quantity, words=words, **whom))
    found += [Difference(kind=GONE, quantity=name, **whom) for name in earlier]
    return found, same
