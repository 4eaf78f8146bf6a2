"""What a self-test runs: the faults and the sound subjects of the bank, by name and by group."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.bank import FAULTS, SOUND, Group
from harness.case import DTYPES, format_of
from harness.errors import CannotVerify, UsageError
from harness.subjects import Subject

#: The group of the sound subjects.
SOUND_GROUP: Final = "sound"
GROUPS: Final = (*map(str, Group), SOUND_GROUP)


@dataclass(frozen=True)
class Entry:
    """A subject of the bank. `dtypes` are those in which it is a fault, or in which it is sound;
    `what` and `seen` say in one line what it is, and where the like of it was seen (empty for a
    sound one); `missing()` says what it needs and this machine lacks, None if nothing."""

    subject: Subject
    group: str
    what: str
    seen: str
    dtypes: tuple[str, ...]
    missing: Callable[[], str | None] = field(default=lambda: None, compare=False)

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.subject.name

    @property
    def sound(self) -> bool:
        """Whether it is one that nothing may flag."""
        return self.group == SOUND_GROUP


def _bank() -> Mapping[str, Entry]:
    entries = [
        Entry(fault.subject, str(fault.group), fault.what, fault.seen, _ordered(fault.dtypes))
        for fault in FAULTS
    ]
    entries += [
        Entry(each.subject, SOUND_GROUP, each.what, "", _ordered(each.subject.stated), each.missing)
        for each in SOUND
    ]
    by_name = {entry.name: entry for entry in entries}
    assert len(by_name) == len(entries), "two subjects of the bank have one name"
    return by_name


def _ordered(dtypes: Sequence[str] | Mapping[str, object]) -> tuple[str, ...]:
    return tuple(dtype for dtype in DTYPES if dtype in dtypes)


#: Every subject of the bank, faults first.
BANK: Final[Mapping[str, Entry]] = _bank()


def select(
    names: Sequence[str] = (), group: str | None = None, dtypes: Sequence[str] | None = None
) -> tuple[Entry, ...]:
    """The entries of the bank with these names (all of them if there are none), of this group, in
    those of their dtypes that are wanted, in the order of the bank.

    Raises UsageError for a name, group or dtype that does not exist, CannotVerify if nothing is
    left.
    """
    for name in names:
        if name not in BANK:
            raise UsageError(
                f"unknown fault {name!r}; expected the name of a fault or a sound subject of the "
                f"bank{_nearest(name)}"
            )
    if group is not None and group not in GROUPS:
        raise UsageError(f"unknown group {group!r}; expected one of {', '.join(GROUPS)}")
    wanted = DTYPES if dtypes is None else tuple(dtypes)
    for dtype in wanted:
        try:
            format_of(dtype)
        except ValueError as error:
            raise UsageError(str(error)) from None
    found = []
    for entry in BANK.values():
        left = tuple(dtype for dtype in entry.dtypes if dtype in wanted)
        if left and entry.name in (names or BANK) and entry.group == (group or entry.group):
            found.append(
                Entry(entry.subject, entry.group, entry.what, entry.seen, left, entry.missing)
            )
    if not found:
        raise CannotVerify(
            "nothing that was named is in this group and a fault, or sound, in these dtypes; "
            "expected one subject at least; widen --group or --dtype"
        )
    return tuple(found)


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, BANK, n=1)
    return f"; did you mean {close[0]}?" if close else "; check its spelling"
