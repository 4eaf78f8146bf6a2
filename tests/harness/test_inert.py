"""Text of others does nothing where it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import one_line
from harness.inert import inert


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two\n  lines\r\n", "two lines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eabc", "\\u202eabc"),
        ("\udc80", "\\udc80"),
        ("é ü 漢", "é ü 漢"),
    ],
)
def test_what_acts_is_escaped(text: str, expected: str) -> None:
    """And nothing else: letters of any script stay."""
    assert expected == inert(text)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_all_text_is_printable_and_encodable(text: str) -> None:
    """On one line."""
    found = inert(text, 100)
    assert found.isprintable()
    found.encode()


def test_what_is_long_is_cut() -> None:
    """And how much was."""
    assert "xxxx ... (6 more characters)" == inert("x" * 10, 4)
    assert len(one_line(ValueError("x" * (1 << 20)))) < 2100


def test_an_exception_with_a_hostile_type() -> None:
    """Its name is text of others too."""
    hostile = type("\x1b[31mError", (Exception,), {})
    assert "\\x1b[31mError: \\x07" == one_line(hostile("\x07"))
