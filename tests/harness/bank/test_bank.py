"""The bank as a whole: how much is in it, and what each entry must say of itself."""

from __future__ import annotations

import pytest

from harness.bank import FAULTS, SOUND, Fault, Group, Sound, faults
from harness.case import DTYPES
from harness.grade import Grade
from harness.laws import LAWS
from harness.second_order import RETAIN_GRAPH
from harness.subjects import Kind, builtin_names

#: What a fault may show as besides breaking a law of a case.
WITHOUT_A_LAW = {"grade", "raised", "second-order", RETAIN_GRAPH}


def test_sixty_faults_at_least() -> None:
    """The bank is as large as it was asked to be, and no group is a token."""
    assert len(FAULTS) >= 60
    assert all(len(faults(group)) >= 15 for group in Group)


def test_fifteen_sound_subjects_at_least() -> None:
    """There are as many sound subjects as were asked for, of every kind."""
    assert len(SOUND) >= 15
    assert set(Kind) == {sound.subject.kind for sound in SOUND}


def test_faults_of_a_group() -> None:
    """The groups share out the faults in their order, and None stands for all of them."""
    assert FAULTS == faults()
    assert FAULTS == tuple(fault for group in Group for fault in faults(group))
    assert faults(Group.NUMERICS) == faults("numerics")


def test_unknown_group() -> None:
    """A group that does not exist is an error."""
    with pytest.raises(ValueError, match="'physics' is not a valid Group"):
        faults("physics")


@pytest.mark.parametrize("group", Group)
def test_every_kind_in_every_group(group: Group) -> None:
    """Neurons, activations and raw gradients go wrong in each of the three ways."""
    assert set(Kind) == {fault.subject.kind for fault in faults(group)}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    """Each dtype has most of the faults."""
    assert 2 * sum(dtype in fault.dtypes for fault in FAULTS) > len(FAULTS)


def test_names() -> None:
    """A name stands for one subject, built-in ones included."""
    names = [*(each.name for each in FAULTS), *(each.name for each in SOUND), *builtin_names()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_explains_itself(fault: Fault) -> None:
    """It says in one line each what is wrong and where it was seen, and why not in other dtypes."""
    assert fault.what.endswith(".")
    assert fault.seen and "\n" not in fault.seen
    assert bool(fault.elsewhere) == (set(fault.dtypes) != set(DTYPES))
    assert fault.shows_as and fault.shows_as <= WITHOUT_A_LAW | {law.name for law in LAWS}
    assert all(dtype == case.dtype for dtype, case in fault.witnesses.items())


@pytest.mark.parametrize("sound", SOUND, ids=lambda sound: sound.name)
def test_a_sound_subject_explains_itself(sound: Sound) -> None:
    """It says how it is written, and states a grade in every dtype with the reason."""
    assert sound.what.endswith(".")
    assert set(sound.subject.stated) == set(DTYPES)
    for stated in sound.subject.stated.values():
        assert stated.grade is not Grade.WRONG
        assert stated.reason
