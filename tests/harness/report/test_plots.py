"""Plots: paths stand for their data, within their frame, whatever the data."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.nights import nights_of
from harness.report.plots import (
    HEIGHT,
    WIDTH,
    Plot,
    curve_plot,
    envelope_plot,
    histogram_plot,
    svg_file,
    trend_plot,
)
from harness.report.record import Curve, Envelope, Histogram, Tick
from harness.report.trend import trends
from tests.harness.report.made import details, figure, row, run

ulps = st.none() | st.floats(-1.7e308, 1.7e308) | st.sampled_from([0.0, 0.5, -0.5, 1.0, 5e-324])


def envelope(lowest: list[float | None], highest: list[float | None]) -> Envelope:
    return Envelope(
        quantity="output",
        region="every float",
        sampled=False,
        points=len(lowest),
        lowest=tuple(lowest),
        highest=tuple(highest),
        ticks=(Tick(0.5, "0"),),
    )


def path(plot: Plot, name: str) -> str:
    (found,) = [line.path for line in plot.lines if line.name == name]
    return found


def check(plot: Plot) -> None:
    """A file of it is XML, and what it draws from has whole coordinates within reach."""
    ElementTree.fromstring(svg_file(plot))
    for line in plot.lines:
        assert re.fullmatch(r"[MLHVhvz\d,-]*", line.path)
        for number in re.findall(r"-?\d+", line.path):
            assert -WIDTH <= int(number) <= max(WIDTH, HEIGHT) + 2
    for mark in plot.y_marks:
        assert 0 <= mark.at <= plot.height


def test_an_envelope_is_a_box_for_each_step() -> None:
    """From the least to the greatest error, higher up for greater ones; alike ones are joined."""
    plot = envelope_plot(envelope([-0.5, -0.5, None, -1.0], [0.5, 0.5, None, 0.0]))
    check(plot)
    boxes = re.findall(r"M(\d+),(\d+)h(\d+)v(\d+)h-\d+z", path(plot, "band"))
    (left, top, width, height), other = [tuple(map(int, box)) for box in boxes]
    assert (0, WIDTH // 2) == (left, width)
    assert abs(top + height / 2 - HEIGHT / 2) <= 1
    assert (WIDTH * 3 // 4, HEIGHT // 2) == other[:2]
    assert other[1] + other[3] > top + height


def test_an_envelope_of_exact_results_can_be_seen() -> None:
    """A line at zero, one unit high."""
    plot = envelope_plot(envelope([0.0] * 9, [0.0] * 9))
    assert f"M0,{HEIGHT // 2}h{WIDTH}v1h-{WIDTH}z" == path(plot, "band")


@given(st.lists(st.tuples(ulps, ulps), min_size=1, max_size=20))
def test_any_envelope_can_be_drawn(pairs: list[tuple[float | None, float | None]]) -> None:
    """Nothing, subnormal numbers and the largest among its errors."""
    sized = [(a, b) if a is None or b is None or a <= b else (b, a) for a, b in pairs]
    plot = envelope_plot(envelope([a for a, _ in sized], [b for _, b in sized]))
    check(plot)
    marks = sorted(mark.at for mark in plot.y_marks)
    assert all(b - a >= 19 for a, b in pairwise(marks))


def test_a_curve_has_a_gap_where_it_is_not_finite() -> None:
    """And is said to have one."""
    plot = curve_plot(
        Curve(
            quantity="output",
            x=(-1.0, 0.0, 1.0),
            computed=(0.0, None, 1.0),
            rounded=(0.0, 0.5, 1.0),
        )
    )
    check(plot)
    assert 2 == path(plot, "computed").count("M")
    assert 1 == path(plot, "exact").count("M")
    assert "1 are not finite" in plot.says


@given(st.lists(st.integers(0, 10**12), min_size=33, max_size=33))
def test_any_histogram_can_be_drawn(counts: list[int]) -> None:
    """A bar for each bin that has an error, and none for others."""
    edges = tuple(float(k) for k in range(-16, 16))
    plot = histogram_plot(
        Histogram(quantity="output", look="sweep", edges=edges, counts=tuple(counts))
    )
    check(plot)
    assert sum(map(bool, counts)) == path(plot, "bar").count("M")


@given(st.lists(st.none() | st.floats(0, inf), min_size=1, max_size=30))
def test_any_trend_can_be_drawn(sizes: list[float | None]) -> None:
    """A step for each span, a dot for each change but those that fall on one place."""
    runs = [
        run([row([figure(max_ulp=size)])], night=f"n{k}", started=float(k))
        for k, size in enumerate(sizes)
    ]
    (series,) = trends(nights_of(runs))
    plot = trend_plot(series, len(sizes))
    check(plot)
    assert len(series.spans) == path(plot, "step").count("M")
    assert len(series.changes) == path(plot, "dot").count("M")


def test_a_file_of_a_plot_is_inert() -> None:
    """Its title may be what a subject is called."""
    made = details().envelopes[0]
    plot = envelope_plot(
        Envelope(
            **{name: getattr(made, name) for name in made.__struct_fields__ if name != "region"},
            region="<script>alert(1)</script>",
        )
    )
    root = ElementTree.fromstring(svg_file(plot))
    assert "<script>" in root[0].text
    assert not [each for each in root.iter() if each.tag.endswith("script")]


@pytest.mark.parametrize("largest", [0.3, 0.5, 1.0, 3.0, 2.0**24, 1.7e308])
def test_half_an_ulp_is_always_marked_where_it_can_be(largest: float) -> None:
    """The line that tells a correct result stands in every plot."""
    plot = envelope_plot(envelope([-largest], [largest]))
    assert 2 == path(plot, "half").count("M")
    assert "0" in [mark.label for mark in plot.y_marks]
