"""Errors a user can cause, each one line: the value, what was expected, the remedy."""

from __future__ import annotations


class UsageError(ValueError):
    """An argument outside its range (exit status 2)."""


class CannotVerify(RuntimeError):
    """The environment lacks what was asked for, so nothing was verified (exit status 3)."""
