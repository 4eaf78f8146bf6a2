"""Limits are read as a user writes them, and refused in one line."""

from __future__ import annotations

import pytest

from harness.errors import UsageError
from harness.isolate.limits import GIB, KIB, MIB, Limits, default_memory, memory_limit, size_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100000000", 100_000_000),
        ("512M", 512 * MIB),
        ("512 MiB", 512 * MIB),
        ("1.5g", 3 * GIB // 2),
        ("64KB", 64 * KIB),
    ],
)
def test_a_size(text: str, expected: int) -> None:
    """Units are powers of 1024, in either case."""
    assert expected == memory_limit(text)


@pytest.mark.parametrize("text", ["", "lots", "-1M", "1T", "1e9", "M"])
def test_no_size(text: str) -> None:
    """One line: the value, what was expected, how to write it."""
    with pytest.raises(UsageError, match=r"expected a number of bytes.*write it as 512M or 4G"):
        memory_limit(text)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_no_timeout(timeout: float) -> None:
    """Above zero, and at most a day."""
    with pytest.raises(UsageError, match=r"^timeout is .*; expected seconds for one call"):
        Limits(timeout=timeout)


def test_too_little_memory() -> None:
    """Less than torch's own buffers take."""
    with pytest.raises(UsageError, match="memory limit is 1 MiB; expected 64 MiB or more"):
        Limits(memory=MIB)


def test_the_default_leaves_the_machine_half() -> None:
    """And is never more than 2 GiB."""
    assert 0 < default_memory() <= 2 * GIB
    assert Limits().memory == default_memory()


@pytest.mark.parametrize(
    ("size", "expected"), [(5, "5 bytes"), (1536, "1.5 KiB"), (MIB, "1 MiB"), (4 * GIB, "4 GiB")]
)
def test_a_size_in_words(size: int, expected: str) -> None:
    """In the largest unit that it fills."""
    assert expected == size_text(size)
