"""From what the searches found to finds: judged again through the mpmath oracle, and shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from harness.case import Case
from harness.grade import Grade
from harness.hunt.budget import Budget, TimeUp
from harness.hunt.case_search import CaseSearch
from harness.hunt.judge import (
    MISMATCH,
    RAISED,
    ULPS,
    CaseJudge,
    Figure,
    Judged,
    objective_of_case,
    point_case,
)
from harness.hunt.plan import Plan
from harness.hunt.point_search import PointSearch
from harness.hunt.scores import Objective
from harness.shrink import Shrinking

#: What is left of an error that counts as kept.
KEPT: Final = 0.99
#: Calls of the judge for one find: more where it is wrong, for that will be looked into.
_ALLOWANCE: Final = 60
_ALLOWANCE_OF_WRONG: Final = 250
#: The bulk oracle measures errors to 0.005 ulps.
_AGREEMENT: Final = 0.01


@dataclass(frozen=True, slots=True)
class Find:
    """The worst case of one objective.

    `found` is the case as the search met it, with `value` its figure, by the mpmath oracle where
    that has judged it (`judged` is None where the time did not suffice), else by the bulk oracle.
    `case` is the smallest that keeps 99 % of it, and `small` its judgement. `steady` is false where
    the same input gives another error by itself than it did among others. `point` says that the
    find is one number.
    """

    objective: Objective
    value: float
    found: Case
    case: Case
    origin: str
    evaluations: int
    point: bool
    judged: Judged | None = None
    small: Judged | None = None
    steady: bool = True

    @property
    def grade(self) -> Grade | None:
        """The grade of what is worst; None where it was not judged, or cannot be."""
        figure = self.figure
        return None if figure is None else figure.element.grade

    @property
    def figure(self) -> Figure | None:
        """The figure of the case as found."""
        return None if self.judged is None else self.judged.figures.get(self.objective)

    @property
    def raised(self) -> str | None:
        """What the subject raised."""
        return None if self.judged is None else self.judged.raised


def found_so_far(plan: Plan, points: PointSearch | None, cases: CaseSearch | None) -> list[Find]:
    """The finds of both searches, not yet judged again."""
    return [*_of_points(plan, points), *_of_cases(cases)]


def _of_points(plan: Plan, search: PointSearch | None) -> Iterator[Find]:
    if search is None:
        return
    for objective, record in search.records.items():
        if record.value > 0:
            case = point_case(plan, plan.format.from_bits(record.bits))
            yield Find(
                objective_of_case(plan, objective),
                record.value,
                case,
                case,
                record.origin,
                record.evaluations,
                point=True,
            )
    for quantity, record in search.mismatches.items():
        case = point_case(plan, plan.format.from_bits(record.bits))
        objective = objective_of_case(plan, Objective(quantity, MISMATCH))
        yield Find(objective, 1.0, case, case, record.origin, record.evaluations, point=True)
    for failure in search.failures:
        case = point_case(plan, plan.format.from_bits(failure.bits))
        judged = Judged(case, {}, None, failure.message, {})
        yield Find(Objective("call", RAISED), 1.0, case, case, "any", 0, point=True, judged=judged)


def _of_cases(search: CaseSearch | None) -> Iterator[Find]:
    if search is None:
        return
    for objective, record in search.records.items():
        case = record.judged.case
        yield Find(
            objective,
            record.value,
            case,
            case,
            record.origin,
            record.evaluations,
            point=False,
            judged=record.judged,
            small=record.judged,
        )


def judge_again(find: Find, judge: CaseJudge, budget: Budget) -> Find:
    """The find judged by itself, if the time suffices.

    It is unsteady if the same number gives another error by itself than in a block.
    """
    if find.judged is not None or budget.left <= 0:
        return find
    try:
        with budget.calling(find.found.to_json):
            judged = judge(find.found)
    except TimeUp:
        return find
    value = judged.value(find.objective)
    steady = find.objective.figure != ULPS or _agree(value, find.value)
    # What only a block shows keeps the figure that it had there.
    value = value if steady and value > 0 else find.value
    return replace(find, value=value, judged=judged, small=judged, steady=steady)


def _agree(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _AGREEMENT + 1e-6 * other


def shrunk(find: Find, judge: CaseJudge, budget: Budget, seconds: float) -> Find:
    """The find with the smallest case that keeps its error and grade, as far as can be found in so
    many seconds, or what is left of the budget.

    A KeyboardInterrupt passes, TimeUp does not.
    """
    until = budget.left - seconds
    judged = find.judged
    if judged is None or not find.steady or judged.value(find.objective) <= 0:
        return find
    least = KEPT * judged.value(find.objective)
    grade = find.grade
    kept: dict[Case, Judged] = {}

    def keeps(case: Case) -> bool:
        if budget.left <= max(until, 0.0):
            raise TimeUp
        with budget.calling(case.to_json):
            again = judge(case)
        figure = again.figures.get(find.objective)
        rank = None if figure is None or figure.element.grade is None else figure.element.grade.rank
        if again.value(find.objective) < least or (
            grade is not None and (rank is None or rank < grade.rank)
        ):
            return False
        kept[case] = again
        return True

    shrinking = Shrinking(find.found, inputs_only=find.point)
    with suppress(TimeUp):
        shrinking.run(keeps, _ALLOWANCE_OF_WRONG if grade is Grade.WRONG else _ALLOWANCE)
    case = shrinking.case
    return replace(find, case=case, small=kept.get(case, judged))
