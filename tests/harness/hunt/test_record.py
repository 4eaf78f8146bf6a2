"""A hunt as JSON, and its tables."""

import json
from io import StringIO
from typing import Any

import pytest

from harness.case import Case
from harness.explain import explain_case
from harness.hunt.engine import Hunt, run_hunt
from harness.hunt.plan import make_plan
from harness.hunt.record import to_json
from harness.hunt.table import case_lines, finds_table, tail_line
from harness.subjects import load
from harness.terminal import table_text


def hunt_of(name: str, kind: str | None = None, evaluations: int = 40_000) -> Hunt:
    plan = make_plan(
        load(name, kind), dtype="float64", seconds=None, evaluations=evaluations, locator=name
    )
    return run_hunt(plan)


@pytest.fixture(scope="module")
def textbook() -> Hunt:
    return hunt_of("textbook", evaluations=70_000)


def _entry(hunt: Hunt) -> dict[str, Any]:
    record = json.loads(to_json(hunt))
    assert "neuron-harness/sweep/1" == record["schema"]
    (entry,) = record["sweeps"]
    return dict(entry)


def test_the_figures_of_numbers_are_those_of_a_sweep(textbook: Hunt) -> None:
    """The keys that every reader of a sweep finds, and the points that were tried."""
    entry = _entry(textbook)
    assert ("textbook", "neuron", "float64", "cpu") == tuple(
        entry[key] for key in ("subject", "kind", "dtype", "device")
    )
    assert entry["complete"] is True
    for name in ("output", "gradient"):
        quantity = entry["quantities"][name]
        assert entry["points"] == sum(each["points"] for each in quantity["segments"])
        assert quantity["max_ulp"] == max(each["max_ulp"] for each in quantity["segments"])
        assert {"worst_x", "misrounded", "unfaithful", "nonfinite_mismatch"} <= set(quantity)
    gradient = entry["quantities"]["gradient"]
    finds = {
        (find["quantity"], find["figure"]): find["value"]
        for find in entry["hunt"]["finds"]
        if len(find["found_case"]["inputs"]) == 1
    }
    assert gradient["max_scaled_error"] == pytest.approx(
        finds["bias_gradient", "scaled error"], rel=1e-6
    )
    assert ["output-bounded", "gradient-sign"] == [law["name"] for law in entry["laws"]]


def test_finds_are_cases_that_explain_takes(textbook: Hunt) -> None:
    """Each shows again the error that the hunt reports."""
    for find in _entry(textbook)["hunt"]["finds"]:
        case = Case.from_json(json.dumps(find["found_case"]))
        assert f"{find['ulps']:+.4g}" in explain_case("textbook", case)
        assert Case.from_json(json.dumps(find["case"]))


def test_whole_neurons_have_figures_by_regime(textbook: Hunt) -> None:
    """The worst of all is the worst of one."""
    neurons = _entry(textbook)["neurons"]
    assert textbook.cases == neurons["cases"]
    for quantity in neurons["quantities"].values():
        regimes = quantity["segments"]
        assert neurons["cases"] == sum(each["points"] for each in regimes)
        assert quantity["max_ulp"] == max(each["max_ulp"] for each in regimes)
        assert quantity["max_bound_ratio"] == max(each["max_bound_ratio"] for each in regimes)


def test_equal_hunts_print_equal_json() -> None:
    """No time is in it."""
    assert to_json(hunt_of("sigmoid")) == to_json(hunt_of("sigmoid"))


def test_without_a_gradient_there_are_no_figures_of_it() -> None:
    """Nothing is reported that was not tried."""
    entry = _entry(hunt_of("math:tanh", "activation"))
    assert ["output"] == list(entry["quantities"])
    assert ["output"] == [find["quantity"] for find in entry["hunt"]["finds"]]


def test_the_table_shows_every_find(textbook: Hunt) -> None:
    """A row for each, and commands for those that are numbers."""
    text = table_text(finds_table(textbook), StringIO())
    assert len(textbook.finds) == text.count("\n") - 2
    lines = case_lines(textbook)
    assert lines
    assert all(line.startswith("again: neuron-harness explain textbook '{") for line in lines)
    assert "70,000 inputs" in tail_line(textbook)
