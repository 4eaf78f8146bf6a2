"""A whole hunt: the searches by turns until the budget is used up, then the finds judged again,
shrunk and stored."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

import torch

from harness.case import Case
from harness.contract import NEURON_QUANTITIES, TANH_GRADIENT_QUANTITIES
from harness.errors import CannotVerify
from harness.flush import subnormals_kept
from harness.grade import Grade
from harness.hunt.budget import Budget, TimeUp
from harness.hunt.case_search import CaseSearch, RegimeFigures
from harness.hunt.evaluate import Evaluator, Form
from harness.hunt.finds import Find, found_so_far, judge_again, shrunk
from harness.hunt.judge import CaseJudge, point_case
from harness.hunt.known import known_numbers
from harness.hunt.memory import remember, remembered
from harness.hunt.plan import Plan
from harness.hunt.point_search import PointSearch
from harness.store import Store, StoreError
from harness.subjects import Kind
from harness.sweep.engine import Outcome
from harness.sweep.record import Sweep, finish

#: Of the seconds, what is kept for judging again and shrinking: a share, and at most. Cases of
#: whole neurons take longer.
_RESERVE: Final = (0.1, 2.0)
_RESERVE_OF_NEURONS: Final = (0.25, 5.0)
#: Seconds between two writings of what was found so far.
_STORED_EVERY: Final = 10.0


class Watch(Protocol):
    """Is told how a hunt goes on."""

    def progress(self, budget: Budget, finds: Mapping[str, float]) -> None:
        """So much of the budget is used, and these are the largest figures."""
        ...

    def notice(self, text: str) -> None:
        """One line the user should see."""
        ...


class Silent:
    """A watch that watches nothing."""

    def progress(self, budget: Budget, finds: Mapping[str, float]) -> None:
        """Nobody watches."""

    def notice(self, text: str) -> None:
        """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """A finished or interrupted hunt.

    `sweep` holds the figures over all single numbers that were tried, `regimes` those over whole
    neurons, `cases` how many of these there were. `exhausted` says that every number of the format
    was tried; `stopped` what ended the hunt before its budget. `breaches` are laws of a single call
    that were broken, with a message and the case.
    """

    plan: Plan
    sweep: Sweep
    form: Form
    finds: tuple[Find, ...]
    regimes: Mapping[str, RegimeFigures]
    cases: int
    unjudged: int
    breaches: Mapping[str, tuple[str, Case]]
    evaluations: int
    seconds: float
    started_from: int
    exhausted: bool
    stopped: str | None
    #: The call that was ended because the time was over, in one line; None where there was none.
    unreturned: str | None = None


@dataclass(slots=True)
class _Searches:
    """The searches of a hunt; either may be missing."""

    evaluator: Evaluator | None = None
    judge: CaseJudge | None = None
    points: PointSearch | None = None
    cases: CaseSearch | None = None
    exhausted: bool = False
    started_from: int = 0
    finds: list[Find] = field(default_factory=list)


def run_hunt(plan: Plan, *, store: Store | None = None, watch: Watch | None = None) -> Hunt:
    """Carry out a plan. Finds go into `store`, from which the next hunt starts, unless it is cold.

    KeyboardInterrupt and a store that refuses end the hunt with what was found; a second interrupt
    is raised. A subject that does not return when the time is over is interrupted, in the main
    thread. Raises CannotVerify for a subject that cannot be called as its kind is, or not once in
    the whole time, and for a store that refuses before the first call.
    """
    watch = watch or Silent()
    budget = Budget(plan.seconds, plan.evaluations)
    share, most = _RESERVE_OF_NEURONS if plan.kind is Kind.NEURON else _RESERVE
    reserve = 0.0 if plan.seconds is None else min(share * plan.seconds, most)
    searches = _Searches()
    stopped = None
    with subnormals_kept(), _one_thread():
        try:
            with budget.alarm(reserve):
                _set_up(searches, plan, budget, store, watch)
                _search(searches, plan, budget, reserve, store, watch)
        except TimeUp:
            pass
        except KeyboardInterrupt:
            stopped = "interrupted"
        except StoreError as error:
            if searches.evaluator is None:
                raise CannotVerify(str(error)) from None
            stopped = str(error)
        if searches.evaluator is None:
            if stopped is not None:
                raise KeyboardInterrupt
            raise CannotVerify(
                f"{plan.subject.name} did not return from its first calls in {plan.seconds:g} s; "
                "expected thousands of calls in that time; raise --budget"
            )
        searches.finds = found_so_far(plan, searches.points, searches.cases)
        try:
            with budget.alarm():
                _finish_finds(searches, budget, shrink=stopped is None)
        except KeyboardInterrupt:
            stopped = stopped or "interrupted"
        if store is not None:
            try:
                _store(searches, plan, store)
            except StoreError as error:
                stopped = str(error)
    return _record(searches, plan, budget, stopped)


def _set_up(
    searches: _Searches, plan: Plan, budget: Budget, store: Store | None, watch: Watch
) -> None:
    with budget.calling():
        evaluator = Evaluator(plan)
    if evaluator.unbatched is not None:
        watch.notice(
            f"{plan.subject.name} cannot be batched with torch.func.vmap ({evaluator.unbatched}); "
            "calling it once for each input"
        )
    if evaluator.form is not Form.SWEPT:
        watch.notice(f"{plan.subject.name} is called {evaluator.form.value}: its output is hunted")
    earlier = [] if store is None or plan.cold else remembered(store, plan)
    numbers = list(known_numbers(plan.format)) if plan.known else []
    stop = evaluator.sweep.positive[1]
    sign = 1 << plan.format.width - 1
    first = [
        bits
        for x in (*numbers, *(case.inputs[0] for case in earlier if _is_point(plan, case)))
        if (bits := plan.format.to_bits(x)) & sign - 1 < stop
    ]
    searches.judge = CaseJudge(plan, evaluator)
    searches.points = PointSearch(plan, evaluator, budget, list(dict.fromkeys(first)))
    searches.started_from = len(first)
    if plan.kind is Kind.NEURON:
        cases = [case for case in earlier if not _is_point(plan, case)]
        searches.cases = CaseSearch(plan, searches.judge, budget, cases)
        searches.started_from += len(cases)
    searches.evaluator = evaluator


def _is_point(plan: Plan, case: Case) -> bool:
    """Whether a case stands for one number."""
    return len(case.inputs) == 1 and case == point_case(plan, case.inputs[0])


def _search(
    searches: _Searches,
    plan: Plan,
    budget: Budget,
    reserve: float,
    store: Store | None,
    watch: Watch,
) -> None:
    stored = time.monotonic()
    points, cases = searches.points, searches.cases
    while not budget.spent(reserve):
        if points is not None and not searches.exhausted:
            searches.exhausted = not points.step()
        if cases is not None:
            cases.step()
        elif searches.exhausted:
            return
        watch.progress(budget, _largest(points, cases))
        if store is not None and time.monotonic() - stored > _STORED_EVERY:
            searches.finds = found_so_far(plan, points, cases)
            _store(searches, plan, store)
            stored = time.monotonic()


def _largest(points: PointSearch | None, cases: CaseSearch | None) -> dict[str, float]:
    found: dict[str, float] = {}
    if points is not None:
        found |= {str(objective): record.value for objective, record in points.records.items()}
    if cases is not None:
        found |= {
            f"{objective} (neurons)": record.value for objective, record in cases.records.items()
        }
    return found


def _finish_finds(searches: _Searches, budget: Budget, *, shrink: bool) -> None:
    """Judge the finds again and shrink them, the wrong ones first, in place, so that an interrupt
    leaves the others."""
    judge = searches.judge
    assert judge is not None
    for index, find in enumerate(searches.finds):
        searches.finds[index] = judge_again(find, judge, budget)
    if not shrink:
        return
    searches.finds.sort(key=lambda find: (find.grade is not Grade.WRONG, not find.point))
    for index, find in enumerate(searches.finds):
        seconds = budget.left / (len(searches.finds) - index)
        searches.finds[index] = shrunk(find, judge, budget, seconds)


def _store(searches: _Searches, plan: Plan, store: Store) -> None:
    remember(
        store,
        plan,
        [(_stored_name(find), find.value, (find.found, find.case)) for find in searches.finds],
    )


def _stored_name(find: Find) -> str:
    return f"{find.objective} of {'numbers' if find.point else 'neurons'}"


def _record(searches: _Searches, plan: Plan, budget: Budget, stopped: str | None) -> Hunt:
    points, cases, evaluator = searches.points, searches.cases, searches.evaluator
    assert points is not None and evaluator is not None
    summary = points.figures.summary() if points.figures.points else None
    outcome = Outcome(
        evaluator.sweep,
        summary,
        complete=stopped is None,
        stopped=stopped,
        seconds=budget.seconds,
        fresh_points=points.figures.points,
    )
    return Hunt(
        plan=plan,
        sweep=finish(outcome),
        form=evaluator.form,
        finds=tuple(_ordered(searches.finds)),
        regimes={} if cases is None else cases.figures,
        cases=0 if cases is None else cases.cases,
        unjudged=0 if cases is None else cases.unjudged,
        breaches={} if cases is None else cases.breaches,
        evaluations=budget.evaluations,
        seconds=budget.seconds,
        started_from=searches.started_from,
        exhausted=searches.exhausted,
        stopped=stopped,
        unreturned=budget.unreturned,
    )


def _ordered(finds: Sequence[Find]) -> list[Find]:
    """Numbers first, then by quantity and figure as they come."""
    order = {name: place for place, name in enumerate(_PLACES)}
    return sorted(
        finds,
        key=lambda find: (
            not find.point,
            order.get(find.objective.quantity, len(order)),
            find.objective.figure,
        ),
    )


_PLACES: Final = ("call", *TANH_GRADIENT_QUANTITIES, *NEURON_QUANTITIES)


@contextmanager
def _one_thread() -> Iterator[None]:
    """torch on one thread: the batches are too short to share."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
