"""Figures and names as people read them."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Final

from harness.case import Case
from harness.failure import explain_command
from harness.inert import inert
from harness.terminal import short

#: A longer case stands in a file: commands stay short enough to be read and pasted.
LONGEST_CASE: Final = 1200


def number(value: float | int | None) -> str:
    """A figure in a few characters; "none" for one that is not there. Rounded up, as on a
    terminal, so that no bound looks kept that was broken."""
    if value is None:
        return "none"
    if isinstance(value, int):
        return f"{value:,}"
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    return f"-{short(-value)}" if value < 0 else short(value)


def share(value: float, digits: int = 2) -> str:
    """A share as a percentage that says 100 or 0 only where that is exact."""
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    text = f"{100 * value:.{digits}f}"
    least = 10.0**-digits
    if float(text) >= 100:
        return f"> {100 - least:.{digits}f} %".replace(" %", "%")
    return f"< {least:.{digits}f}%" if float(text) == 0 else f"{text}%"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def name(text: str) -> str:
    """A name that others chose, on one line and not too long."""
    return inert(text, 200)


def case_file(case: str) -> str:
    """The name of the file that holds a case."""
    return f"{hashlib.sha256(case.encode()).hexdigest()[:12]}.json"


def replay(subject: str, kind: str, device: str, case: str, cases: Path) -> str:
    """The command that shows a case again; a long case is read from its file in `cases`."""
    parsed = Case.from_json(case)
    command = explain_command(subject, parsed, kind, device)
    if len(case) <= LONGEST_CASE:
        return command
    file = shlex.quote(str(cases / case_file(case)))
    return command.replace(shlex.quote(parsed.to_json()), file)
