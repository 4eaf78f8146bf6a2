"""A fault on purpose: what is wrong, where the like of it was seen, and a case that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import getdoc
from typing import Any

from harness.case import Case
from harness.subjects import Kind, Subject
from reference.formats import Format


class Group(StrEnum):
    """What sort of fault it is."""

    CALCULUS = "calculus"
    """The formula is wrong, in any format."""

    NUMERICS = "numerics"
    """The formula would be right with real numbers."""

    STRUCTURE = "structure"
    """The numbers may be right; their form, their memory or the conduct of the call is not."""


@dataclass(frozen=True)
class Fault:
    """A faulty subject.

    - `what`: the fault in one line; `seen`: where the like of it was seen, in one line.
    - `witnesses`: for each dtype in which it is a fault, a case that shows it.
    - `elsewhere`: why it is none, or cannot show, in the other dtypes; empty where there are none.
    - `shows_as`: what may catch it: "grade" (graded wrong), "raised" (an exception), or the name of
      a law. "second-order" is a Hessian-vector product that is graded wrong.
    """

    subject: Subject
    group: Group
    what: str
    seen: str
    witnesses: Mapping[str, Case] = field(hash=False)
    shows_as: frozenset[str] = frozenset({"grade"})
    elsewhere: str = ""

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.subject.name

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes in which it is a fault."""
        return tuple(self.witnesses)


def fault(
    group: Group,
    kind: Kind,
    seen: str,
    witnesses: Mapping[str, Case],
    *,
    shows_as: Iterable[str] = ("grade",),
    elsewhere: str = "",
    accumulation: Format | None = None,
) -> Callable[[Callable[..., Any]], Fault]:
    """A decorator: the fault that a function of `kind` is.

    It takes its name from the function's, and `what` from the first line of its docstring. The
    other arguments are those of `Fault`; `accumulation` is what the subject declares.
    """

    def declare(function: Callable[..., Any]) -> Fault:
        name = function.__name__.strip("_").replace("_", "-")
        subject = Subject(name, kind, function, accumulation=accumulation)
        what = (getdoc(function) or "").partition("\n")[0]
        return Fault(subject, group, what, seen, witnesses, frozenset(shows_as), elsewhere)

    return declare


def faults_in(module: Mapping[str, object]) -> tuple[Fault, ...]:
    """The faults among the globals of a module, in the order of their definition."""
    return tuple(value for value in module.values() if isinstance(value, Fault))
