"""Comparisons of two nights: what is other is named, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from harness.report.compare import Comparison, compare
from tests.harness.report.made import ENVIRONMENT, figure, night, row, with_ulps


def compared(before: dict[str, Any], after: dict[str, Any]) -> Comparison:
    return compare(night(row(**before)), night(row(**after), night="2026-01-02"))


def test_equal_nights_have_no_differences() -> None:
    """In one line of words."""
    found = compared({}, {})
    assert ((), 1) == (found.differences, found.same)
    assert ["2026-01-01 -> 2026-01-02", "1 figures are the same, 0 differences"] == list(
        found.lines()
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            {},
            {"passed": False, "failure": "graded wrong"},
            [("failed", "", ("graded wrong",))],
            id="it fails",
        ),
        pytest.param(
            {"passed": False, "failure": "graded wrong"},
            {},
            [("fixed", "", ("was: graded wrong",))],
            id="it passes again",
        ),
        pytest.param(
            {"observed_breaches": ("swap",)},
            {"broken_laws": ("layout",)},
            [
                ("worse", "", ("breaks the law layout",)),
                ("better", "", ("no longer breaks the law swap",)),
            ],
            id="other laws are broken",
        ),
        pytest.param(
            {},
            {"sample": "others", "figures": (figure(max_ulp=9.0),)},
            [("other inputs", "", ("100 cases (seed 1) -> others",))],
            id="other inputs have other errors",
        ),
        pytest.param(
            {},
            {"sample": "others", "figures": (figure(grade="wrong"),)},
            [
                ("worse", "output", ("grade faithful -> wrong",)),
                ("other inputs", "", ("100 cases (seed 1) -> others",)),
            ],
            id="a worse grade counts on other inputs too",
        ),
        pytest.param(
            {"figures": (figure("a"), figure("b"))},
            {"figures": (figure("b"), figure("c"))},
            [("gone", "a", ()), ("new", "c", ())],
            id="quantities come and go",
        ),
        pytest.param(
            {"subject": "a"},
            {"subject": "b"},
            [("gone", "", ()), ("new", "", ())],
            id="subjects come and go",
        ),
    ],
)
def test_a_difference_is_named(
    before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    """By its kind, the quantity that it is about and words; what matters most comes first."""
    found = compared(before, after).differences
    assert expected == [(each.kind, each.quantity, each.words) for each in found]


def test_a_worse_figure_is_a_line() -> None:
    """Subject, dtype, device, machine, look, quantity, and from what to what."""
    found = compare(night(row()), night(with_ulps(row(), 1.75), night="later"))
    (difference,) = found.differences
    expected = (
        "worse: torch-tanh float16 cpu (x86_64 AVX2), verify: output: worst error in ulps "
        "0.750 -> 1.750"
    )
    assert expected == difference.line


def test_what_else_changed_is_told_by_machine() -> None:
    """Versions, and the commit."""
    after = night(row(), environment={**ENVIRONMENT, "torch": "2.14.0"}, night="later")
    found = compare(night(row()), after)
    assert {"x86_64 AVX2": ("torch 2.13.0 -> 2.14.0",)} == found.environments
    assert "changed on x86_64 AVX2: torch 2.13.0 -> 2.14.0" in list(found.lines())
