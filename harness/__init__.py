"""neuron-harness: what a tanh neuron's results and gradients are worth, against an exact oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness._version import __version__
from harness.errors import CannotVerify, UsageError
from harness.grade import Grade

if TYPE_CHECKING:
    from harness.api import verify
    from harness.one_case import check
    from harness.subjects import Kind, Subject, SubjectError
    from harness.subjects.declaration import subject
    from harness.verdict import Verdict, Verification, VerificationError

__all__ = [
    "CannotVerify",
    "Grade",
    "Kind",
    "Subject",
    "SubjectError",
    "UsageError",
    "Verdict",
    "Verification",
    "VerificationError",
    "__version__",
    "check",
    "subject",
    "verify",
]

#: Looked up on first use: torch alone takes longer to import than `--help` may.
_LATE = {
    "Kind": "harness.subjects",
    "Subject": "harness.subjects",
    "SubjectError": "harness.subjects",
    "Verdict": "harness.verdict",
    "Verification": "harness.verdict",
    "VerificationError": "harness.verdict",
    "check": "harness.one_case",
    "subject": "harness.subjects.declaration",
    "verify": "harness.api",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LATE:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
