"""Which subjects of the bank a self-test runs."""

from __future__ import annotations

from typing import Any

import pytest

from harness.bank import FAULTS, SOUND
from harness.errors import CannotVerify, UsageError
from harness.selftest.entries import BANK, GROUPS, select


def test_everything_is_run_by_default() -> None:
    """Every fault in each of its dtypes, and every sound subject."""
    entries = select()
    assert [each.name for each in (*FAULTS, *SOUND)] == [entry.name for entry in entries]
    assert {fault.name: set(fault.dtypes) for fault in FAULTS} == {
        entry.name: set(entry.dtypes) for entry in entries if not entry.sound
    }


def test_names_groups_and_dtypes_narrow_it() -> None:
    """Dtypes in which a subject is no fault are left out, and with them the subject."""
    assert ["wrong-sign", "dot"] == [each.name for each in select(["dot", "wrong-sign"])]
    (entry,) = select(["dot", "accumulates-in-storage"], "numerics", ["float16", "float64"])
    assert ("accumulates-in-storage", ("float16",)) == (entry.name, entry.dtypes)
    assert {"structure"} == {each.group for each in select((), "structure")}
    assert {each.name for each in SOUND} == {each.name for each in select((), "sound")}


def test_every_group_has_members() -> None:
    """The sound subjects among them."""
    assert set(GROUPS) == {entry.group for entry in BANK.values()}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["wrong-sgn"],), UsageError, "unknown fault 'wrong-sgn'.*did you mean wrong-sign?"),
        (([], "style"), UsageError, "unknown group 'style'; expected one of calculus"),
        (([], None, ["float8"]), UsageError, "unknown dtype 'float8'"),
        ((["accumulates-in-storage"], None, ["float64"]), CannotVerify, "nothing that was named"),
        ((["dot"], "calculus"), CannotVerify, "nothing that was named"),
    ],
)
def test_what_is_not_there_is_told(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    """In one line, with the remedy."""
    with pytest.raises(error, match=message):
        select(*arguments)
