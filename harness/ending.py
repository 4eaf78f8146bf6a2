"""How a process has ended, in words."""

from __future__ import annotations

import signal


def ending(code: int) -> str:
    """For an exit code as `subprocess` has it, negative for a signal: "with exit status 3", "by
    SIGABRT"."""
    if code >= 0:
        return f"with exit status {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
