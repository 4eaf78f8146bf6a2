"""How many a contestant caught, of how many it could judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.case import DTYPES
from harness.selftest.contest import CONTESTANTS, Trial, outcomes_of
from harness.selftest.run import Selftest


@dataclass(frozen=True, slots=True)
class Count:
    """`caught` of `judged`: pairs of a subject and a dtype, or subjects."""

    caught: int
    judged: int

    def __str__(self) -> str:
        return f"{self.caught}/{self.judged}" if self.judged else "n/a"


def count(contestant: str, trials: Sequence[Trial]) -> Count:
    """Over pairs of a subject and a dtype."""
    outcomes = [outcome for _, outcome in outcomes_of(contestant, trials)]
    return Count(sum(bool(outcome.caught) for outcome in outcomes), len(outcomes))


def count_whole(contestant: str, selftest: Selftest) -> Count:
    """Over faults: those caught in every dtype in which the contestant can judge them."""
    counts = [count(contestant, selftest.of(fault)) for fault in selftest.faults]
    judged = [each for each in counts if each.judged]
    return Count(sum(each.caught == each.judged for each in judged), len(judged))


def totals(selftest: Selftest) -> dict[str, list[Count]]:
    """Faults caught by each contestant: by group, over all, by dtype, and as whole faults."""
    rows: dict[str, Sequence[Trial]] = {}
    for fault in selftest.faults:
        trials = selftest.of(fault)
        if trials:
            rows[fault.group] = [*rows.get(fault.group, ()), *trials]
    everything = selftest.among(selftest.faults)
    rows["all groups"] = everything
    for dtype in DTYPES:
        trials = [trial for trial in everything if trial.dtype == dtype]
        if trials:
            rows[dtype] = trials
    found = {
        name: [count(contestant, trials) for contestant in CONTESTANTS]
        for name, trials in rows.items()
    }
    found["faults, in all their dtypes"] = [
        count_whole(contestant, selftest) for contestant in CONTESTANTS
    ]
    return found if everything else {}


def false_alarms(selftest: Selftest) -> dict[str, list[Count]]:
    """Sound subjects flagged by each contestant: by dtype, and over all."""
    everything = selftest.among(selftest.sound)
    rows = {dtype: [trial for trial in everything if trial.dtype == dtype] for dtype in DTYPES} | {
        "all dtypes": everything
    }
    return {
        name: [count(contestant, trials) for contestant in CONTESTANTS]
        for name, trials in rows.items()
        if trials
    }


def flagged_by(contestant: str, selftest: Selftest) -> list[str]:
    """The sound subjects that a contestant flagged, with the dtypes and what it objected to."""
    lines: dict[str, list[str]] = {}
    for trial, outcome in outcomes_of(contestant, selftest.among(selftest.sound)):
        if outcome.caught:
            lines.setdefault(trial.subject, []).append(f"{trial.dtype}: {', '.join(outcome.how)}")
    return [f"{subject} ({'; '.join(each)})" for subject, each in lines.items()]


def named(trials: Sequence[Trial]) -> list[str]:
    """Each subject of some trials, with the dtypes."""
    dtypes: dict[str, list[str]] = {}
    for trial in trials:
        dtypes.setdefault(trial.subject, []).append(trial.dtype)
    return [f"{subject} {', '.join(names)}" for subject, names in dtypes.items()]


def cell(contestant: str, trials: Sequence[Trial]) -> str:
    """What a contestant made of one subject: how many of its dtypes, and how."""
    number = count(contestant, trials)
    if not number.judged:
        return "n/a"
    how = dict.fromkeys(
        label for _, outcome in outcomes_of(contestant, trials) for label in outcome.how
    )
    return f"{number} {', '.join(how)}".rstrip()
