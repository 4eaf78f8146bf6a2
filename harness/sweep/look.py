"""The first look at a subject, where its blocks will run: it may end the process or never return.

What is learnt: that it has the shape of its kind, and whether a neuron of it can be batched.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from harness.errors import CannotVerify
from harness.executor import Executor, ExecutorError
from harness.sweep.apply import Subject, arguments, probe
from harness.sweep.plan import Plan
from harness.sweep.task import in_worker, portable

#: Seconds without an answer after which the user is told what is waited for, and after which no
#: answer is expected any more. The start of a process and a compiler may take a good part of it.
TOLD_AFTER: Final = 15.0
PATIENCE: Final = 300.0

_TIMED_CALLS: Final = 64


class Notices(Protocol):
    """Takes lines that the user should see."""

    def notice(self, text: str) -> None:
        """One line the user should see."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """A first look on its way to a worker. `by_name` is as for a task."""

    plan: Plan
    by_name: bool

    def __str__(self) -> str:
        return "the first call"


class Seen(NamedTuple):
    """Why a neuron cannot be batched (None: it can), and how many seconds one call of it takes."""

    unbatched: str | None
    seconds: float


def look(item: Look) -> Seen:
    """Call the subject a few times. For executors: runs anywhere. Raises CannotVerify, in one line,
    for a subject that cannot be swept, and SubjectError for one that cannot be loaded here."""
    plan = in_worker(item.plan) if item.by_name else item.plan
    plan, reason = probe(plan)
    return Seen(reason, 0.0 if reason is None else _seconds_of_a_call(plan))


def look_first(plan: Plan, executor: Executor, by_name: bool, watch: Notices) -> Plan:
    """The plan as it can be carried out. The watch is told if that takes one call for each number.

    Raises CannotVerify, in one line, for a subject that cannot be swept, does not return or takes
    its process with it.
    """
    name = plan.subject.name
    item = Look(portable(plan) if by_name else plan, by_name)
    waiting = threading.Timer(
        TOLD_AFTER, watch.notice, [f"waiting for {name} to return from its first calls"]
    )
    waiting.daemon = True
    waiting.start()
    try:
        ((_, seen),) = list(executor.run(look, [item], patience=PATIENCE))
    except TimeoutError:
        raise CannotVerify(
            f"{name} cannot be swept in {plan.dtype}: it did not return from its first calls, on 3 "
            f"ordinary numbers, in {PATIENCE:g} s; expected a return in a fraction of a second"
        ) from None
    except ExecutorError as error:
        raise CannotVerify(f"{name} cannot be swept in {plan.dtype}: {error}") from None
    finally:
        waiting.cancel()
    if seen.unbatched is None:
        return plan
    plan = replace(plan, batched=False)
    watch.notice(
        f"{name} cannot be batched with torch.func.vmap ({seen.unbatched}); calling it once for "
        f"each input: {plan.points} calls, about {_duration(seen.seconds * plan.points)} on one "
        "core"
    )
    return plan


def _seconds_of_a_call(plan: Plan) -> float:
    """The mean of a few calls on single numbers."""
    subject = Subject(plan)
    start = plan.format.to_bits(0.5)
    given = arguments(plan, start, start + _TIMED_CALLS, 0)
    clock = time.perf_counter()
    subject.single(given)
    return (time.perf_counter() - clock) / _TIMED_CALLS


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
