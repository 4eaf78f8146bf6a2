"""One contest: what the harness is credited with, and the time and the torch that rivals get."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
import torch

from harness.flush import flushing
from harness.selftest.contest import (
    CONTESTANTS,
    RIVALS,
    Outcome,
    Settings,
    Task,
    contest,
    judged_by_harness,
    judged_by_rival,
)
from harness.selftest.entries import BANK
from harness.selftest.rival import Round
from harness.subjects import Subject
from harness.torch_state import TorchState

FEW = Settings(examples=40, seed=1, budget=0.05)


@dataclass
class Counting:
    """A rival that counts its rounds, and catches in the one it is told to."""

    catches_in: int = 0
    raises: BaseException | None = None
    calls_subject: bool = False
    name: str = "counting"
    settings: str = "."
    rounds: int = 4
    seen: int = 0
    states: list[TorchState] = field(default_factory=list)

    def unable(self, subject: Subject, dtype: str) -> str | None:
        return None

    def begin(self, subject: Subject, dtype: str) -> Round:
        def once(generator: torch.Generator) -> str | None:
            self.seen += 1
            self.states.append(TorchState.now(bool(flushing())))
            if self.calls_subject:
                subject.function(*(torch.ones(shape) for shape in ((2,), (2,), (), ())))
            if self.raises is not None:
                raise self.raises
            return "count" if self.seen == self.catches_in else None

        return once


def _judged(rival: Counting, seconds: float = 0.0, name: str = "dot") -> Outcome:
    return judged_by_rival(rival, BANK[name].subject, "float32", seconds, 1)


def test_the_whole_test_is_run_once_at_least() -> None:
    """However little time there is."""
    assert 4 == _judged(Counting()).rounds


def test_it_is_repeated_until_the_time_is_up() -> None:
    """With time left it goes on beyond its end."""
    outcome = _judged(Counting(), seconds=0.2)
    assert outcome.rounds > 4
    assert not outcome.caught
    assert 0.2 <= outcome.seconds


def test_it_ends_with_a_catch() -> None:
    """And says by what."""
    outcome = _judged(Counting(catches_in=2), seconds=10.0)
    assert (True, ("count",), 2) == (outcome.caught, outcome.how, outcome.rounds)


def test_an_interrupt_is_no_catch() -> None:
    """It ends the run; what a subject raises is one."""
    with pytest.raises(KeyboardInterrupt):
        _judged(Counting(raises=KeyboardInterrupt()))
    assert ("raised SystemExit",) == _judged(Counting(raises=SystemExit(0))).how


@pytest.mark.parametrize(
    "name",
    [
        "sets-default-dtype",
        "switches-autograd-off",
        "seeds-the-generator",
        "sets-threads",
        "switches-subnormals-off",
    ],
)
def test_what_a_subject_changes_is_put_back(name: str) -> None:
    """Before the next round, and when all are done."""
    before = TorchState.now(False)
    rival = Counting(calls_subject=True)
    assert 4 == _judged(rival, name=name).rounds
    assert before == TorchState.now(bool(flushing()))
    # The global generator is seeded anew for each round.
    assert [replace(before, rng=b"")] * 4 == [replace(each, rng=b"") for each in rival.states]
    assert 4 == len({each.rng for each in rival.states})


def test_what_a_subject_changes_is_put_back_though_it_raises() -> None:
    """As when it does not."""
    before = TorchState.now(False)
    rival = Counting(calls_subject=True, raises=ArithmeticError())
    assert ("raised ArithmeticError",) == _judged(rival, name="sets-default-dtype").how
    assert before == TorchState.now(bool(flushing()))


@pytest.mark.parametrize(
    ("name", "dtype", "how"),
    [
        ("wrong-sign", "float32", {"grade"}),
        ("writes-weights", "float32", {"inputs-untouched"}),
        ("empty-raises", "bfloat16", {"raised"}),
        ("constant-derivative", "float32", {"second-order"}),
    ],
)
def test_the_harness_catches(name: str, dtype: str, how: set[str]) -> None:
    """By a grade, a law, the second order, or what the subject raises."""
    outcome = judged_by_harness(BANK[name].subject, dtype, FEW)
    assert outcome.caught
    assert how <= set(outcome.how)


def test_the_harness_flags_no_sound_subject() -> None:
    """Held to the grade that it states."""
    outcome = judged_by_harness(BANK["stable-in-binary64"].subject, "float32", FEW)
    assert (False, ()) == (outcome.caught, outcome.how)


def test_a_contest_has_an_outcome_for_each() -> None:
    """In the order of the table; those who cannot judge say why."""
    trial = contest(Task("wrong-sign", "float64", FEW))
    outcomes = dict(zip(CONTESTANTS, trial.outcomes, strict=True))
    assert {"harness", *(rival.name for rival in RIVALS)} == set(outcomes)
    assert None is outcomes["developer's test"].caught
    assert all(each.caught for name, each in outcomes.items() if name != "developer's test")
    assert outcomes["harness"].seconds > 0


def test_without_a_budget_rivals_get_the_harness_s_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own on that subject and dtype."""
    given = []

    def judged(rival: object, subject: Subject, dtype: str, seconds: float, seed: int) -> object:
        given.append(seconds)
        return None

    monkeypatch.setattr("harness.selftest.contest.judged_by_rival", judged)
    trial = contest(Task("dot", "float32", Settings(examples=10, seed=1)))
    assert [trial.harness.seconds] * len(RIVALS) == given
