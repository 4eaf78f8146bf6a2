"""A self-test as tables, and the lines below them."""

from __future__ import annotations

import sys

from rich.table import Table

from harness.selftest.table import alarm_table, closing_lines, fault_table, totals_table
from harness.terminal import table_text
from tests.harness.selftest.made_up import CAUGHT, GOOD, PASSED, selftest, trial


def _rows(table: Table) -> list[list[str]]:
    lines = table_text(table, sys.stdout).splitlines()
    return [[each.strip() for each in line.split("│")] for line in lines[2:]]


def test_one_line_a_fault() -> None:
    """Sound subjects have none."""
    assert [
        ["wrong-sign", "calculus", "2/2 grade", "2/2 grade", "n/a", "n/a", "n/a"],
        ["sets-threads", "structure", "1/1 global-state, layout", "0/1", "n/a", "n/a", "n/a"],
    ] == _rows(fault_table(GOOD))


def test_totals_and_false_alarms_have_tables() -> None:
    """One column a contestant."""
    assert ["all groups", "3/3", "2/3", "n/a", "n/a", "n/a"] in _rows(totals_table(GOOD))
    assert ["all dtypes", "0/2", "1/2", "n/a", "n/a", "n/a"] in _rows(alarm_table(GOOD))


def test_closing_lines_name_what_is_not_as_it_should_be() -> None:
    """And whose false alarms they are."""
    assert [
        "gradcheck flags dot (float32: jacobian)",
        "3 of 3 faults caught, 0 of 2 sound subjects flagged, each counted in every dtype; 500 "
        "examples, rivals had 2 s each; seed 1",
    ] == closing_lines(GOOD)
    bad = selftest(
        trial("wrong-sign", "float32", PASSED),
        trial("wrong-sign", "float64", PASSED),
        trial("dot", "float32", CAUGHT),
        stopped="interrupted",
    )
    assert [
        "harness flags dot (float32: grade)",
        "MISSED: wrong-sign float32, float64",
        "FALSE ALARM: dot float32",
        "stopped: interrupted; what was complete is shown",
    ] == closing_lines(bad)[:-1]
