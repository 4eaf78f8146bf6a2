"""Verdicts as a table, and the progress bar."""

from __future__ import annotations

import io
import math
import re
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.grade import Grade
from harness.subjects import builtin_subjects
from harness.table import law_table, second_order_table, subject_table, verdict_table
from harness.terminal import progress, short, table_text
from harness.verdict import LawVerdict, QuantityVerdict, Verdict, Verification
from tests.harness.test_verdict import CASE, PASSING, TWICE, WRONG, broken, verdict


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def cells(text: str) -> list[list[str]]:
    """The rows of a table, the head first."""
    rows = [line for line in text.splitlines() if set(line) & set("│┃")]
    return [[cell.strip() for cell in re.split("[│┃]", row)] for row in rows]


FULL = verdict(
    Grade.TEXTBOOK,
    quantities={
        name: QuantityVerdict(Grade.TEXTBOOK, ulps, ratio, mismatch, CASE)
        for name, ulps, ratio, mismatch in (
            ("output", 0.5, 0.25, 0),
            ("input_gradient", 1234.5678, 0.75, 0),
            ("weight_gradient", 1.7e38, 0.96, 2),
            ("bias_gradient", 0.0, 0.5, 0),
        )
    },
)


def test_a_row_of_the_second_order() -> None:
    """Of the verdicts that have one, with the grade that was required, if any."""
    quantities = dict.fromkeys("abc", TWICE.quantities["bias_hessian_product"])
    twice = replace(TWICE, quantities=quantities)
    verdicts = (
        verdict(second_order=twice),
        verdict(second_order=replace(twice, grade=None)),
        verdict(second_order=replace(twice, required=None)),
        PASSING,
    )
    head, one, other = cells(
        table_text(second_order_table(Verification({}, verdicts)), io.StringIO())
    )
    figures = ["given", "float32", "cpu", "wrong", "textbook", *["9.500!"] * 3, "4.000", "5", "1"]
    assert figures == one
    assert [*figures[:4], "-", *figures[5:]] == other
    assert ["second order of", "Hx ulps"] == [head[0], head[5]]


def test_a_row_says_it_all() -> None:
    """Each figure beneath its head; errors without a size are marked."""
    head, row = cells(table_text(verdict_table(Verification({}, (FULL,))), io.StringIO()))
    assert {
        "subject": "given",
        "dtype": "float32",
        "device": "cpu",
        "grade": "textbook",
        "required": "textbook",
        "y ulps": "0.500",
        "dx ulps": "1234.6",
        "dw ulps": "1.70e+38!",
        "d ulps": "0",
        "ratio": "0.960",
        "cases": "13",
        "unjudged": "2",
        "seconds": "0.5",
    } == dict(zip(head, row, strict=True))


def test_quantities_that_were_not_judged_have_no_figure() -> None:
    """A dash; so has a quantity that the kind does not have."""
    _, row = cells(table_text(verdict_table(Verification({}, (verdict(None),))), io.StringIO()))
    assert ["none", "textbook", "-", "-", "-", "-"] == row[3:9]


LAWS = (
    LawVerdict("layout", True, required=True, checked=10),
    broken("lanes", required=False),
    LawVerdict("swap", True, applies=False, required=False),
)


def law_rows(*verdicts: Verdict) -> list[list[str]]:
    """The rows of the table of laws, without its head."""
    return cells(table_text(law_table(Verification({}, verdicts)), io.StringIO()))[1:]


def test_laws_are_counted_over_the_verdicts() -> None:
    """Held, broken, does not apply, and the cases in which each was checked."""
    other = verdict(dtype="float64", laws=LAWS)
    assert [
        ["layout", "required", "2", "0", "0", "20", ""],
        ["lanes", "observed", "0", "2", "0", "10", "given float32, float64"],
        ["swap", "observed", "0", "0", "2", "0", ""],
    ] == law_rows(verdict(laws=LAWS), other)


def test_a_law_required_of_some() -> None:
    """As one is of built-in subjects only; one never checked did not hold."""
    mixed = [
        verdict(laws=(LawVerdict("mismatch-raises", True, required=each),))
        for each in (True, False)
    ]
    assert [["mismatch-raises", "both", "0", "0", "0", "0", ""]] == law_rows(*mixed)


def test_no_verdict_has_no_law() -> None:
    """As after an interruption."""
    assert [] == law_rows()


def test_rows_are_neither_folded_nor_cut() -> None:
    """However long the subject's name, off a terminal, on a narrow one, or with COLUMNS."""
    name = "a/very/long/path/" * 12 + "neuron.py:Layer.forward"
    table = verdict_table(Verification({}, (verdict(subject=name), FULL)))
    for stream in (io.StringIO(), Terminal()):
        rows = cells(re.sub(r"\x1b\[[\d;]*m", "", table_text(table, stream)))
        assert 3 == len(rows)
        assert name == rows[1][0]
        assert "1.70e+38!" == rows[2][7]
        assert 13 == len(rows[2])


def test_the_usual_row_fits_a_log() -> None:
    """150 columns hold a built-in subject's row."""
    text = table_text(verdict_table(Verification({}, (FULL,))), io.StringIO())
    assert max(map(len, text.splitlines())) <= 150


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Green and red there; no escape code off it, nor with NO_COLOR."""
    table = verdict_table(Verification({}, (PASSING, WRONG)))
    coloured = table_text(table, Terminal())
    assert "\x1b[32mstable" in coloured
    assert "\x1b[31mwrong" in coloured
    assert "\x1b" not in table_text(table, io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in table_text(table, Terminal())
    monkeypatch.setenv("NO_COLOR", "")  # by the convention, empty is as unset
    assert "\x1b" in table_text(table, Terminal())


def test_text_of_subjects_is_no_markup() -> None:
    """A name with brackets is printed as it is."""
    table = verdict_table(Verification({}, (verdict(subject="[red]x[/red]"),)))
    assert "[red]x[/red]" in table_text(table, io.StringIO())


def test_subjects_and_what_they_are_known_for() -> None:
    """One row for each built-in subject and dtype; the reason is folded, not lost."""
    text = table_text(subject_table(builtin_subjects()), io.StringIO(), fold=True)
    assert max(map(len, text.splitlines())) <= 150
    rows = cells(text)
    stated = [(s, dtype) for s in builtin_subjects() for dtype in s.stated]
    first = [row for row in rows[1:] if row[2]]
    assert [(dtype, str(s.stated[dtype].grade)) for s, dtype in stated] == [
        (row[2], row[3]) for row in first
    ]
    words = " ".join(row[4] for row in rows[1:]).split()
    assert " ".join(s.stated[dtype].reason for s, dtype in stated).split() == words


@given(st.floats(0, 1e300))
def test_short_never_rounds_down(value: float) -> None:
    """A ratio of 1.0001 must not read 1.000; and it is not rounded up by more than a step."""
    text = short(value)
    assert len(text) <= 9
    assert value <= float(text)
    assert float(text) <= value * 1.011 + 0.0011


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1e-300, "0.001"),
        (0.5, "0.500"),
        (1.0, "1.000"),
        (math.nextafter(1.0, 2.0), "1.001"),
        (99.9999, "100.000"),
        (100.0, "100.0"),
        (99999.99, "100000.0"),
        (1e5, "1.00e+05"),
        (9.999e9, "1.00e+10"),
        (1.234e38, "1.24e+38"),
        (sys.float_info.max, "1.80e+308"),
    ],
)
def test_short(value: float, text: str) -> None:
    """Three decimals, fewer for large figures, then powers of ten."""
    assert text == short(value)


def test_progress_off_a_terminal_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Not a byte."""
    with progress(3) as bar:
        bar.plan("given float32 cpu")
        bar.case()
    assert ("", "") == capsys.readouterr()


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan's name and the cases done of all, on standard error; gone at the end."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(3) as bar:
        bar.plan("given float32 cpu")
        for _ in range(2):
            bar.case()
    text = terminal.getvalue()
    assert "given float32 cpu" in text
    assert "2/3" in text
    assert text.endswith(("\x1b[2K", "\x1b[1A\x1b[2K", "\x1b[?25h")), repr(text[-40:])
