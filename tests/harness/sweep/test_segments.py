"""Segments: a partition of all magnitudes with an edge wherever a format changes its behaviour."""

import itertools

import pytest

from harness.landmarks import landmarks
from harness.sweep.segments import segments_of_x, segments_of_y
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format

by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


@by_format
def test_segments_partition_all_magnitudes(format: Format) -> None:
    """From zero to the last NaN, without gap or overlap, none empty."""
    for segments in (segments_of_x(format).all, segments_of_y(format).all):
        assert 0 == segments[0].start
        assert 1 << format.width - 1 == segments[-1].stop
        assert all(segment.start < segment.stop for segment in segments)
        for lower, upper in itertools.pairwise(segments):
            assert lower.stop == upper.start


@by_format
def test_no_segment_of_normal_numbers_crosses_a_power_of_two(format: Format) -> None:
    """Within a segment the exponent is one."""
    infinity = format.to_bits(float("inf"))
    for segment in segments_of_x(format).all:
        if format.precision <= segment.start.bit_length() and segment.start < infinity:
            shift = format.precision - 1
            assert segment.start >> shift == segment.stop - 1 >> shift


@pytest.mark.parametrize(
    ("format", "threshold"),
    [
        (BFLOAT16, 3.46875),
        (BINARY16, 4.5078125),
        (BINARY32, 9.010913848876953),
        (BINARY64, 19.061547465398498),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_an_edge_lies_where_tanh_rounds_to_one(format: Format, threshold: float) -> None:
    """The thresholds are known, for instance binary16's 4.5078125."""
    starts = {segment.landmark: segment.start for segment in segments_of_x(format).all}
    assert threshold == format.from_bits(starts["tanh rounds to 1"])


@by_format
def test_every_landmark_is_an_edge(format: Format) -> None:
    """Those given as the last finite argument lie just below their edge."""
    starts = {segment.start for segment in segments_of_x(format).all}
    found = landmarks(format)
    assert {found.linear_below, found.saturating_from, found.one_from} <= starts
    assert {found.vanished_from, found.half_exp_overflow + 1, found.exp_overflow + 1} <= starts


def test_cut_gives_pieces_within_one_segment() -> None:
    """Pieces follow one another, each in the segment it names."""
    segments = segments_of_x(BINARY16)
    start, stop = 3, BINARY16.to_bits(8.0) + 17
    pieces = segments.cut(start, stop, 300)
    assert start == pieces[0][0] and stop == pieces[-1][1]
    for lower, upper, index in pieces:
        assert index == segments.index(lower) == segments.index(upper - 1)
        assert 0 < upper - lower <= 300
    for (_, end, _), (begin, _, _) in itertools.pairwise(pieces):
        assert end == begin


def test_segments_of_pairs_are_those_of_y() -> None:
    """Each holds all g of its y."""
    expected = [
        (segment.start << 15, segment.stop << 15) for segment in segments_of_y(BINARY16).all
    ]
    found = segments_of_y(BINARY16, 15).all
    assert expected == [(segment.start, segment.stop) for segment in found]
