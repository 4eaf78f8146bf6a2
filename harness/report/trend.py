"""A figure over the nights, as spans in which it stayed the same.

The figures of a plan with a fixed seed are deterministic: with the same subject, the same libraries
and the same inputs a night repeats the last one to the bit. So no statistics are needed to find the
nights at which something changed, nor would any be honest: every difference that can be told (see
`figures.changes`) is a change point, and there are no others. Where the inputs changed, because a
new release draws others, figures cannot be compared: that is a change point of its own kind, which
says nothing about the subject.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from harness.report.figures import Change, changes
from harness.report.nights import FigureKey, Night, dependency_changes
from harness.report.record import Figure

#: The kind of a change point where other inputs were looked at.
OTHER_INPUTS = "other inputs"


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Nights in a row, of those that measured it, in which a figure stayed the same. `start` and
    `stop` are their places among all nights, both included, `first` and `last` their labels."""

    start: int
    stop: int
    first: str
    last: str
    nights: int
    figure: Figure
    sample: str


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The first night of a span: what is other than in the one before, and what else had changed
    since the night before it."""

    night: str
    change: str
    words: tuple[str, ...]
    dependencies: tuple[str, ...]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The history of one figure."""

    subject: str
    dtype: str
    device: str
    machine: str
    look: str
    quantity: str
    spans: tuple[Span, ...]
    changes: tuple[ChangePoint, ...]


class _Open:
    """A series that still grows."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.changes: list[ChangePoint] = []
        self.environment: dict[str, str] = {}

    def add(
        self, place: int, night: Night, figure: Figure, sample: str, environment: dict[str, str]
    ) -> None:
        span = Span(
            start=place,
            stop=place,
            first=night.label,
            last=night.label,
            nights=1,
            figure=figure,
            sample=sample,
        )
        if not self.spans:
            self.spans.append(span)
        else:
            self._continue(self.spans[-1], span, environment)
        self.environment = environment

    def _continue(self, last: Span, span: Span, environment: dict[str, str]) -> None:
        change: str = OTHER_INPUTS
        words: tuple[str, ...] = (f"{last.sample} -> {span.sample}",)
        if last.sample == span.sample:
            # Against the first of the span, so that small steps cannot add up unseen.
            found, words = changes(last.figure, span.figure)
            change = str(found)
            if found is Change.SAME:
                self.spans[-1] = msgspec.structs.replace(
                    last, stop=span.stop, last=span.last, nights=last.nights + 1
                )
                return
        self.spans.append(span)
        self.changes.append(
            ChangePoint(
                night=span.first,
                change=change,
                words=words,
                dependencies=dependency_changes(self.environment, environment),
            )
        )


def trends(nights: Iterable[Night]) -> tuple[Series, ...]:
    """The history of every figure, in the order in which they first came up."""
    found: dict[FigureKey, _Open] = {}
    for place, night in enumerate(nights):
        for key, row, figure in night.figures():
            series = found.get(key)
            if series is None:
                series = found[key] = _Open()
            series.add(place, night, figure, row.sample, night.environments[key.row])
    return tuple(
        Series(
            **key.row._asdict(),
            quantity=key.quantity,
            spans=tuple(series.spans),
            changes=tuple(series.changes),
        )
        for key, series in found.items()
    )
