"""Trends: every step is found, nothing else is, and what had changed stands beside it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.report.nights import nights_of
from harness.report.trend import OTHER_INPUTS, Series, trends
from tests.harness.report.made import ENVIRONMENT, figure, row, run


def series_of(*ulps: float | None, samples: tuple[str, ...] = ()) -> Series:
    """The trend of one figure, None for a night that did not measure it."""
    runs = []
    for number, each in enumerate(ulps):
        sample = samples[number] if samples else "the same"
        found = row([figure(max_ulp=each)], sample=sample) if each is not None else row(look="hunt")
        environment = {**ENVIRONMENT, "torch": f"2.{number // 3}"}
        runs.append(
            run([found], night=f"n{number}", started=float(number), environment=environment)
        )
    return trends(nights_of(runs))[0]


def test_a_figure_that_stays_the_same_is_one_span() -> None:
    """Without a change point."""
    found = series_of(0.5, 0.5, 0.5)
    assert () == found.changes
    (span,) = found.spans
    assert ("n0", "n2", 3, 0, 2) == (span.first, span.last, span.nights, span.start, span.stop)


def test_a_step_is_a_change_point_with_what_changed_that_night() -> None:
    """Worse and back, the night named, and the release that came with it."""
    found = series_of(0.5, 0.5, 0.5, 1.5, 1.5, 0.5)
    assert [("n3", "worse"), ("n5", "better")] == [(c.night, c.change) for c in found.changes]
    assert ("torch 2.0 -> 2.1",) == found.changes[0].dependencies
    assert () == found.changes[1].dependencies
    assert [3, 2, 1] == [span.nights for span in found.spans]


def test_small_steps_do_not_add_up_unseen() -> None:
    """Each is less than can be told from the night before, but not from the first."""
    found = series_of(*(0.5 + 0.004 * k for k in range(12)))
    assert 3 == len(found.changes)
    assert {"worse"} == {change.change for change in found.changes}


def test_nights_that_did_not_measure_it_are_no_change() -> None:
    """A span goes on over them; what changed since the night before is told from that."""
    found = series_of(0.5, None, None, 0.5, None, 1.5)
    assert 2 == len(found.spans)
    assert (0, 3, 2) == (found.spans[0].start, found.spans[0].stop, found.spans[0].nights)
    (change,) = found.changes
    assert ("n5", ()) == (change.night, change.dependencies)


def test_other_inputs_are_a_change_of_their_own_kind() -> None:
    """Their figures cannot be compared, whatever they are."""
    found = series_of(0.5, 9.0, samples=("seed 1", "seed 2"))
    (change,) = found.changes
    assert (OTHER_INPUTS, ("seed 1 -> seed 2",)) == (change.change, change.words)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_change_points_are_just_where_neighbours_differ(levels: list[int]) -> None:
    """Against a loop over the nights."""
    found = series_of(*(1.0 + level for level in levels))
    expected = [f"n{i}" for i in range(1, len(levels)) if levels[i] != levels[i - 1]]
    assert expected == [change.night for change in found.changes]
    assert len(levels) == sum(span.nights for span in found.spans)


def test_every_figure_has_a_trend() -> None:
    """By subject, dtype, device, machine, look and quantity."""
    rows = [row(), row(dtype="float32"), row(machine="other"), row(look="sweep")]
    rows.append(row([figure("output"), figure("bias_gradient")], subject="two"))
    assert 6 == len(trends(nights_of([run(rows)])))
