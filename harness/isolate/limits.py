"""What a subject in a process of its own may take: seconds a call, memory, and lines printed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from math import isfinite
from typing import Final

from harness.errors import UsageError

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30

DEFAULT_TIMEOUT: Final = 10.0
_DEFAULT_MEMORY: Final = 2 * GIB
#: Less is not enough for torch's own thread stacks and buffers.
_LEAST_MEMORY: Final = 64 * MIB
_MOST_TIMEOUT: Final = 86_400.0

_UNITS: Final = {"": 1, "K": KIB, "M": MIB, "G": GIB}
_MEMORY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", re.IGNORECASE)


def default_memory() -> int:
    """2 GiB, or half of the machine's memory where that is less."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _DEFAULT_MEMORY
    return min(_DEFAULT_MEMORY, physical // 2) if physical > 0 else _DEFAULT_MEMORY


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout` in seconds for one call of the subject; `memory` in bytes, beyond what the process
    has taken before the subject is loaded; `output` in bytes that one call may print; `forks`, the
    processes that one call may fork.

    Raises UsageError for a value outside its range.
    """

    timeout: float = DEFAULT_TIMEOUT
    memory: int = field(default_factory=default_memory)
    output: int = 16 * MIB
    forks: int = 256

    def __post_init__(self) -> None:
        if not (isfinite(self.timeout) and 0 < self.timeout <= _MOST_TIMEOUT):
            raise UsageError(
                f"timeout is {self.timeout!r}; expected seconds for one call, above 0 and at most "
                f"{_MOST_TIMEOUT:g}; leave it out for {DEFAULT_TIMEOUT:g}"
            )
        if self.memory < _LEAST_MEMORY:
            raise UsageError(
                f"memory limit is {size_text(self.memory)}; expected "
                f"{size_text(_LEAST_MEMORY)} or more; leave it out for "
                f"{size_text(default_memory())}"
            )


def memory_limit(text: str) -> int:
    """The bytes that "512M", "2GiB" or "1000000" stands for; the units are powers of 1024.

    Raises UsageError for anything else.
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"memory limit is {text!r}; expected a number of bytes, or one with K, M or G; write "
            "it as 512M or 4G"
        )
    number, unit = match.groups()
    return int(float(number) * _UNITS[unit.upper()])


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that it fills: 4 GiB, 1.5 MiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
