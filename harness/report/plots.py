"""Curves, envelopes, histograms and trends as the paths of small SVG drawings.

A drawing has integer coordinates, no style of its own and no text but ticks: what colours it has
comes from the classes of its paths, so that it follows the page from light to dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import inf, isfinite, log2
from typing import Final, NamedTuple

from harness.report.record import Curve, Envelope, Histogram
from harness.report.trend import Series
from harness.report.words import number

WIDTH: Final = 512
HEIGHT: Final = 160
_TREND: Final = (240, 36)
#: Ticks of an axis of signed ulps; those within the range of a plot are shown.
_ULPS: Final = (0.5, 1.0, 2.0, 4.0, *(2.0**k for k in (4, 6, 8, 10, 16, 24, 53, 200, 1000)))
#: Units between ticks, so that their labels stand apart, on a phone too.
_APART: Final = 20


class Mark(NamedTuple):
    """A tick: where, and what it says."""

    at: int
    label: str


class Line(NamedTuple):
    """A path and its class."""

    name: str
    path: str


class Plot(NamedTuple):
    """A drawing: `title` is one line, `says` what there is to see, for who cannot."""

    title: str
    says: str
    width: int
    height: int
    lines: tuple[Line, ...]
    x_marks: tuple[Mark, ...] = ()
    y_marks: tuple[Mark, ...] = ()


def envelope_plot(envelope: Envelope) -> Plot:
    """The least and the greatest error of each step, and lines at half an ulp."""
    ends = [each for each in (*envelope.lowest, *envelope.highest) if each is not None]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    scale = _UlpScale(max(abs(low), abs(high), 1.0))
    count = len(envelope.lowest)
    edges = [round(WIDTH * i / count) for i in range(count + 1)]
    bands = "".join(_bands(envelope, edges, scale))
    half = "".join(f"M0,{scale.at(each)}H{WIDTH}" for each in (0.5, -0.5))
    how = f"{'sampled' if envelope.sampled else 'every number'}, {envelope.points:,} numbers"
    return Plot(
        f"{envelope.quantity}, {envelope.region} ({how})",
        f"Signed error in ulps along the ordinals of x: from {_signed(low)} to {_signed(high)}.",
        WIDTH,
        HEIGHT,
        (Line("zero", f"M0,{scale.at(0)}H{WIDTH}"), Line("half", half), Line("band", bands)),
        tuple(Mark(round(WIDTH * tick.at), tick.label) for tick in envelope.ticks),
        scale.marks(),
    )


def _bands(envelope: Envelope, edges: Sequence[int], scale: _UlpScale) -> Iterator[str]:
    """Filled steps, those alike joined; where no error has a size there is a gap."""
    pieces = [
        None if low is None or high is None else (scale.at(high), scale.at(low))
        for low, high in zip(envelope.lowest, envelope.highest, strict=True)
    ]
    start = 0
    for index in range(1, len(pieces) + 1):
        if index < len(pieces) and pieces[index] == pieces[start]:
            continue
        piece = pieces[start]
        if piece is not None:
            top, bottom = piece
            # One unit high at least, or what is exact would not be seen.
            width, height = edges[index] - edges[start], max(bottom - top, 1)
            yield f"M{edges[start]},{top}h{width}v{height}h-{width}z"
        start = index


class _UlpScale:
    """Signed ulps on a scale that is linear up to half an ulp and logarithmic beyond."""

    def __init__(self, largest: float) -> None:
        self._largest = largest
        self._top = self._bent(largest)

    def at(self, ulps: float) -> int:
        bent = self._bent(abs(ulps)) / self._top
        return round(HEIGHT / 2 * (1 - (bent if ulps >= 0 else -bent) * 0.95))

    def marks(self) -> tuple[Mark, ...]:
        chosen = [0.0]
        for each in _ULPS:
            if each <= self._largest and self.at(chosen[-1]) - self.at(each) >= _APART:
                chosen.append(each)
        sides = [*(-each for each in reversed(chosen[1:])), *chosen]
        return tuple(Mark(self.at(each), _signed(each)) for each in sides)

    @staticmethod
    def _bent(size: float) -> float:
        return size if size <= 0.5 else min(0.5 * (1 + log2(2 * min(size, 1e308 / 2))), 1100.0)


def _signed(ulps: float) -> str:
    if ulps == 0:
        return "0"
    size = abs(ulps)
    text = f"2^{log2(size):.0f}" if size > 4096 and isfinite(size) else f"{size:.4g}"
    return f"{'-' if ulps < 0 else '+'}{text}"


def curve_plot(curve: Curve) -> Plot:
    """The exact curve, and the computed one on top."""
    left, right = curve.x[0], curve.x[-1]
    values = [each for each in (*curve.rounded, *curve.computed) if each is not None]
    low, high = min([0.0, *values]), max([1.0, *values])

    def path(points: Iterable[float | None]) -> str:
        parts, pen = [], "M"
        for x, y in zip(curve.x, points, strict=True):
            if y is None:
                pen = "M"
                continue
            across = round(WIDTH * (x - left) / (right - left))
            parts.append(f"{pen}{across},{round(HEIGHT * (0.95 - 0.9 * (y - low) / (high - low)))}")
            pen = "L"
        return "".join(parts)

    def height(y: float) -> int:
        return round(HEIGHT * (0.95 - 0.9 * (y - low) / (high - low)))

    def across(x: float) -> int:
        return round(WIDTH * (x - left) / (right - left))

    lost = sum(each is None for each in curve.computed)
    name = "tanh" if curve.quantity == "output" else "its derivative"
    return Plot(
        f"{curve.quantity}: {name}, exact and computed",
        f"{name}, exact and as computed, from {left:g} to {right:g}; computed values go from "
        f"{min(values, default=0):.3g} to {max(values, default=0):.3g}"
        + (f"; {lost} are not finite." if lost else "."),
        WIDTH,
        HEIGHT,
        (
            Line("zero", f"M0,{height(0)}H{WIDTH}"),
            Line("exact", path(curve.rounded)),
            Line("computed", path(curve.computed)),
        ),
        tuple(Mark(across(x), f"{x:g}") for x in (left, left / 2, 0.0, right / 2, right)),
        tuple(Mark(height(y), f"{y:.3g}") for y in dict.fromkeys([low, 0.0, high])),
    )


def histogram_plot(histogram: Histogram) -> Plot:
    """How many errors lie between which edges, on a scale of powers of ten."""
    counts = histogram.counts
    shown = [index for index, count in enumerate(counts) if count]
    first, last = (shown[0], shown[-1]) if shown else (0, len(counts) - 1)
    first, last = min(first, len(counts) // 2 - 1), max(last, len(counts) // 2 + 1)
    bars = last - first + 1
    most = log2(max(counts, default=0) + 1) or 1.0
    edges = [round(WIDTH * i / bars) for i in range(bars + 1)]
    path = []
    for place, count in enumerate(counts[first : last + 1]):
        if count:
            height = max(2, round(HEIGHT * 0.95 * log2(count + 1) / most))
            width = max(edges[place + 1] - edges[place] - 2, 1)
            path.append(f"M{edges[place] + 1},{HEIGHT}v-{height}h{width}v{height}z")
    marks = [
        Mark(edges[place + 1], _signed(histogram.edges[first + place])) for place in range(bars - 1)
    ]
    step = max(1, -(-len(marks) // 8))
    total = sum(counts)
    return Plot(
        f"{histogram.quantity}, {histogram.look}: errors by size",
        f"{total:,} errors in ulps, on a logarithmic scale of counts; most are in "
        f"{max(counts, default=0):,} of one bin.",
        WIDTH,
        HEIGHT,
        (Line("bar", "".join(path)),),
        tuple(marks[::step]),
        (Mark(round(HEIGHT * 0.05), f"{max(counts, default=0):,}"), Mark(HEIGHT, "0")),
    )


def trend_plot(series: Series, nights: int) -> Plot:
    """The worst error over the nights, as steps, with a mark at every change."""
    width, height = _TREND
    sizes = [span.figure.max_ulp for span in series.spans]
    known = [each for each in sizes if each is not None]
    top = max(known, default=1.0) or 1.0
    low = min(known, default=0.0)

    def across(place: int) -> int:
        return round(width * place / max(nights, 1))

    def level(size: float | None) -> int:
        share = 1.0 if size is None else _share(size, low, top)
        return round(height * (0.9 - 0.8 * share))

    steps, dots = [], []
    for index, span in enumerate(series.spans):
        left, right = across(span.start), max(across(span.stop + 1), across(span.start) + 1)
        steps.append(f"M{left},{level(sizes[index])}H{right}")
        if index:
            at = level(sizes[index])
            dots.append(f"M{left - 2},{at - 3}h5v6h-5z")
    words = f"{number(known[0])}" if known else "none"
    if len(series.spans) > 1:
        words = f"{len(series.changes)} changes, from {words} to {number(sizes[-1])}"
    return Plot(
        f"{series.quantity} over {nights} nights",
        f"Worst error in ulps over {nights} nights: {words}.",
        width,
        height,
        (Line("step", _shortest(steps)), Line("dot", _shortest(dots))),
    )


def _shortest(parts: Sequence[str]) -> str:
    """Parts of a path, each once: many fall on one place where there are more than it has room."""
    return "".join(dict.fromkeys(parts))


def _share(size: float, low: float, top: float) -> float:
    if top == low or not isfinite(top - low):
        return 0.5 if top == low else min(1.0, size / top if top != inf else 1.0)
    return (size - low) / (top - low)


_STYLE: Final = (
    "path{fill:none;stroke:#555}.band,.bar,.dot{fill:#2563a8;stroke:#2563a8}"
    ".exact{stroke:#888;stroke-width:5;stroke-opacity:.5}.computed{stroke:#b3261e}"
    ".half{stroke-dasharray:4 4}text{font:11px sans-serif;fill:#555}"
)


def svg_file(plot: Plot) -> str:
    """A drawing as a file of its own, with its marks written beside it."""
    left, below = 70, 20
    size = f"{plot.width + left + 10} {plot.height + below + 24}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">',
        f"<title>{escape(plot.title)}</title><desc>{escape(plot.says)}</desc>",
        f"<style>{_STYLE}</style>",
        f'<text x="{left}" y="12">{escape(plot.title)}</text>',
        f'<g transform="translate({left} 18)">',
        *(f'<path class="{line.name}" d="{line.path}"/>' for line in plot.lines),
        *(
            f'<text x="{mark.at}" y="{plot.height + 16}" text-anchor="middle">'
            f"{escape(mark.label)}</text>"
            for mark in plot.x_marks
        ),
        *(
            f'<text x="-4" y="{mark.at + 4}" text-anchor="end">{escape(mark.label)}</text>'
            for mark in plot.y_marks
        ),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"
