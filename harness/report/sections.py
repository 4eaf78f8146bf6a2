"""A report arranged as its page shows it: what stands in which section, condensed to what can be
read. All of it is in report.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from harness.case import Case
from harness.hexfloat import hex_text
from harness.report.nights import FigureKey, RowKey
from harness.report.plots import (
    Plot,
    curve_plot,
    envelope_plot,
    histogram_plot,
    trend_plot,
)
from harness.report.ratchet import Standing, State
from harness.report.record import Details, Figure, LawRow, Row, Segment, Special, WorstInput
from harness.report.report import Report
from harness.report.trend import Series
from harness.report.words import name, number, replay

#: Columns of errors, by the beginning of a quantity's name.
COLUMNS: Final = ("y", "dx", "dw", "d")
_COLUMN_OF: Final = {"output": "y", "input": "dx", "weight": "dw", "bias": "d", "gradient": "d"}
_OF_NEURONS: Final = " of neurons"


class Limits(NamedTuple):
    """How much a page may hold: worst inputs of a quantity, rows of segments of a quantity, changes
    of a trend; and whether there are plots."""

    worst: int
    segments: int
    changes: int
    plots: bool


#: From all that can be read to what any page has room for.
LIMITS: Final = (Limits(10, 40, 6, True), Limits(4, 16, 3, True), Limits(1, 4, 1, False))


class Cell(NamedTuple):
    """A figure in the table of looks; `state` is how it stands to the accepted one."""

    text: str
    exhaustive: bool
    state: State


class LookView(NamedTuple):
    """A row of the table of looks: `cells` are by column."""

    row: Row
    subject: str
    cells: tuple[tuple[Cell, ...], ...]
    standing: str
    attention: bool


class SegmentView(NamedTuple):
    """Neighbouring segments in one row, if there is nothing to tell between them."""

    quantity: str
    start: str
    stop: str
    landmark: str
    points: int
    max_ulp: float
    mean_ulp: float | None
    within: tuple[float, float, float]
    nonfinite: int
    worst_x: str


class WorstView(NamedTuple):
    """One of the worst inputs, and the command that shows it."""

    worst: WorstInput
    x: str
    command: str


class LawView(NamedTuple):
    """A law that was broken, or all that held together."""

    law: LawRow
    command: str


class TargetView(NamedTuple):
    """What the sections by subject, dtype and device have of one of them. `slug` names it in ids,
    `left` says what there was no room for."""

    slug: str
    title: str
    details: Details
    segments: tuple[SegmentView, ...]
    envelopes: tuple[Plot, ...]
    histograms: tuple[Plot, ...]
    curves: tuple[Plot, ...]
    worst: tuple[WorstView, ...]
    specials: tuple[Special, ...]
    broken: tuple[LawView, ...]
    held: str
    left: tuple[str, ...]


class TrendView(NamedTuple):
    """A row of the table of trends."""

    series: Series
    subject: str
    now: str
    plot: Plot
    changes: tuple[str, ...]
    earlier: int


class SpeedView(NamedTuple):
    """Throughput beside accuracy."""

    title: str
    machine: str
    what: str
    per_second: str
    worst: str
    grade: str


def look_views(report: Report) -> list[LookView]:
    """The table of looks, what needs attention first."""
    standings: dict[tuple[str, ...], dict[str, Standing]] = {}
    for each in report.standings:
        key = (each.subject, each.dtype, each.device, each.machine, each.look)
        standings.setdefault(key, {})[each.quantity] = each
    views = []
    for key, row in report.tonight.rows.items():
        own = standings.get(tuple(key), {})
        states = [each.state for each in own.values()]
        notable = [state for state in State if state is not State.KEPT and state in states]
        attention = not row.passed or State.WORSE in states or State.BETTER in states
        views.append(
            LookView(
                row,
                name(row.subject),
                tuple(tuple(_cells(row, column, own)) for column in COLUMNS),
                ", ".join(notable) or str(State.KEPT if states else State.NO_BASELINE),
                attention,
            )
        )
    return sorted(views, key=lambda view: not view.attention)


def _cells(row: Row, column: str, own: dict[str, Standing]) -> Iterator[Cell]:
    for figure in row.figures:
        if _COLUMN_OF.get(figure.quantity.partition("_")[0].partition(" ")[0]) != column:
            continue
        standing = own.get(figure.quantity)
        state = State.NO_BASELINE if standing is None else standing.state
        yield Cell(_figure_text(figure), row.exhaustive, state)


def _figure_text(figure: Figure) -> str:
    text = number(figure.max_ulp) + ("!" if figure.nonfinite else "")
    return f"{text} (neurons)" if figure.quantity.endswith(_OF_NEURONS) else text


def target_views(report: Report, cases: Path, limits: Limits) -> list[TargetView]:
    """What there is to say of every target, in the order in which they were looked at."""
    several = len(report.tonight.machines) > 1
    return [
        _target(index, details, cases, limits, several)
        for index, details in enumerate(report.tonight.details)
    ]


def _target(index: int, details: Details, cases: Path, limits: Limits, several: bool) -> TargetView:
    title = f"{name(details.subject)} {details.dtype} {details.device}"
    left = []
    worst = list(_worst(details, limits.worst))
    if len(worst) < len(details.worst):
        left.append(f"{len(worst)} of {len(details.worst)} worst inputs are shown")
    if not limits.plots:
        left.append("no plots are shown: the page would be too large")

    def command(case: str | None) -> str:
        if case is None:
            return ""
        return replay(details.subject, details.kind, details.device, case, cases)

    shown = limits.plots
    return TargetView(
        f"t{index}",
        f"{title}, {details.machine}" if several else title,
        details,
        tuple(condensed(details.segments, limits.segments)),
        tuple(envelope_plot(each) for each in details.envelopes) if shown else (),
        tuple(histogram_plot(each) for each in details.histograms) if shown else (),
        tuple(curve_plot(each) for each in details.curves) if shown else (),
        tuple(WorstView(each, x_of(each.case), command(each.case)) for each in worst),
        details.specials,
        tuple(LawView(law, command(law.case)) for law in details.laws if not law.passed),
        _held(details.laws),
        tuple(left),
    )


def _held(laws: Sequence[LawRow]) -> str:
    held = [law for law in laws if law.passed and law.applies and law.checked]
    return ", ".join(f"{law.name} ({law.look}: {law.checked:,})" for law in held)


def _worst(details: Details, most: int) -> Iterator[WorstInput]:
    """The worst of each quantity: what failed first, then by size."""
    by_quantity: dict[str, list[WorstInput]] = {}
    for each in details.worst:
        by_quantity.setdefault(each.quantity, []).append(each)
    for found in by_quantity.values():
        found.sort(key=lambda each: (each.message is None, -abs(each.ulps or 0.0)))
        yield from found[:most]


def x_of(case: str) -> str:
    """The number that a case stands for, if it stands for one; else how many inputs it has."""
    parsed = Case.from_json(case)
    if len(parsed.inputs) == 1:
        return short_hex(hex_text(parsed.inputs[0]))
    return f"{len(parsed.inputs)} inputs"


def short_hex(text: str) -> str:
    """Hexadecimal text of a float without the zeros at its end."""
    mantissa, p, exponent = text.partition("p")
    return (mantissa.rstrip("0").rstrip(".") or mantissa) + p + exponent if p else text


def condensed(segments: Sequence[Segment], most: int) -> Iterator[SegmentView]:
    """Segments by quantity, neighbours joined where all of both are rounded correctly; and then, if
    there are more than `most`, those with the least errors joined to their neighbours."""
    by_quantity: dict[str, list[Segment]] = {}
    for each in segments:
        by_quantity.setdefault(each.quantity, []).append(each)
    for quantity, found in by_quantity.items():
        rows: list[list[Segment]] = []
        for each in found:
            if rows and _alike(rows[-1][-1], each):
                rows[-1].append(each)
            else:
                rows.append([each])
        while len(rows) > max(most, 1):
            index = min(
                range(len(rows) - 1), key=lambda i: max(_largest(rows[i]), _largest(rows[i + 1]))
            )
            rows[index] += rows.pop(index + 1)
        for row in rows:
            yield _joined(quantity, row)


def _alike(lower: Segment, upper: Segment) -> bool:
    return not (
        lower.misrounded
        or upper.misrounded
        or lower.nonfinite
        or upper.nonfinite
        or upper.landmark in ("infinity", "NaN")
    )


def _largest(row: Sequence[Segment]) -> float:
    return max(each.max_ulp for each in row)


def _joined(quantity: str, row: Sequence[Segment]) -> SegmentView:
    points = sum(each.points for each in row)
    worst = max(row, key=lambda each: each.max_ulp)
    sized = [(each.points - each.nonfinite, each.mean_ulp) for each in row]
    means = [(count, mean) for count, mean in sized if mean is not None]
    count = sum(count for count, _ in means)
    mean = sum(count * mean for count, mean in means) / count if count else None
    shares = [
        sum(each.points * each.within[i] for each in row) / points if points else 0.0
        for i in range(3)
    ]
    # A sum of shares that are all 1 is 1, whatever the floats make of it.
    for i in range(3):
        if all(each.within[i] == 1 for each in row):
            shares[i] = 1.0
    landmarks = [each.landmark for each in row if each.landmark]
    return SegmentView(
        quantity,
        short_hex(row[0].start),
        short_hex(row[-1].stop),
        "; ".join(landmarks[:3]) + ("; ..." if len(landmarks) > 3 else ""),
        points,
        worst.max_ulp,
        mean,
        (shares[0], shares[1], shares[2]),
        sum(each.nonfinite for each in row),
        "" if worst.worst_x is None else short_hex(worst.worst_x),
    )


def trend_views(report: Report, limits: Limits) -> list[TrendView]:
    """The trend of every figure that tonight has, those with the latest changes first."""
    tonight = {key for key, _, _ in report.tonight.figures()}
    places = {label: place for place, label in enumerate(report.nights)}
    views = []
    for series in report.series:
        row = RowKey(series.subject, series.dtype, series.device, series.machine, series.look)
        if FigureKey(row, series.quantity) not in tonight:
            continue
        changes = [
            f"{change.night}: {change.change}: {'; '.join(change.words)}"
            + (f" (with {'; '.join(change.dependencies)})" if change.dependencies else "")
            for change in reversed(series.changes)
        ]
        views.append(
            TrendView(
                series,
                name(series.subject),
                number(series.spans[-1].figure.max_ulp),
                trend_plot(series, len(report.nights)),
                tuple(changes[: limits.changes]),
                max(0, len(changes) - limits.changes),
            )
        )
    return sorted(
        views,
        key=lambda view: -places[view.series.changes[-1].night] if view.series.changes else 1,
    )


def speed_views(report: Report) -> list[SpeedView]:
    """Throughput, each with the worst error and grade of the same target."""
    rows: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in report.tonight.rows.values():
        rows.setdefault((*row.target, row.machine), []).append(row)
    views = []
    for details in report.tonight.details:
        own = rows.get((*details.target, details.machine), [])
        exact = [row for row in own if row.look in ("sweep", "hunt")] or own
        figures = [figure for row in exact for figure in row.figures]
        worst = ", ".join(f"{each.quantity} {number(each.max_ulp)}" for each in figures)
        grades = [row.grade for row in own if row.look == "verify" and row.grade is not None]
        for each in details.throughput:
            rate = each.elements / each.seconds if each.seconds else None
            views.append(
                SpeedView(
                    f"{name(details.subject)} {details.dtype} {details.device}",
                    details.machine,
                    each.what,
                    "not measured" if rate is None else f"{rate / 1e6:,.1f} million",
                    worst,
                    ", ".join(grades) or "-",
                )
            )
    return views


def not_covered(report: Report) -> list[tuple[str, str]]:
    """What was not looked at, and why; what is sampled is not covered in full either."""
    found = [(each.what, each.why) for each in report.tonight.left_out]
    sampled: dict[tuple[str, str], list[str]] = {}
    exhaustive = {row.target for row in report.tonight.rows.values() if row.exhaustive}
    for row in report.tonight.rows.values():
        if row.target not in exhaustive:
            sampled.setdefault((name(row.subject), row.device), []).append(row.dtype)
    for (subject, device), dtypes in sampled.items():
        shown = ", ".join(dict.fromkeys(dtypes))
        found.append((f"{subject} {shown} {device}", "sampled: no sweep over every number"))
    unjudged = sum(row.unjudged for row in report.tonight.rows.values())
    if unjudged:
        found.append((f"{unjudged:,} cases", "unjudged: their bounds are vacuous"))
    found.append(
        (
            "sums of several products",
            "drawn only: a sweep of a neuron is of one input with weight 1 and bias 0",
        )
    )
    return found


def plots_of(report: Report) -> Iterator[tuple[str, Plot]]:
    """Every plot with the name of its file."""
    for index, details in enumerate(report.tonight.details):
        plots = [
            *(("envelope", envelope_plot(each)) for each in details.envelopes),
            *(("histogram", histogram_plot(each)) for each in details.histograms),
            *(("curve", curve_plot(each)) for each in details.curves),
        ]
        for place, (what, plot) in enumerate(plots):
            slug = "".join(
                each if each.isalnum() and each.isascii() else "-" for each in details.subject
            )[-40:]
            yield f"{index:02}-{slug}-{details.dtype}-{details.device}-{what}-{place}", plot
