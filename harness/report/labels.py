"""What a night may be called: its label becomes the name of a folder."""

from __future__ import annotations

import re
from typing import Final

from harness.errors import UsageError

_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def require_label(label: str) -> str:
    """The label, if it is one. Raises UsageError if it is not."""
    if not _LABEL.fullmatch(label):
        raise UsageError(
            f"--night {label[:80]!r}; expected a date like 2026-01-31, or up to 64 letters, "
            "digits, dots, dashes and underscores"
        )
    return label
