"""Text that others wrote, shown so that it does nothing: no terminal escapes, one line, bounded."""

from __future__ import annotations

from typing import Final

#: Longer than any message that is meant to be read.
LONGEST: Final = 2000


def inert(text: str, longest: int = LONGEST) -> str:
    r"""The text on one line with what is not printable written as an escape, as `\x1b` is; what is
    beyond `longest` characters is cut off, and how much that was is said."""
    cut = len(text) - longest
    if cut > 0:
        text = text[:longest]
    # Runs of white space, line ends among them, are one space; all that is left to escape is what
    # a terminal would act on: controls, and marks that reverse the order of letters.
    text = " ".join(text.split())
    if not text.isprintable():
        text = "".join(each if each.isprintable() else _escape(each) for each in text)
    return f"{text} ... ({cut} more characters)" if cut > 0 else text


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
