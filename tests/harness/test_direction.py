"""Directions as records and as text."""

from __future__ import annotations

from math import inf, nan

import pytest

from harness.direction import Direction
from reference.formats import BINARY16, BINARY32

DIRECTION = Direction((1.0, -0.0), (0.5, 2.0**-149), -3.0)


def test_a_direction_survives_its_text() -> None:
    """Every float as hex, signed zeros and subnormals included."""
    text = DIRECTION.to_json()
    assert DIRECTION == Direction.from_json(text, BINARY32)
    assert text == Direction.from_json(text.encode(), BINARY32).to_json()
    assert "\n" not in text


@pytest.mark.parametrize("value", [inf, -inf, nan], ids=str)
def test_a_direction_that_is_not_finite_says_so(value: float) -> None:
    """Wherever the value stands."""
    assert DIRECTION.finite
    for direction in (
        Direction((value,), (1.0,), 0.0),
        Direction((1.0,), (value,), 0.0),
        Direction((), (), value),
    ):
        assert not direction.finite


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not a direction: "),
        ('{"inputs":[],"weights":[]}', "not a direction: "),
        ('{"inputs":[],"weights":[],"bias":"0x1p+0","g":"0x1p+0"}', "not a direction: "),
        ('{"inputs":["0x1.001p+0"],"weights":["0x0p+0"],"bias":"0x0p+0"}', "0x1.001"),
        ('{"inputs":[],"weights":[],"bias":"one"}', "one"),
    ],
    ids=["no JSON", "a field missing", "a field too many", "not a member", "no number"],
)
def test_other_text_is_refused_in_one_line(text: str, message: str) -> None:
    """With what was wrong."""
    with pytest.raises(ValueError, match=message) as raised:
        Direction.from_json(text, BINARY16)
    assert "\n" not in str(raised.value)
