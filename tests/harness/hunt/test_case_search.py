"""The hunt over whole neurons."""

from collections.abc import Callable
from typing import Any

from harness.grade import Grade
from harness.hunt.budget import Budget
from harness.hunt.case_search import CaseSearch
from harness.hunt.judge import BOUND_RATIO, RAISED, ULPS, CaseJudge
from harness.hunt.plan import make_plan
from harness.hunt.scores import Objective
from harness.subjects import Kind, Subject
from tests.harness.hunt import neurons

OUTPUT_RATIO = Objective("output", BOUND_RATIO)


def search(
    function: Callable[..., Any], cases: int, dtype: str = "float64", seed: int = 0
) -> CaseSearch:
    """A search of so many cases."""
    plan = make_plan(Subject("planted", Kind.NEURON, function), dtype=dtype, seed=seed)
    budget = Budget(None, cases)
    found = CaseSearch(plan, CaseJudge(plan), budget)
    while not budget.spent():
        found.step()
    return found


def test_a_lost_term_is_found_within_300_cases() -> None:
    """The error over the bound is far above 1."""
    found = search(neurons.loses_the_seventeenth, 300)
    record = found.records[OUTPUT_RATIO]
    assert record.value > 1e3
    assert Grade.WRONG is record.judged.grade
    assert len(record.judged.case.inputs) > 16


def test_a_gradient_cut_off_is_found_within_300_cases() -> None:
    """In every quantity that it spoils, and not in the output."""
    found = search(neurons.off_where_saturated, 300)
    for quantity in ("bias_gradient", "input_gradient", "weight_gradient"):
        assert found.records[Objective(quantity, BOUND_RATIO)].value > 1
    assert found.records[OUTPUT_RATIO].value <= 1 if OUTPUT_RATIO in found.records else True


def test_a_sound_neuron_has_no_wrong_find() -> None:
    """Errors in ulps may be huge where sums cancel; the bound explains them all."""
    found = search(neurons.sound, 400)
    assert found.records[Objective("output", ULPS)].value > 1e3
    for record in found.records.values():
        assert Grade.WRONG is not record.judged.grade
    ratios = [r.value for o, r in found.records.items() if o.figure == BOUND_RATIO]
    assert max(ratios) <= 1


def test_the_search_beats_mere_drawing() -> None:
    """With as many cases, changing the worst brings the error nearer to the bound."""
    found = search(neurons.sound, 500, seed=3)
    changed = [
        record
        for objective, record in found.records.items()
        if objective.figure == BOUND_RATIO and not record.origin.startswith("drawn")
    ]
    assert changed


def test_equal_seeds_give_equal_records() -> None:
    """And other seeds others."""

    def values(seed: int) -> dict[Objective, tuple[float, str]]:
        found = search(neurons.sound, 150, dtype="float32", seed=seed)
        return {o: (r.value, r.judged.case.to_json()) for o, r in found.records.items()}

    assert values(1) == values(1)
    assert values(1) != values(2)


def test_given_cases_come_first() -> None:
    """A case from an earlier hunt is judged before anything is drawn."""
    plan = make_plan(Subject("planted", Kind.NEURON, neurons.sound), dtype="float64")
    case = search(neurons.sound, 50).records[Objective("output", ULPS)].judged.case
    budget = Budget(None, 1)
    found = CaseSearch(plan, CaseJudge(plan), budget, [case])
    found.step()
    assert case == found.records[Objective("output", ULPS)].judged.case
    assert {"given"} == set(found.figures)


def test_what_raises_is_a_find() -> None:
    """The case is kept with what was raised, and the search goes on."""
    found = search(neurons.raises_for_long, 120)
    record = found.records[Objective("call", RAISED)]
    assert "ValueError: too long" == record.judged.raised
    assert len(record.judged.case.inputs) > 4
    assert 120 == found.cases
