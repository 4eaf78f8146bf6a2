"""Each rival is a working test: crude faults turn it red, and plain torch does not."""

from __future__ import annotations

import pytest
import torch

from harness.bank import SOUND
from harness.case import DTYPES
from harness.selftest.contest import RIVALS, Outcome, judged_by_rival
from harness.selftest.entries import BANK
from harness.selftest.inputs import PLAIN
from harness.selftest.rival import Rival
from harness.subjects import Kind, Subject

#: The sign wrong, or the upstream gradient missing, for each kind of subject.
CRUDE = ("wrong-sign", "drops-upstream", "raw-drops-upstream", "division", "raw-division")
PLAIN_SUBJECTS = [Subject(f"plain-{kind}", kind, function) for kind, function in PLAIN.items()]
EACH = [pytest.param(rival, id=rival.name) for rival in RIVALS]


def _judged(rival: Rival, subject: Subject, dtype: str, seed: int = 1) -> Outcome:
    """The whole test, run once."""
    return judged_by_rival(rival, subject, dtype, 0.0, seed)


@pytest.mark.parametrize("name", CRUDE)
@pytest.mark.parametrize("rival", EACH)
def test_crude_faults_are_caught(rival: Rival, name: str) -> None:
    """In every dtype that the rival can judge, and it can in one at least."""
    outcomes = [_judged(rival, BANK[name].subject, dtype) for dtype in DTYPES]
    judged = [outcome.caught for outcome in outcomes if outcome.caught is not None]
    assert judged
    assert all(judged)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("subject", PLAIN_SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.parametrize("rival", EACH)
def test_plain_torch_passes(rival: Rival, subject: Subject, dtype: str) -> None:
    """In the whole test."""
    outcome = _judged(rival, subject, dtype)
    assert not outcome.caught, outcome.how
    assert outcome.caught is None or rival.rounds == outcome.rounds


@pytest.mark.parametrize("name", ["numpy-inside", "stable-derivative"])
@pytest.mark.parametrize("rival", EACH)
def test_sound_subjects_pass(rival: Rival, name: str) -> None:
    """In float32, and in float64, whatever they are written with."""
    for dtype in ("float32", "float64"):
        outcome = _judged(rival, BANK[name].subject, dtype)
        assert not outcome.caught, (dtype, outcome.how)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("rival", EACH[:2])
def test_gradcheck_flags_no_sound_subject(rival: Rival, seed: int) -> None:
    """At its defaults and at its best: tolerances that plain torch passes are passed by all."""
    for each in SOUND:
        if each.missing() is None:
            outcome = _judged(rival, each.subject, "float64", seed)
            assert not outcome.caught, (each.name, outcome.how)


def test_names_and_settings_are_told() -> None:
    """Each rival has a name of its own, and says what it does."""
    assert len(RIVALS) == len({rival.name for rival in RIVALS})
    assert all(rival.settings.endswith(".") and rival.rounds >= 1 for rival in RIVALS)


@pytest.mark.parametrize("rival", EACH)
def test_an_exception_is_a_catch(rival: Rival) -> None:
    """As it would turn a test red."""

    def broken(*arguments: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError("broken")

    outcomes = [
        _judged(rival, Subject("broken", kind, broken), dtype)
        for kind in Kind
        for dtype in ("float32", "float64")
    ]
    assert {("raised ZeroDivisionError",)} == {
        each.how for each in outcomes if each.caught is not None
    }
