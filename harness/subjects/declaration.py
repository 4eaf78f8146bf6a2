"""What a subject declares of itself: in code by a decorator, in pyproject.toml by a table.

Both say the same things and are checked by the same rules. What the judge cannot see from outside
belongs here: which dtypes and devices there are, in what format sums are accumulated, what error
tanh itself is allowed, whether subnormals are flushed, and which grades are known to be earned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final, TypeVar

from harness.case import DTYPES, format_of
from harness.errors import UsageError
from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject
from reference.formats import Format

Decorated = TypeVar("Decorated")

DEVICES: Final = ("cpu", "cuda")
#: Where a decorated object holds its declaration.
_ATTRIBUTE: Final = "__neuron_harness_subject__"
_REASON: Final = "declared"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared of a subject; None where nothing is. The fields are those of `Subject`, and
    `kind` its signature."""

    kind: Kind | None = None
    dtypes: tuple[str, ...] | None = None
    devices: tuple[str, ...] | None = None
    accumulation: Format | None = None
    activation_ulps: float | None = None
    flush_to_zero: bool | None = None
    stated: Mapping[str, Stated] | None = None

    def of(self, subject: Subject) -> Subject:
        """The subject with what is declared. `kind` is left to whoever knows what was asked for."""
        declared = {name: value for name in _FIELDS if (value := getattr(self, name)) is not None}
        return replace(subject, **declared)


_FIELDS: Final = (
    "dtypes",
    "devices",
    "accumulation",
    "activation_ulps",
    "flush_to_zero",
    "stated",
)


def subject(
    *,
    kind: Kind | str | None = None,
    dtypes: tuple[str, ...] | list[str] | None = None,
    devices: tuple[str, ...] | list[str] | None = None,
    accumulation: str | None = None,
    activation_ulps: float | None = None,
    flush_to_zero: bool | None = None,
    grades: Grade | str | Mapping[str, Grade | str] | None = None,
    reason: str | None = None,
) -> Callable[[Decorated], Decorated]:
    """A decorator that declares what is under it, and changes nothing else of it.

    `kind` is its signature; `dtypes` and `devices` the names it supports (all, unless said);
    `accumulation` the dtype in which its sum of products accumulates; `activation_ulps` the error
    in ulps that its tanh is allowed; `flush_to_zero` says that it replaces subnormals by zero;
    `grades` is the grade it is known to earn, for all dtypes or by dtype, and `reason` why.

    It works on functions, classes and instances that take attributes. Raises UsageError for a value
    outside its range.
    """
    given = {
        "kind": kind,
        "dtypes": dtypes,
        "devices": devices,
        "accumulation": accumulation,
        "activation_ulps": activation_ulps,
        "flush_to_zero": flush_to_zero,
        "grades": grades,
        "reason": reason,
    }
    declared = declaration(
        {name: value for name, value in given.items() if value is not None},
        lambda name: f"harness.subject: {name}",
    )

    def declare(found: Decorated) -> Decorated:
        try:
            setattr(found, _ATTRIBUTE, declared)
        except (AttributeError, TypeError):
            raise UsageError(
                f"harness.subject: a {type(found).__name__} takes no attributes; expected a "
                "function, a class or an instance that does; wrap it in a function"
            ) from None
        return found

    return declare


def declared_of(found: Any) -> Declaration | None:
    """What a decorator has declared of an object; None if none has."""
    declared = getattr(found, _ATTRIBUTE, None)
    return declared if isinstance(declared, Declaration) else None


def declaration(given: Mapping[str, Any], place: Callable[[str], str]) -> Declaration:
    """A declaration from its words; `place` says where a word stands, for messages.

    Raises UsageError, in one line, for an unknown word and for a value outside its range.
    """
    for name in given:
        if name not in _READERS:
            raise UsageError(
                f"{place(name)} is not known; expected one of {', '.join(_READERS)}; check its "
                "spelling"
            )
    values: dict[str, Any] = {}
    for name, value in given.items():
        found = _READERS[name](value)
        if isinstance(found, _Expected):
            raise UsageError(f"{place(name)} is {value!r}; expected {found.what}")
        values[name] = found
    grades, reason = values.pop("grades", None), values.pop("reason", None)
    if grades is None and reason is not None:
        raise UsageError(
            f"{place('reason')} is given without grades; expected both; add grades, or leave it out"
        )
    if grades is not None:
        dtypes = values.get("dtypes") or DTYPES
        by_dtype = grades if isinstance(grades, dict) else dict.fromkeys(dtypes, grades)
        values["stated"] = {
            dtype: Stated(grade, reason or _REASON) for dtype, grade in by_dtype.items()
        }
    return Declaration(**values)


@dataclass(frozen=True, slots=True)
class _Expected:
    """A value is none of those expected."""

    what: str


def _kind(value: Any) -> Kind | _Expected:
    try:
        return Kind(value)
    except ValueError:
        return _Expected(f"one of {', '.join(Kind)}")


def _names(known: tuple[str, ...]) -> Callable[[Any], tuple[str, ...] | _Expected]:
    def read(value: Any) -> tuple[str, ...] | _Expected:
        good = isinstance(value, list | tuple) and value and all(each in known for each in value)
        if not good:
            return _Expected(f"a list of some of {', '.join(known)}")
        return tuple(dict.fromkeys(value))

    return read


def _accumulation(value: Any) -> Format | _Expected:
    if isinstance(value, Format):
        return value
    if not isinstance(value, str) or value not in DTYPES:
        return _Expected(f"one of {', '.join(DTYPES)}")
    return format_of(value)


def _ulps(value: Any) -> float | _Expected:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and isfinite(value) and value >= 0.5):
        return _Expected("a number of ulps, 0.5 (correctly rounded) or more")
    return float(value)


def _flag(value: Any) -> bool | _Expected:
    return value if isinstance(value, bool) else _Expected("true or false")


def _grades(value: Any) -> Grade | dict[str, Grade] | _Expected:
    expected = _Expected(
        f"one of {', '.join(Grade)}, or a table of them by dtype ({', '.join(DTYPES)})"
    )
    try:
        if isinstance(value, str):
            return Grade(value)
        if isinstance(value, Mapping) and value and all(dtype in DTYPES for dtype in value):
            return {str(dtype): Grade(grade) for dtype, grade in value.items()}
    except ValueError:
        pass
    return expected


def _text(value: Any) -> str | _Expected:
    good = isinstance(value, str) and value.strip() and "\n" not in value
    return value if good else _Expected("one line of text")


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "kind": _kind,
    "dtypes": _names(DTYPES),
    "devices": _names(DEVICES),
    "accumulation": _accumulation,
    "activation_ulps": _ulps,
    "flush_to_zero": _flag,
    "grades": _grades,
    "reason": _text,
}
