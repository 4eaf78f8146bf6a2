"""Counts of what was caught and flagged, of what could be judged."""

from __future__ import annotations

from harness.selftest.tally import Count, cell, false_alarms, flagged_by, named, totals
from tests.harness.selftest.made_up import GOOD, PASSED, selftest, trial


def test_a_count_is_of_what_could_be_judged() -> None:
    """Nothing judged is no 0 of 0."""
    assert ["2/3", "n/a"] == [str(Count(2, 3)), str(Count(0, 0))]


def test_totals_are_by_group_and_dtype() -> None:
    """Sound subjects are not among them."""
    rows = {name: [str(each) for each in counts[:3]] for name, counts in totals(GOOD).items()}
    assert {
        "calculus": ["2/2", "2/2", "n/a"],
        "structure": ["1/1", "0/1", "n/a"],
        "all groups": ["3/3", "2/3", "n/a"],
        "float32": ["2/2", "1/2", "n/a"],
        "float64": ["1/1", "1/1", "n/a"],
        "faults, in all their dtypes": ["2/2", "1/2", "n/a"],
    } == rows


def test_a_fault_missed_in_one_dtype_is_not_caught_whole() -> None:
    """Though it is caught in another."""
    found = selftest(GOOD.trials[0], trial("wrong-sign", "float64", PASSED))
    assert "0/1" == str(totals(found)["faults, in all their dtypes"][0])


def test_false_alarms_are_of_sound_subjects() -> None:
    """By dtype, and who they are."""
    rows = {name: [str(each) for each in counts[:3]] for name, counts in false_alarms(GOOD).items()}
    assert {
        "float32": ["0/1", "1/1", "n/a"],
        "float64": ["0/1", "0/1", "n/a"],
        "all dtypes": ["0/2", "1/2", "n/a"],
    } == rows
    assert ["dot (float32: jacobian)"] == flagged_by("gradcheck", GOOD)
    assert [] == flagged_by("harness", GOOD)


def test_no_faults_no_totals() -> None:
    """Nor false alarms without sound subjects."""
    assert {} == totals(selftest(GOOD.trials[3]))
    assert {} == false_alarms(selftest(GOOD.trials[0]))


def test_a_cell_says_how() -> None:
    """Each way once."""
    wrong_sign, sets_threads = GOOD.faults
    assert "2/2 grade" == cell("harness", GOOD.of(wrong_sign))
    assert "1/1 global-state, layout" == cell("harness", GOOD.of(sets_threads))
    assert "0/1" == cell("gradcheck", GOOD.of(sets_threads))
    assert "n/a" == cell("assert_close", GOOD.of(sets_threads))


def test_trials_are_named_once_a_subject() -> None:
    """With all their dtypes."""
    assert ["wrong-sign float32, float64", "dot float32"] == named(
        [*GOOD.trials[:2], GOOD.trials[3]]
    )
