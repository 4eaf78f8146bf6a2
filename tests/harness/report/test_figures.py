"""Figures: what is the same, what is worse, and in words by how much."""

from __future__ import annotations

from typing import Any

import pytest

from harness.report.figures import RESOLUTION, Change, changes, grade_change
from tests.harness.report.made import figure


@pytest.mark.parametrize(
    ("before", "after", "expected", "words"),
    [
        pytest.param({}, {}, Change.SAME, (), id="nothing differs"),
        pytest.param(
            {"max_ulp": 0.5},
            {"max_ulp": 0.5 + RESOLUTION / 2},
            Change.SAME,
            (),
            id="what cannot be told is the same",
        ),
        pytest.param(
            {"max_ulp": 0.5},
            {"max_ulp": 0.52},
            Change.WORSE,
            ("worst error in ulps 0.500 -> 0.520",),
            id="two hundredths of an ulp more is worse",
        ),
        pytest.param(
            {"max_ulp": 1e44},
            {"max_ulp": 1e44 * (1 + 1e-12)},
            Change.SAME,
            (),
            id="the last bits of a large figure are no change",
        ),
        pytest.param(
            {"max_ulp": 1e6},
            {"max_ulp": 1e6 + 1},
            Change.WORSE,
            ("worst error in ulps 1.00e+06 -> 1.01e+06",),
            id="an ulp more is worse, whatever there was",
        ),
        pytest.param(
            {"max_ulp": 1.5},
            {"max_ulp": 0.5},
            Change.BETTER,
            ("worst error in ulps 1.500 -> 0.500",),
            id="less is better",
        ),
        pytest.param(
            {"max_ulp": 1.5, "misrounded": 2},
            {"max_ulp": 0.5, "misrounded": 3},
            Change.WORSE,
            ("worst error in ulps 1.500 -> 0.500", "misrounded 2 -> 3"),
            id="what is worse in any way is worse",
        ),
        pytest.param(
            {"nonfinite": 0},
            {"nonfinite": 1},
            Change.WORSE,
            ("unexplained NaN or infinity 0 -> 1",),
            id="a NaN that nothing explains is worse",
        ),
        pytest.param(
            {"max_ulp": 2.0},
            {"max_ulp": None},
            Change.WORSE,
            ("worst error in ulps 2.000 -> none",),
            id="an error that no longer has a size is worse than any",
        ),
        pytest.param(
            {"grade": "stable"},
            {"grade": "textbook"},
            Change.WORSE,
            ("grade stable -> textbook",),
            id="a worse grade is worse",
        ),
        pytest.param(
            {"ratio": 0.5},
            {"ratio": 0.5001},
            Change.WORSE,
            ("of the textbook bound 0.500 -> 0.501",),
            id="nearer to the bound is worse",
        ),
    ],
)
def test_a_change_is_told_and_named(
    before: dict[str, Any], after: dict[str, Any], expected: Change, words: tuple[str, ...]
) -> None:
    """From either side: what is worse one way is better the other."""
    found = changes(figure(**before), figure(**after))
    assert (expected, words) == found
    back = changes(figure(**after), figure(**before))[0]
    if len(words) == 1:
        assert {Change.WORSE: Change.BETTER, Change.BETTER: Change.WORSE}[expected] is back
    elif not words:
        assert Change.SAME is back


def test_no_grade_is_no_better_than_any() -> None:
    """Where nothing was judged nothing was gained."""
    assert Change.WORSE is grade_change("wrong", None)
    assert Change.BETTER is grade_change(None, "wrong")
    assert Change.SAME is grade_change(None, None)
