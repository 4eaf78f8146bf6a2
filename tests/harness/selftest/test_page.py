"""The page of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.selftest.contest import RIVALS
from harness.selftest.page import rivals_section, to_markdown
from tests.harness.selftest.made_up import GOOD

PAGE = Path(__file__).parents[3] / "docs" / "selftest.md"


def test_the_page_has_every_table() -> None:
    """Totals, false alarms, and one line a fault, with asterisks kept from being read as marks."""
    lines = to_markdown(GOOD).splitlines()
    assert "| all groups | 3/3 | 2/3 | n/a | n/a | n/a |" in lines
    assert "| all dtypes | 0/2 | 1/2 | n/a | n/a | n/a |" in lines
    assert "- gradcheck flags dot (float32: jacobian)" in lines
    (line,) = (line for line in lines if line.startswith("| `wrong-sign`"))
    assert line == (
        r"| `wrong-sign`: g \* (y\*y - 1): the difference the other way round. "
        "| 2/2 grade | 2/2 grade | n/a | n/a | n/a |"
    )


def test_the_settings_of_every_rival_are_told() -> None:
    """In the words of the rival, folded to lines."""
    text = " ".join(rivals_section().split())
    assert all(rival.settings in text for rival in RIVALS)


@pytest.mark.skipif(not PAGE.parent.exists(), reason="a source distribution has no docs")
def test_the_page_in_the_documentation_is_current() -> None:
    """Its words on the tests are those of this code; its figures are those of a run."""
    assert rivals_section() in PAGE.read_text(encoding="utf-8")
