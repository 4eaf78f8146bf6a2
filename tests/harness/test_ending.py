"""How a process has ended, in words."""

from __future__ import annotations

import pytest

from harness.ending import ending


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, "with exit status 0"),
        (3, "with exit status 3"),
        (-6, "by SIGABRT"),
        (-99, "by signal 99"),
    ],
)
def test_a_code_in_words(code: int, expected: str) -> None:
    """A signal by its name, if it has one."""
    assert expected == ending(code)
