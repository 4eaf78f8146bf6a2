"""A whole sweep: its blocks through an executor, into the store, and together again."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import torch

from harness._version import __version__
from harness.executor import Executor, ExecutorError, WorkerCrashed
from harness.store import Store, StoreError
from harness.subjects import SubjectError
from harness.sweep.apply import SubjectFailed
from harness.sweep.look import look_first
from harness.sweep.plan import Block, Plan, describe
from harness.sweep.summary import Summary
from harness.sweep.task import Task, carry_out, decode, portable

#: The kind of a sweep's run in the store.
RUN_KIND: Final = "sweep"


class Watch(Protocol):
    """Is told how a sweep goes on."""

    def begin(self, points: int, done: int) -> None:
        """A sweep of `points` starts, of which `done` are known from before."""
        ...

    def advance(self, points: int) -> None:
        """So many more are done, and stored."""
        ...

    def notice(self, text: str) -> None:
        """One line the user should see."""
        ...


class Silent:
    """A watch that watches nothing."""

    def begin(self, points: int, done: int) -> None:
        """Nobody watches."""

    def advance(self, points: int) -> None:
        """Nobody watches."""

    def notice(self, text: str) -> None:
        """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: its summary (None where no block was completed), whether that is all of
    it, and in one line each what stopped it and how the subject failed."""

    plan: Plan
    summary: Summary | None
    complete: bool
    stopped: str | None = None
    error: str | None = None
    #: Wall time of this run in seconds, and the points it did itself (others came from the store).
    seconds: float = 0.0
    fresh_points: int = 0
    #: Points of blocks that are in the summary but that the store did not take.
    unstored_points: int = 0
    #: Whether the store holds what a later sweep can go on from.
    resumable: bool = False


def run_sweep(
    plan: Plan,
    *,
    executor: Executor,
    by_name: bool = False,
    store: Store | None = None,
    resume: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Carry out a plan. `by_name`: workers load the subject by its name instead of being sent it.

    Blocks go into `store` as they are completed; `resume` takes those of the latest run of an equal
    plan in an equal environment, and adds the rest. The figures are the same either way, and for
    any executor and order of completion, to the last bit. KeyboardInterrupt, a store that refuses
    and workers that keep dying end the sweep with what was completed, stored or not. A stored block
    that is damaged is computed again, after a notice.

    The subject is called where the executor's work is done, the first time too. Raises CannotVerify
    if it does not have the shape of its kind, or does not survive or return from its first calls.
    """
    watch = watch or Silent()
    plan = look_first(plan, executor, by_name, watch)
    contents: dict[str, bytes] = {}
    stopped = error = None
    run: int | None = None
    started = time.perf_counter()
    known = unstored = 0
    lost = False
    try:
        if store is not None:
            run, contents = _enter_run(store, plan, resume, watch)
        known = sum(block.points for block in plan.blocks() if block.name in contents)
        watch.begin(plan.points, known)
        tasks = _tasks(plan, contents, by_name)
        for task, content in executor.run(carry_out, tasks):
            # First: a store that refuses the block does not take it from the summary.
            contents[task.block.name] = content
            if store is not None and run is not None:
                unstored = task.block.points
                store.put(run, [(task.block.name, content)])
                unstored = 0
            watch.advance(task.block.points)
        if store is not None and run is not None:
            store.finish(run)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except StoreError as trouble:
        stopped = str(trouble)
        lost = trouble.lost
    except (SubjectFailed, WorkerCrashed) as trouble:
        error = str(trouble)
    except (ExecutorError, SubjectError) as trouble:
        stopped = str(trouble)
    summary = assemble(plan, contents.values())
    points = 0 if summary is None else summary.points
    return Outcome(
        plan,
        summary,
        complete=points == plan.points,
        stopped=stopped,
        error=error,
        seconds=time.perf_counter() - started,
        fresh_points=points - known,
        unstored_points=unstored,
        resumable=run is not None and not lost,
    )


def assemble(plan: Plan, contents: Iterable[bytes]) -> Summary | None:
    """The summary of encoded blocks of a plan, in whatever order they come; None of none."""
    summaries = sorted(map(decode, contents), key=lambda summary: summary.start)
    if not summaries:
        return None
    return reduce(lambda lower, upper: lower.merge(upper, plan), summaries)


def _tasks(plan: Plan, done: Mapping[str, bytes], by_name: bool) -> Iterator[Task]:
    sent = portable(plan) if by_name else plan
    # The names of what is done when the sweep begins; `done` grows while this is drawn from.
    skipped = frozenset(done)
    for block in plan.blocks():
        if block.name not in skipped:
            yield Task(sent, block, by_name)


def _enter_run(
    store: Store, plan: Plan, resume: bool, watch: Watch
) -> tuple[int, dict[str, bytes]]:
    """The run to store blocks under, and the blocks it has already."""
    facts = {**describe(plan), "environment": environment(), "source": _source_hash(plan)}
    identity = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    latest = store.latest(RUN_KIND, identity)
    if resume and latest is not None:
        return latest.id, _sound_parts(store, latest.id, plan, watch)
    if resume:
        watch.notice("nothing to resume: no stored sweep has this plan in this environment")
    elif latest is not None and latest.finished is not None:
        # What is complete nobody writes to any more, and this sweep takes its place.
        store.discard(latest.id)
    return store.begin(RUN_KIND, identity, facts).id, {}


def _sound_parts(store: Store, run: int, plan: Plan, watch: Watch) -> dict[str, bytes]:
    """The stored blocks of a plan, but for those that are damaged."""
    blocks = {block.name: block for block in plan.blocks()}
    sound: dict[str, bytes] = {}
    damaged: list[Block] = []
    for name, content in store.parts(run):
        block = blocks.get(name)
        if block is None:
            continue
        try:
            summary = decode(content)
        except ValueError:
            damaged.append(block)
            continue
        if (summary.start, summary.stop, summary.points) == (
            block.start,
            block.stop,
            block.points,
        ):
            sound[name] = content
        else:
            damaged.append(block)
    if damaged:
        points = sum(block.points for block in damaged)
        watch.notice(
            f"damaged blocks in the store: {len(damaged)}; computing their {points:,} points again"
        )
    return sound


def environment() -> dict[str, str]:
    """What results may depend on besides the subject."""
    return {
        "neuron_harness": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def _source_hash(plan: Plan) -> str:
    """A hash of the file that defines the subject, so that no sweep goes on with another's blocks;
    "" where no file does."""
    function = inspect.unwrap(plan.subject.function)
    try:
        file = inspect.getsourcefile(getattr(function, "__func__", function))
    except TypeError:
        # An instance, or a bound apply of an autograd.Function: its class stands in a file.
        try:
            owner = getattr(function, "__self__", type(function))
            file = inspect.getsourcefile(owner if inspect.isclass(owner) else type(owner))
        except TypeError:
            file = None
    if file is None:
        return ""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""
