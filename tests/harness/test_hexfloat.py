"""Hexadecimal text of floats."""

import math
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.hexfloat import hex_text, parse_hex
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from tests.flushed import in_flushing_thread

SPECIMENS = [0.0, -0.0, 1.0, -1.5, 2.0**-1022, 2.0**-1074, -(2.0**-1070), 1.7976931348623157e308]


@given(st.floats())
def test_text_is_that_of_float_hex(value: float) -> None:
    """The standard library spells every float the same."""
    assert value.hex() == hex_text(value)


@given(st.floats())
def test_text_is_read_back_bit_for_bit(value: float) -> None:
    """Including signed zeros, infinities and NaN."""
    back = parse_hex(hex_text(value), BINARY64)
    assert (math.isnan(value) and math.isnan(back)) or struct.pack("<d", value) == struct.pack(
        "<d", back
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1p0", 1.0),
        ("0X1.8P+1", 3.0),
        ("-0x.8p0", -0.5),
        ("0x10", 16.0),
        ("0x0.0000000000001p-1022", 2.0**-1074),
        ("-0x0p0", -0.0),
        ("0x0.000000000000000000000000000010p+0", 2.0**-116),
    ],
)
def test_other_spellings_of_the_same_number_are_read(text: str, value: float) -> None:
    """C99 allows more than `float.hex` writes."""
    assert value.hex() == parse_hex(text, BINARY64).hex()


@pytest.mark.parametrize(
    "text",
    [
        *["", "1.5", "0x", "0x.p0", "0x1p", "0x1.8q1", " 0x1p0", "0x1p0\n", "NaN", "+inf"],
        *["0x1_0p0", "0x" + "1" * 1000, "0x1p" + "9" * 1000],
    ],
)
def test_text_that_is_no_float_is_refused(text: str) -> None:
    """The message is one line and shows how a float is written."""
    with pytest.raises(ValueError, match=r"is not a hexadecimal float; write it like") as caught:
        parse_hex(text, BINARY64)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "format", "nearest"),
    [
        ("0x1.01p0", BFLOAT16, "0x1.0000000000000p+0"),
        ("0x1.001p0", BINARY16, "0x1.0000000000000p+0"),
        ("0x1.000001p0", BINARY32, "0x1.0000000000000p+0"),
        ("0x1.00000000000001p0", BINARY64, "0x1.0000000000000p+0"),
        ("0x1p-150", BINARY32, "0x0.0p+0"),
        ("0x1p-1075", BINARY64, "0x0.0p+0"),
    ],
)
def test_a_number_that_would_be_rounded_is_refused(text: str, format: Format, nearest: str) -> None:
    """The message names the nearest member."""
    with pytest.raises(
        ValueError, match=re.escape(f"not a {format.name} number; the nearest is '{nearest}'")
    ):
        parse_hex(text, format)


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_a_number_beyond_the_largest_is_refused(format: Format) -> None:
    """It is not read as infinity."""
    with pytest.raises(ValueError, match=f"beyond the largest {format.name} number"):
        parse_hex(f"-0x1p{format.emax + 1}", format)


def test_subnormals_survive_flush_to_zero() -> None:
    """Where `float.hex` itself may print a zero."""
    there_and_back = in_flushing_thread(
        lambda: [(hex_text(value), parse_hex(hex_text(value), BINARY64)) for value in SPECIMENS]
    )
    assert [value.hex() for value in SPECIMENS] == [text for text, _ in there_and_back]
    assert [value.hex() for value in SPECIMENS] == [value.hex() for _, value in there_and_back]
