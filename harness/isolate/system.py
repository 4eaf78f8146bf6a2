"""What is asked of the system so that no process outlives its use: Linux's calls, where it has
them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_CHILD_SUBREAPER: Final = 36


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (Linux)."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """End this process when its parent, whose number is given, does (Linux)."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def children() -> frozenset[int]:
    """The children of this process, dead ones not yet waited for among them; none where the system
    does not say."""
    found: set[int] = set()
    with suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            found.update(map(int, (task / "children").read_text().split()))
    return frozenset(found)


def has_children() -> bool:
    """Whether this process has a child, running or not yet waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def data_size() -> int:
    """The bytes of private writable memory that this process has mapped; 0 where the system does
    not say. It is what RLIMIT_DATA bounds on Linux: memory that is only reserved does not count."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0
