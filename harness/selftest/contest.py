"""One subject of the bank in one dtype: what the harness makes of it, and every rival."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch

from harness.api import verify
from harness.flush import flushing, subnormals_kept
from harness.selftest.closeness import AssertClose
from harness.selftest.developer import DevelopersTest
from harness.selftest.entries import BANK
from harness.selftest.gradcheck import BestGradcheck, DefaultGradcheck
from harness.selftest.rival import Rival
from harness.subjects import Subject
from harness.torch_state import TorchState
from harness.verdict import Verdict

#: The name of this harness among its rivals.
HARNESS: Final = "harness"
RIVALS: Final[tuple[Rival, ...]] = (
    DefaultGradcheck(),
    BestGradcheck(),
    AssertClose(),
    DevelopersTest(),
)
#: Those who take part, in the order of the table.
CONTESTANTS: Final = (HARNESS, *(rival.name for rival in RIVALS))


@dataclass(frozen=True, slots=True)
class Settings:
    """`examples` for the harness, in each dtype; `budget` in seconds for each rival, None for as
    long as the harness took; `seed` for the harness's cases and the rivals' inputs."""

    examples: int
    seed: int
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One subject of the bank, by name, in one dtype."""

    subject: str
    dtype: str
    settings: Settings

    def __str__(self) -> str:
        return f"{self.subject} {self.dtype}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one contestant made of one subject in one dtype.

    `caught` is None where it cannot judge, for the `reason` given. `how` holds what gave the
    subject away: for the harness "grade", "raised" and names of laws; for a rival what it objected
    to. `rounds` counts its cases (the harness) or inputs (a rival); `seconds` is wall time.
    """

    caught: bool | None
    how: tuple[str, ...] = ()
    reason: str = ""
    rounds: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of every contestant for one subject in one dtype, in the order of CONTESTANTS."""

    subject: str
    dtype: str
    outcomes: tuple[Outcome, ...]

    @property
    def harness(self) -> Outcome:
        """What the harness made of it."""
        return self.outcomes[0]


def contest(task: Task) -> Trial:
    """Hold one contest. KeyboardInterrupt goes through; what a subject changes is put back."""
    subject = BANK[task.subject].subject
    with subnormals_kept(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = judged_by_harness(subject, task.dtype, task.settings)
        budget = mine.seconds if task.settings.budget is None else task.settings.budget
        theirs = (
            judged_by_rival(rival, subject, task.dtype, budget, task.settings.seed)
            for rival in RIVALS
        )
        return Trial(task.subject, task.dtype, (mine, *theirs))


def judged_by_harness(subject: Subject, dtype: str, settings: Settings) -> Outcome:
    """What `harness.verify` makes of a subject: held to the grade it states, or to "textbook"."""
    found = verify(
        subject,
        dtypes=[dtype],
        devices=["cpu"],
        examples=settings.examples,
        seed=settings.seed,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    (verdict,) = found.verdicts
    how = _how(verdict)
    return Outcome(bool(how), how, rounds=verdict.examples, seconds=verdict.seconds)


def _how(verdict: Verdict) -> tuple[str, ...]:
    if verdict.passed or verdict.nothing_judged:
        return ()
    how = [law.name for law in verdict.broken_laws]
    if verdict.grade is not None and not verdict.grade.meets(verdict.required):
        how.insert(0, "grade")
    if verdict.error is not None:
        how.insert(0, "raised")
    if verdict.second_order is not None and not verdict.second_order.passed:
        how.append("second-order")
    # What a verdict fails by that is neither.
    return tuple(how) or (verdict.failure or "failed",)


def judged_by_rival(
    rival: Rival, subject: Subject, dtype: str, seconds: float, seed: int
) -> Outcome:
    """What a rival makes of a subject: rounds on fresh inputs until one catches it or the time is
    up. The whole test is run once at least, and the last round may go on beyond the time."""
    reason = rival.unable(subject, dtype)
    if reason is not None:
        return Outcome(None, reason=reason)
    own = zlib.crc32(f"{seed}/{subject.name}/{dtype}/{rival.name}".encode())
    generator = torch.Generator().manual_seed(own)
    started = time.perf_counter()
    rounds, how = 0, None
    try:
        with _put_back():
            once = rival.begin(subject, dtype)
        while how is None and (rounds < rival.rounds or time.perf_counter() - started < seconds):
            rounds += 1
            with _put_back():
                # gradcheck draws from the global generator.
                torch.manual_seed(own + rounds)
                how = once(generator)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        how = f"raised {type(error).__name__}"
    caught = () if how is None else (how,)
    return Outcome(bool(caught), caught, "", rounds, time.perf_counter() - started)


@contextmanager
def _put_back() -> Iterator[None]:
    """Undo what a subject does to torch's global state, which is the business of no other test."""
    state = TorchState.now(False)
    try:
        yield
    finally:
        state.restore()
        if flushing():
            torch.set_flush_denormal(False)


def outcomes_of(contestant: str, trials: Sequence[Trial]) -> list[tuple[Trial, Outcome]]:
    """The outcomes of one contestant, with their trials, where it could judge."""
    place = CONTESTANTS.index(contestant)
    return [
        (trial, trial.outcomes[place])
        for trial in trials
        if trial.outcomes[place].caught is not None
    ]
