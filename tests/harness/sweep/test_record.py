"""Records: what is published, and what a sweep's exit status rests on."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from harness.grade import Grade
from harness.subjects import Subject, load
from harness.sweep.engine import Outcome, environment
from harness.sweep.plan import make_plan
from harness.sweep.record import Sweep, finish, to_json
from harness.sweep.table import law_lines
from tests.harness.sweep.subjects_under_sweep import patched, spoilt_at, subject, swept


def record(sweep: Sweep) -> dict[str, Any]:
    found = json.loads(to_json([sweep], environment()), parse_constant=pytest.fail)
    assert "neuron-harness/sweep/1" == found["schema"]
    (only,) = found["sweeps"]
    return dict(only)


def test_a_record_holds_what_its_schema_promises() -> None:
    """Names, figures, segments that add up to the whole, laws."""
    found = record(swept(load("textbook"), dtype="float16"))
    assert ("textbook", "neuron", "float16", "cpu") == (
        found["subject"],
        found["kind"],
        found["dtype"],
        found["device"],
    )
    assert (65536, True) == (found["points"], found["complete"])
    assert {"output", "gradient"} == set(found["quantities"])
    for name, quantity in found["quantities"].items():
        parts = quantity["segments"]
        for figure in ("points", "misrounded", "unfaithful", "nonfinite_mismatch"):
            assert quantity[figure] == sum(part[figure] for part in parts)
        assert quantity["max_ulp"] == max(part["max_ulp"] for part in parts)
        counts = quantity["histogram"]["counts"]
        assert counts == [
            sum(column) for column in zip(*(p["histogram"] for p in parts), strict=True)
        ]
        assert len(counts) == len(quantity["histogram"]["edges"]) + 1
        assert (name == "gradient") == ("max_scaled_error" in quantity)
        assert quantity["worst_x"] == quantity["worst"][0]["x"]
        assert 10 == len(quantity["worst"])
    assert "0x1.4cc0000000000p+2" == found["quantities"]["gradient"]["worst_x"]
    assert {"output-bounded", "gradient-sign", "lanes"} == {
        law["name"] for law in found["laws"] if law["required"]
    }


def test_a_worst_input_is_written_so_that_a_case_can_be_made_of_it() -> None:
    """The hexadecimal text of a member of the format, beside what came out and should have."""
    quantity = record(swept(spoilt_at("output", 0.5, 0.25), dtype="float16"))["quantities"][
        "output"
    ]
    entry = quantity["worst"][0]
    assert "0x1.0000000000000p-1" == entry["x"]
    assert "0x1.0000000000000p-2" == entry["computed"]
    assert "0x1.d940000000000p-2" == entry["rounded"]
    assert entry["ulps"] == pytest.approx((0.25 - 0.46211715726) / 2.0**-12, abs=0.01)


def test_pairs_name_the_upstream_gradient_too() -> None:
    """Where pairs are swept a place is a y and a g."""
    from functools import reduce

    from harness.sweep.block import sweep_block
    from harness.sweep.plan import Block

    plan = make_plan(load("aten-tanh-gradient"), dtype="bfloat16", pairs=True)
    start = plan.format.to_bits(0.5) << 15
    (summary,) = [sweep_block(plan, Block(start, start + 40000, (0, 1, 2, 3)))]
    assert summary is reduce(lambda a, _: a, [summary])
    found = record(finish(Outcome(plan, summary, complete=False)))["quantities"]["gradient"]
    assert {"x", "upstream_gradient", "ulps", "computed", "rounded"} == set(found["worst"][0])
    assert {"worst_x", "worst_upstream_gradient"} <= set(found)


@pytest.mark.parametrize(
    ("name", "required", "status"),
    [
        ("textbook", None, 0),
        ("textbook", Grade.FAITHFUL, 1),
        ("aten-tanh-gradient", Grade.CORRECT, 0),
    ],
    ids=["textbook -> 0", "textbook, faithful required -> 1", "aten, correct required -> 0"],
)
def test_a_grade_decides_only_where_it_is_required(
    name: str, required: Grade | None, status: int
) -> None:
    """Without --require figures are reported, not judged."""
    sweep = finish(swept(load(name), dtype="bfloat16").outcome, required)
    assert status == sweep.exit_status
    assert (status == 0) == record(sweep)["passed"]


@pytest.mark.parametrize(
    ("spoilt", "status"),
    [
        (spoilt_at("output", 0.5, 1.5), 1),
        (spoilt_at("gradient", 0.5, -1.0), 1),
        (spoilt_at("output", 0.5, 0.25), 0),
    ],
    ids=["|y| > 1 -> 1", "d < 0 -> 1", "not odd, not monotone -> 0"],
)
def test_required_laws_decide_and_observed_laws_do_not(spoilt: Subject, status: int) -> None:
    """The law that breaks is named with its first place."""
    sweep = swept(spoilt, dtype="float16")
    assert status == sweep.exit_status
    assert status == len(sweep.failures)
    assert all("first at 0x1.0000000000000p-1" in failure for failure in sweep.failures)


def test_a_sweep_that_was_stopped_has_not_passed() -> None:
    """Neither has it failed: what was not swept is not known."""
    outcome = swept(load("torch-tanh"), dtype="bfloat16").outcome
    found = record(finish(replace(outcome, complete=False, stopped="interrupted")))
    assert (False, []) == (found["passed"], found["failures"])


def test_a_broken_required_law_is_told_once() -> None:
    """Among the failures, not among the laws as well."""
    sweep = swept(spoilt_at("output", 0.5, 1.5), dtype="float16")
    lines = law_lines(sweep)
    assert any("output-bounded" in failure for failure in sweep.failures)
    assert not any("output-bounded" in line for line in lines)
    assert any("law output-odd (observed) broken" in line for line in lines)


def test_a_grade_that_needs_bounds_cannot_be_required() -> None:
    """Sweeps judge without bounds."""
    with pytest.raises(ValueError, match="textbook cannot be required of a sweep"):
        finish(swept(load("textbook"), dtype="bfloat16").outcome, Grade.TEXTBOOK)


def test_a_nan_where_a_number_belongs_is_counted_and_placed() -> None:
    """A mismatch of NaN has no size, so it stands beside the largest error."""

    def spoil(x: torch.Tensor, value: torch.Tensor, name: str) -> torch.Tensor:
        return torch.where(x == 0.5, float("nan"), value) if name == "gradient" else value

    found = record(swept(patched(spoil), dtype="float16"))["quantities"]["gradient"]
    assert 1 == found["nonfinite_mismatch"]
    assert "0x1.0000000000000p-1" == found["first_nonfinite_x"]
    assert 1 == sum(segment["nonfinite_mismatch"] for segment in found["segments"])


def test_nothing_swept_is_no_success() -> None:
    """A sweep stopped before its first block has no figures, and exit status 5."""
    plan = make_plan(subject(torch.tanh), dtype="float16")
    sweep = finish(Outcome(plan, None, complete=False, stopped="interrupted"))
    assert (5, 0, {}) == (sweep.exit_status, sweep.points, record(sweep)["quantities"])
