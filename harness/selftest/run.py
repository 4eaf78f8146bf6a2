"""A whole self-test: every chosen subject in every dtype, here or in several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.environment import describe_environment
from harness.executor import ExecutorError, local
from harness.selftest.contest import Settings, Task, Trial, contest
from harness.selftest.entries import Entry
from harness.verdict import EXIT_INCONCLUSIVE, EXIT_NOTHING, EXIT_OK, EXIT_VIOLATION

OnTrial = Callable[[Task], None]


@dataclass(frozen=True)
class Selftest:
    """What a self-test found.

    `trials` follow the order of `entries`; `skipped` maps the name of a subject that this machine
    cannot run to what it lacks; `stopped` says why a run ended before its end, None if it did not.
    """

    settings: Settings
    environment: dict[str, Any]
    entries: tuple[Entry, ...]
    skipped: Mapping[str, str]
    trials: tuple[Trial, ...]
    stopped: str | None = None

    def of(self, entry: Entry) -> list[Trial]:
        """The trials of one entry, one for each dtype that is complete."""
        return [trial for trial in self.trials if trial.subject == entry.name]

    def among(self, entries: Sequence[Entry]) -> list[Trial]:
        """The trials of several entries."""
        return [trial for entry in entries for trial in self.of(entry)]

    @property
    def faults(self) -> tuple[Entry, ...]:
        """The entries that are faults."""
        return tuple(entry for entry in self.entries if not entry.sound)

    @property
    def sound(self) -> tuple[Entry, ...]:
        """The entries that are sound."""
        return tuple(entry for entry in self.entries if entry.sound)

    @property
    def missed(self) -> list[Trial]:
        """The faults, with a dtype, that the harness did not catch."""
        return [trial for trial in self.among(self.faults) if not trial.harness.caught]

    @property
    def flagged(self) -> list[Trial]:
        """The sound subjects, with a dtype, that the harness flagged."""
        return [trial for trial in self.among(self.sound) if trial.harness.caught]

    @property
    def exit_status(self) -> int:
        """0 every fault caught and no sound subject flagged; 1 not so; 3 nothing was run; 5 stopped
        before the end."""
        if self.missed or self.flagged:
            return EXIT_VIOLATION
        if self.stopped is not None:
            return EXIT_INCONCLUSIVE
        return EXIT_OK if self.trials else EXIT_NOTHING


def tasks(entries: Sequence[Entry], settings: Settings) -> list[Task]:
    """One task for each subject and dtype."""
    return [Task(entry.name, dtype, settings) for entry in entries for dtype in entry.dtypes]


def run_selftest(
    entries: Sequence[Entry],
    settings: Settings,
    *,
    jobs: int = 1,
    on_trial: OnTrial | None = None,
) -> Selftest:
    """Hold all contests, in `jobs` processes (1: in this one). `on_trial` is called after each.

    KeyboardInterrupt, or a process that is lost, ends the run with the trials found so far.
    """
    skipped = {entry.name: lacks for entry in entries if (lacks := entry.missing()) is not None}
    able = [entry for entry in entries if entry.name not in skipped]
    work = tasks(able, settings)
    found: dict[Task, Trial] = {}
    stopped = None
    try:
        with local(jobs) as executor:
            for task, trial in executor.run(contest, work):
                found[task] = trial
                if on_trial is not None:
                    on_trial(task)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except ExecutorError as error:
        stopped = str(error)
    return Selftest(
        settings=settings,
        # Subnormals are kept while a contest is held, in whatever mode this process was found.
        environment=describe_environment(seed=settings.seed, flush_to_zero=False),
        entries=tuple(able),
        skipped=skipped,
        trials=tuple(found[task] for task in work if task in found),
        stopped=stopped,
    )
