"""A whole self-test: what is run, what ends it, and the exit status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.executor import ExecutorError
from harness.selftest.contest import Settings, Task, Trial
from harness.selftest.entries import select
from harness.selftest.run import Selftest, run_selftest, tasks
from tests.harness.selftest.made_up import CAUGHT, GOOD, PASSED, selftest, trial

SETTINGS = Settings(examples=20, seed=1, budget=0.01)


def _made_up(task: Task) -> Trial:
    return trial(task.subject, task.dtype, CAUGHT)


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (GOOD, 0),
        (selftest(trial("wrong-sign", "float32", PASSED)), 1),
        (selftest(trial("dot", "float32", CAUGHT)), 1),
        (selftest(trial("dot", "float32", CAUGHT), stopped="interrupted"), 1),
        (selftest(trial("dot", "float32", PASSED), stopped="interrupted"), 5),
        (selftest(), 3),
        (selftest(stopped="interrupted"), 5),
    ],
    ids=[
        "all as it should be -> 0",
        "a fault missed -> 1",
        "a false alarm -> 1",
        "a false alarm, interrupted -> 1",
        "interrupted -> 5",
        "nothing run -> 3",
        "interrupted at once -> 5",
    ],
)
def test_exit_status(found: Selftest, status: int) -> None:
    """What rivals miss or flag has no part in it."""
    assert status == found.exit_status


def test_one_task_for_each_dtype() -> None:
    """In the order of the bank."""
    entries = select(["dot", "accumulates-in-storage"], None, ["float16", "bfloat16"])
    assert [
        "accumulates-in-storage float16",
        "accumulates-in-storage bfloat16",
        "dot float16",
        "dot bfloat16",
    ] == [str(task) for task in tasks(entries, SETTINGS)]


@pytest.mark.parametrize(
    ("error", "stopped"),
    [(KeyboardInterrupt(), "interrupted"), (ExecutorError("a worker is lost"), "a worker is lost")],
)
def test_what_is_complete_is_kept(
    error: BaseException, stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the run is stopped."""

    def stopping(task: Task) -> Trial:
        if task.dtype == "float32":
            raise error
        return _made_up(task)

    monkeypatch.setattr("harness.selftest.run.contest", stopping)
    done: list[Task] = []
    found = run_selftest(select(["wrong-sign"]), SETTINGS, on_trial=done.append)
    assert stopped == found.stopped
    assert ["float16", "bfloat16"] == [each.dtype for each in found.trials]
    assert ["wrong-sign float16", "wrong-sign bfloat16"] == [str(task) for task in done]
    assert 5 == found.exit_status


def test_what_this_machine_lacks_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; it is neither missed nor flagged."""
    monkeypatch.setattr("harness.selftest.run.contest", _made_up)
    entries = [
        replace(each, missing=lambda: "no such compiler") if each.name == "dot" else each
        for each in select(["wrong-sign", "dot"], None, ["float32"])
    ]
    found = run_selftest(entries, SETTINGS)
    assert {"dot": "no such compiler"} == found.skipped
    assert ["wrong-sign"] == [each.subject for each in found.trials]
    assert ["wrong-sign"] == [each.name for each in found.entries]


@pytest.mark.slow
def test_processes_find_the_same() -> None:
    """Whatever the order in which they end."""
    entries = select(["wrong-sign", "dot"], None, ["float32", "float64"])
    here, there = (run_selftest(entries, SETTINGS, jobs=jobs) for jobs in (1, 2))
    assert [[(each.caught, each.how) for each in trial.outcomes] for trial in here.trials] == [
        [(each.caught, each.how) for each in trial.outcomes] for trial in there.trials
    ]
