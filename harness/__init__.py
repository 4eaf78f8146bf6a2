"""neuron-harness: what a tanh neuron's results and gradients are worth, against an exact oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from harness._version import __version__
from harness.errors import CannotVerify, UsageError
from harness.grade import Grade

if TYPE_CHECKING:
    from harness.api import verify
    from harness.verdict import Verdict, Verification, VerificationError

__all__ = [
    "CannotVerify",
    "Grade",
    "UsageError",
    "Verdict",
    "Verification",
    "VerificationError",
    "__version__",
    "verify",
]

#: Looked up on first use: torch alone takes longer to import than `--help` may.
_LATE = {
    "Verdict": "harness.verdict",
    "Verification": "harness.verdict",
    "VerificationError": "harness.verdict",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LATE:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


class _Package(ModuleType):
    """`verify` is the function, also once the module of that name has been imported: the import
    system then sets the attribute of the package to the module, which is ignored here."""

    @property
    def verify(self) -> Callable[..., Any]:
        from harness.api import verify

        return verify

    @verify.setter
    def verify(self, module: object) -> None:
        pass


sys.modules[__name__].__class__ = _Package
