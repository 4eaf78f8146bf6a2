"""Statistics: what they count, and that it does not matter in which order they are merged."""

from fractions import Fraction
from functools import reduce
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sweep.statistics import (
    BIN_EDGES,
    WORST,
    Statistics,
    faultless,
    largest_scaled_error,
    measure,
    worst_entries,
    worst_of,
)
from reference.certified.answers import Judgement
from reference.formats import BINARY32

errors = st.lists(
    st.floats(-1e4, 1e4) | st.sampled_from([0.0, -0.0, *BIN_EDGES, *(-e for e in BIN_EDGES), nan]),
    min_size=1,
    max_size=40,
)


def judged(ulps: list[float]) -> tuple[Judgement, np.ndarray]:
    """A judgement with these errors, of results that are 1 where the error is half an ulp or less,
    2 where it is larger, and NaN where it has no size."""
    array = np.array(ulps)
    wrong = ~(np.abs(array) <= 0.5)
    computed = np.where(wrong, 2.0, 1.0).astype(np.float32)
    computed[np.isnan(array)] = nan
    rounded = np.ones(array.size, np.float32)
    return Judgement(rounded, array, wrong, wrong & ~(np.abs(array) < 1), 0), computed


def statistics(ulps: list[float], first_key: int = 0) -> Statistics:
    judgement, computed = judged(ulps)
    return measure(judgement, computed, 0.0, first_key, 4)


def one(ulp: float) -> Statistics:
    return statistics([ulp])


def bin_of(error: float) -> int:
    """The index of an error's bin, by the definition: |error| in (lo, hi], the first for both."""
    level = sum(abs(error) > edge for edge in BIN_EDGES)
    middle = len(BIN_EDGES)
    return middle + level if error > 0 else middle - level


@given(errors)
def test_measure_counts_what_a_loop_would(ulps: list[float]) -> None:
    """Element by element, in plain Python."""
    found = statistics(ulps)
    sized = [(abs(error), -index) for index, error in enumerate(ulps) if error == error]
    counts = [0] * (2 * len(BIN_EDGES) + 1)
    for error in ulps:
        if error == error:
            counts[bin_of(error)] += 1
    largest, index = max(sized) if sized else (0.0, 0)
    unsized = [index for index, error in enumerate(ulps) if error != error]
    assert len(ulps) == found.points
    assert sum(not abs(error) <= 0.5 for error in ulps) == found.misrounded
    assert sum(not abs(error) < 1 for error in ulps) == found.unfaithful
    assert (largest, -4 * index if sized else -1) == (found.max_ulp, found.worst)
    total = sum(size for size, _ in sized)
    if sized and total < 2**50:
        assert pytest.approx(total / len(sized), rel=1e-12, abs=2**-13) == found.mean_ulp
    else:
        assert found.mean_ulp is None
    assert tuple(counts) == found.histogram
    assert len(unsized) == found.nonfinite_mismatch
    assert (4 * unsized[0] if unsized else -1) == found.first_nonfinite


@given(st.lists(errors, min_size=1, max_size=6), st.randoms())
def test_merging_pieces_in_any_order_gives_the_figures_of_the_whole(
    pieces: list[list[float]], random: object
) -> None:
    """Associative, commutative, and equal to measuring all at once."""
    whole = statistics([error for piece in pieces for error in piece])
    offsets = np.cumsum([0, *map(len, pieces)])
    parts = [
        statistics(piece, 4 * int(offset)) for piece, offset in zip(pieces, offsets, strict=False)
    ]
    while len(parts) > 1:
        random.shuffle(parts)  # type: ignore[attr-defined]
        parts.append(parts.pop().merge(parts.pop()))
    assert whole == parts[0]
    assert whole == Statistics().merge(whole) == whole.merge(Statistics())


@given(errors)
def test_mirroring_is_measuring_the_negated_errors(ulps: list[float]) -> None:
    """Keys on the other side, the histogram reversed."""
    judgement, computed = judged([-error for error in ulps])
    expected = measure(judgement, computed, 0.0, 1, 4)
    assert expected == statistics(ulps).mirrored(1, negated=True)
    assert statistics(ulps, 1) == statistics(ulps).mirrored(1, negated=False)


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=9))
def test_a_sum_of_errors_that_is_too_large_to_hold_is_not_told(ulps: list[float]) -> None:
    """It stops at the most that a record holds, whatever the order; below that it is exact."""
    exact = sum(round(Fraction(ulp) * 4096) for ulp in ulps)
    most = 2**63 - 1
    found = statistics(ulps)
    assert min(exact, most) == found.total == reduce(Statistics.merge, map(one, ulps)).total
    assert (found.mean_ulp is None) == (exact >= most)


@given(errors, errors)
def test_mirroring_distributes_over_merging(a: list[float], b: list[float]) -> None:
    """So that it may be left for the end."""
    left, right = statistics(a), statistics(b, 4 * len(a))
    expected = left.mirrored(1, negated=True).merge(right.mirrored(1, negated=True))
    assert expected == left.merge(right).mirrored(1, negated=True)


@given(st.lists(errors, min_size=1, max_size=6))
def test_the_worst_are_those_a_sort_would_give(pieces: list[list[float]]) -> None:
    """By size and then by key, though errors below the tenth so far are not looked at."""
    flat = [error for piece in pieces for error in piece]
    expected = sorted(
        (-abs(error), 4 * index) for index, error in enumerate(flat) if abs(error) > 0
    )[:WORST]
    found = ()
    offset = 0
    for piece in pieces:
        judgement, computed = judged(piece)
        least = found[-1].size if len(found) == WORST else 5e-324
        found = worst_of(found, worst_entries(judgement, computed, least, 4 * offset, 4))
        offset += len(piece)
    assert expected == [(-entry.size, entry.key) for entry in found]


@pytest.mark.parametrize(
    ("computed", "rounded", "nonfinite", "zeros"),
    [
        (nan, nan, 0, 0),
        (nan, 1.0, 1, 0),
        (1.0, nan, 1, 0),
        (inf, 1.0, 1, 0),
        (1.0, inf, 1, 0),
        (-1.0, -inf, 1, 0),
        (inf, inf, 0, 0),
        (0.0, -0.0, 0, 1),
        (-0.0, 0.0, 0, 1),
        (-0.0, -0.0, 0, 0),
        (0.0, 1.0, 0, 0),
    ],
)
def test_flaws_without_a_size_are_counted(
    computed: float, rounded: float, nonfinite: int, zeros: int
) -> None:
    """NaN and infinity on one side only, zeros of the wrong sign; payloads of NaN do not count."""
    wrong = not (computed == rounded or (computed != computed and rounded != rounded))
    both_finite = abs(computed) < inf and abs(rounded) < inf
    judgement = Judgement(
        np.array([1.0, rounded], np.float32),
        np.array([0.0, computed - rounded if both_finite else nan]),
        np.array([False, wrong]),
        np.array([False, wrong]),
        0,
    )
    found = measure(judgement, np.array([1.0, computed], np.float32), 0.0, 0, 4)
    assert (nonfinite, zeros) == (found.nonfinite_mismatch, found.zero_sign_mismatch)


@given(
    st.lists(
        st.tuples(
            st.integers(-(10**7), 10**7).map(lambda n: n / 1000),
            st.floats(2.0**-140, 1.0, width=32),
        ),
        min_size=1,
    )
)
def test_no_scaled_error_exceeds_its_bound(pairs: list[tuple[float, float]]) -> None:
    """|computed - exact| / u for any exact value that rounds as given."""
    ulps = np.array([pair[0] for pair in pairs])
    rounded = np.array([pair[1] for pair in pairs], np.float32)
    bound = largest_scaled_error(ulps, rounded, BINARY32)
    ulp = np.exp2(np.maximum(np.floor(np.log2(rounded.astype(np.float64))), -126) - 23)
    assert (np.abs(ulps) * ulp / 2.0**-24).max() <= bound


def test_merge_of_nothing_is_the_unit() -> None:
    """No points, no worst input."""
    nothing = reduce(Statistics.merge, [], Statistics())
    assert (0, -1, 0.0) == (nothing.points, nothing.worst, nothing.max_ulp)


def test_equally_bad_inputs_found_later_but_lying_before_take_their_place() -> None:
    """Of equally bad inputs those with the smallest keys are kept, whoever was found first."""
    judgement, computed = judged([1.0] * (WORST + 2))
    found = worst_entries(judgement, computed, 5e-324, 1, 4)
    found = worst_of(found, worst_entries(judgement, computed, found[-1].size, 0, 4))
    assert list(range(0, 4 * WORST // 2, 4)) == [entry.key for entry in found][::2]
    assert list(range(1, 4 * WORST // 2, 4)) == [entry.key for entry in found][1::2]


@pytest.mark.parametrize("count", [1, 300])
def test_faultless_results_are_measured_without_looking(count: int) -> None:
    """As results with errors of 0 are."""
    assert statistics([0.0] * count, 40) == faultless(count, 40)


@pytest.mark.parametrize("size", [255, 256, 2600], ids=["no groups", "groups of 1", "and a rest"])
def test_the_worst_of_many_are_those_a_sort_would_give(size: int) -> None:
    """With many equal ones and some without a size, where groups are looked at first."""
    rng = np.random.default_rng(1)
    for step in (0.5, 1e-9):
        ulps = np.floor(rng.uniform(-30, 30, size) / step) * step
        ulps[rng.integers(0, size, 20)] = nan
        sized = [(abs(error), index) for index, error in enumerate(ulps) if error == error]
        expected = sorted(sized, key=lambda pair: (-pair[0], pair[1]))[:WORST]
        found = worst_entries(*judged(ulps.tolist()), 5e-324, 0, 4)
        assert expected == [(entry.size, entry.key // 4) for entry in found]


def test_a_whole_piece_without_sizes_has_no_worst() -> None:
    """All NaN, enough for groups."""
    assert () == worst_entries(*judged([nan] * 600), 5e-324, 0, 4)


def test_flaws_are_found_among_many_results() -> None:
    """A NaN, an infinity and zeros of the wrong sign between sound numbers of either sign."""
    computed = np.array([1.0, nan, -1.0, inf, -0.0, 0.0, 2.0, -inf, 1.0], np.float32)
    rounded = np.array([1.0, 1.0, -1.0, 1.0, 0.0, 0.0, 1.0, -inf, nan], np.float32)
    wrong = (computed != rounded) & ~(np.isnan(computed) & np.isnan(rounded))
    ulps = np.where(np.isnan(computed) | np.isnan(rounded), nan, 0.0)
    found = measure(Judgement(rounded, ulps, wrong, wrong, 0), computed, 0.0, 100, 4)
    assert (4, 3, 104) == (found.misrounded, found.nonfinite_mismatch, found.first_nonfinite)
    assert 1 == found.zero_sign_mismatch
