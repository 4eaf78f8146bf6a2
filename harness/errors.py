"""Errors a user can cause, each one line: the value, what was expected, the remedy; and the errors
of others, on one line."""

from __future__ import annotations


class UsageError(ValueError):
    """An argument outside its range (exit status 2)."""


class CannotVerify(RuntimeError):
    """The environment lacks what was asked for, so nothing was verified (exit status 3)."""


def one_line(error: BaseException) -> str:
    """The type and message of an exception on one line, whatever its `str` does."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    # A lone surrogate, as in the name of a file that is not UTF-8, has no place in JSON.
    text = text.encode(errors="backslashreplace").decode()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
