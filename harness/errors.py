"""Errors a user can cause, each one line: the value, what was expected, the remedy; and the errors
of others, on one line."""

from __future__ import annotations

from harness.inert import inert


class UsageError(ValueError):
    """An argument outside its range (exit status 2)."""


class CannotVerify(RuntimeError):
    """The environment lacks what was asked for, so nothing was verified (exit status 3)."""


def one_line(error: BaseException) -> str:
    """The type and message of an exception on one line, inert, whatever its `str` does."""
    try:
        text = inert(str(error))
    except Exception:
        text = ""
    name = inert(type(error).__name__)
    return f"{name}: {text}" if text else name
