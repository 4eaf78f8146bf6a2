"""The bank: faulty subjects that a harness should catch, and sound ones that it should not.

Each fault is a small model of one that exists in the field; each sound subject is written unlike
the textbook and must raise no alarm. A harness is worth what it tells apart of them.
"""

from __future__ import annotations

from typing import Final

from harness.bank import (
    approximations,
    calculus,
    chain,
    conduct,
    exponentials,
    memory,
    precision,
    sound_slopes,
    sound_sums,
    structure,
    subnormals,
    sums,
    thresholds,
)
from harness.bank.fault import Fault, Group
from harness.bank.sound import Sound

__all__ = ["FAULTS", "SOUND", "Fault", "Group", "Sound", "faults"]

#: All faults, group by group.
FAULTS: Final[tuple[Fault, ...]] = (
    *calculus.FAULTS,
    *chain.FAULTS,
    *exponentials.FAULTS,
    *approximations.FAULTS,
    *thresholds.FAULTS,
    *sums.FAULTS,
    *precision.FAULTS,
    *subnormals.FAULTS,
    *structure.FAULTS,
    *memory.FAULTS,
    *conduct.FAULTS,
)

#: The sound subjects, written differently.
SOUND: Final[tuple[Sound, ...]] = (*sound_sums.SOUND, *sound_slopes.SOUND)


def faults(group: Group | str | None = None) -> tuple[Fault, ...]:
    """The faults of a group, or all of them. Raises ValueError for a group that does not exist."""
    if group is None:
        return FAULTS
    wanted = Group(group)
    return tuple(fault for fault in FAULTS if fault.group is wanted)
