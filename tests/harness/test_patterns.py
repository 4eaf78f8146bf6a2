"""Bit patterns of arrays against those of single floats."""

import random
import re

import numpy as np
import pytest

from harness.patterns import decode, encode
from reference.formats import BINARY16, BINARY32, FORMATS, Format
from tests.flushed import in_flushing_thread


def _patterns(format: Format) -> list[int]:
    """Every pattern of a 16-bit format; of a wider one the edges of each field and random ones."""
    if format.width == 16:
        return list(range(1 << 16))
    generator = random.Random(7)
    bits = format.precision - 1
    positive = [
        (biased << bits) + fraction
        for biased in (0, 1, 2, format.emax, 2 * format.emax, 2 * format.emax + 1)
        for fraction in (0, 1, 2, 1 << bits - 1, (1 << bits) - 1)
    ]
    edges = positive + [pattern | 1 << format.width - 1 for pattern in positive]
    return edges + [generator.getrandbits(format.width) for _ in range(20_000)]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_decoding_agrees_with_the_format(format: Format) -> None:
    """Bit for bit, subnormals and infinities included."""
    patterns = _patterns(format)
    decoded = decode(np.array(patterns, dtype=np.uint64), format).tolist()
    assert [format.from_bits(pattern).hex() for pattern in patterns] == [
        value.hex() for value in decoded
    ]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_encoding_agrees_with_the_format(format: Format) -> None:
    """Every member gets the pattern that `Format.to_bits` gives."""
    values = [format.from_bits(pattern) for pattern in _patterns(format)]
    assert [format.to_bits(value) for value in values] == encode(values, format).tolist()


def test_every_nan_becomes_the_quiet_nan() -> None:
    """Whatever its sign, a NaN has one pattern."""
    assert [0x7E00, 0x7E00] == encode([float("nan"), -float("nan")], BINARY16).tolist()


@pytest.mark.parametrize("format", FORMATS[:3], ids=lambda format: format.name)
def test_a_number_outside_the_format_is_refused(format: Format) -> None:
    """Too long a significand, too small, too large: each is named and none is rounded."""
    tiny = format.from_ordinal(1)
    for value in (1 + 2.0**-format.precision, tiny / 2, tiny * 1.5, 2.0 ** (format.emax + 1)):
        with pytest.raises(ValueError, match=re.escape(f"{value.hex()} is not a {format.name}")):
            encode([1.0, value], format)


def test_nothing_encodes_to_nothing() -> None:
    """An empty vector is legal."""
    assert [] == encode([], BINARY32).tolist() == decode(encode([], BINARY32), BINARY32).tolist()


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_flush_to_zero_changes_nothing(format: Format) -> None:
    """Subnormals make the round trip in a thread that flushes them."""
    patterns = np.arange(1, 40, dtype=np.uint64)
    back = in_flushing_thread(lambda: encode(decode(patterns, format).tolist(), format))
    assert patterns.tolist() == back.tolist()
