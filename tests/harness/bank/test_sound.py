"""No sound subject raises an alarm: not on the witnesses of the faults, nor in a verification."""

from __future__ import annotations

import pytest

import harness
from harness.bank import FAULTS, SOUND, Sound
from harness.case import DTYPES, Case
from harness.flush import subnormals_kept
from harness.grade import Grade
from harness.laws import LAWS
from harness.second_order import RETAIN_GRAPH
from harness.subjects import Kind
from tests.harness.bank.catching import Witnessed, alarms

IN_EACH_DTYPE = [
    pytest.param(
        sound,
        dtype,
        id=f"{sound.name} is {sound.subject.stated[dtype].grade} in {dtype}",
        marks=[pytest.mark.slow] if sound.name == "compiled" else [],
    )
    for sound in SOUND
    for dtype in DTYPES
]
ALARMS = {law.name for law in LAWS if law.required}
ALARMS |= {"grade", "raised", "second-order", RETAIN_GRAPH}


def skip_unless_possible(sound: Sound) -> None:
    """Skip the test, with the reason, where the machine lacks what the subject needs."""
    missing = sound.missing()
    if missing is not None:
        pytest.skip(missing)


def witnesses(kind: Kind, dtype: str) -> list[Case]:
    """The cases that show faults of subjects that take such cases, each once."""
    raw = kind is Kind.TANH_GRADIENT
    return list(
        dict.fromkeys(
            fault.witnesses[dtype]
            for fault in FAULTS
            if dtype in fault.dtypes and (fault.subject.kind is Kind.TANH_GRADIENT) is raw
        )
    )


@pytest.mark.parametrize(("sound", "dtype"), IN_EACH_DTYPE)
def test_no_alarm_on_the_witnesses(sound: Sound, dtype: str) -> None:
    """A case that shows a fault is answered as well as stated, and breaks no required law."""
    skip_unless_possible(sound)
    witnessed = Witnessed(sound.subject, dtype)
    with subnormals_kept():
        for case in witnesses(sound.subject.kind, dtype):
            finding = witnessed.finding(case)
            assert not witnessed.caught_by(finding) & ALARMS, case.to_json()
            assert finding.judgement is not None
            assert finding.judgement.grade.meets(sound.subject.stated[dtype].grade), case.to_json()


@pytest.mark.slow
@pytest.mark.parametrize(("sound", "dtype"), IN_EACH_DTYPE)
def test_no_alarm_in_a_verification(sound: Sound, dtype: str) -> None:
    """Thousands of cases earn the stated grade, and none worse."""
    skip_unless_possible(sound)
    verification = harness.verify(
        sound.subject, dtypes=[dtype], devices=["cpu"], examples=3_000, seed=1
    )
    verification.raise_for_failure()
    (verdict,) = verification.verdicts
    assert not alarms(verdict)
    if sound.subject.kind is not Kind.TANH_GRADIENT:
        assert verdict.grade in (Grade.STABLE, sound.subject.stated[dtype].grade)
