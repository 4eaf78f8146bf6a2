"""The hunt over single numbers: what it finds, and within how many evaluations."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from harness.hunt.budget import Budget
from harness.hunt.evaluate import Evaluator, Form
from harness.hunt.plan import Plan, make_plan
from harness.hunt.point_search import PointSearch
from harness.hunt.scores import GRADIENT, GRADIENT_SCALED, OUTPUT
from harness.subjects import Kind, Subject, load
from reference import certified
from tests.harness.hunt import planted


def plan_of(function: Callable[..., Any], dtype: str = "float64", seed: int = 0) -> Plan:
    return make_plan(Subject("planted", Kind.ACTIVATION, function), dtype=dtype, seed=seed)


def search(plan: Plan, evaluations: int, until: float = float("inf")) -> PointSearch:
    """A search of so many evaluations, ended where the output's record reaches `until`."""
    budget = Budget(None, evaluations)
    found = PointSearch(plan, Evaluator(plan), budget)
    while not budget.spent() and found.step():
        record = found.records.get(OUTPUT)
        if record is not None and record.value >= until:
            break
    return found


@pytest.mark.parametrize(
    ("fault", "evaluations"),
    [
        (planted.below_a_threshold, 2_000),
        (planted.on_a_hill, 400_000),
        (planted.in_one_binade, 200_000),
        (planted.beside_ln2, 800_000),
        (planted.in_a_window, 1_200_000),
    ],
    ids=[
        "16 numbers below a threshold: 2 thousand",
        "2^23 numbers on top of a hill: 400 thousand",
        "one far binade, negative only: 200 thousand",
        "2^20 numbers beside a multiple of ln 2: 800 thousand",
        "2^20 numbers in the middle of a binade, beside a short number: 1.2 million",
    ],
)
def test_a_narrow_fault_is_found(
    fault: Callable[[torch.Tensor], torch.Tensor], evaluations: int
) -> None:
    """The record is what the fault makes of the output, within so many evaluations."""
    plan = plan_of(fault, seed=5)
    found = search(plan, evaluations, until=4.4)
    record = found.records[OUTPUT]
    assert record.value > 4.4
    x = torch.tensor([plan.format.from_bits(record.bits)], dtype=torch.float64)
    assert not torch.equal(torch.tanh(x), fault(x))
    assert record.evaluations <= evaluations


def test_equal_seeds_give_equal_records() -> None:
    """Everything but the time is decided by the seed; another seed searches elsewhere."""
    first, again, other = (search(plan_of(torch.tanh, seed=seed), 150_000) for seed in (1, 1, 2))
    assert first.records == again.records
    assert first.figures.summary() == again.figures.summary()
    assert first.records != other.records


def test_the_best_of_a_budget_does_not_depend_on_how_it_is_cut() -> None:
    """Whoever stops after fewer evaluations has seen the beginning of the same search."""
    plan = plan_of(torch.tanh)
    shorter, longer = search(plan, 60_000), search(plan, 120_000)
    for objective, record in shorter.records.items():
        assert record.value <= longer.records[objective].value
    assert 60_000 == shorter.figures.points


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_all_numbers_of_a_narrow_format_are_tried(dtype: str) -> None:
    """The search ends by itself, with the figures of a sweep: 2045.5 and 256 ulps at most."""
    plan = plan_of(torch.tanh, dtype)
    found = search(plan, 10_000_000)
    assert found.figures.points < 200_000
    x = certified.members(plan.format, 0, 1 << 16)
    values = torch.from_numpy(x).to(getattr(torch, dtype)).requires_grad_()
    y = torch.tanh(values)
    y.sum().backward()
    assert values.grad is not None
    carrier = x.dtype
    for quantity, curve, computed in (
        (OUTPUT, certified.tanh, y.detach()),
        (GRADIENT, certified.sech2, values.grad),
    ):
        ulps = curve(x, format=plan.format).judge(computed.float().numpy().astype(carrier)).ulps
        assert np.nanmax(np.abs(ulps)) == found.records[quantity].value


def test_scaled_errors_are_certified() -> None:
    """The record is the exact figure of its input, and no segment's figure is larger."""
    plan = plan_of(torch.tanh)
    found = search(plan, 200_000)
    record = found.records[GRADIENT_SCALED]
    # In a block, as the search calls it: by itself a number may go another way through torch.
    x = torch.full((64,), plan.format.from_bits(record.bits), dtype=torch.float64)
    x.requires_grad_()
    (d,) = torch.autograd.grad(torch.tanh(x).sum(), x)
    answers = certified.sech2(x.detach().numpy(), format=plan.format)
    assert record.value == answers.scaled_error(d.numpy(), 1.0)[0]
    figures = found.figures.summary().segments.values()
    assert record.value == max(each[1].max_scaled_error for each in figures)


def test_a_number_at_which_the_subject_raises_is_found() -> None:
    """The others are judged all the same."""
    plan = plan_of(planted.raises_beyond_710)
    found = search(plan, 200_000)
    (failure,) = found.failures
    assert abs(plan.format.from_bits(failure.bits)) > 710
    assert "OverflowError: math range error" in failure.message
    assert 0.5 < found.records[OUTPUT].value < 1


def test_a_nan_that_should_be_a_number_is_found() -> None:
    """It has no size, so that it is kept beside the records."""
    plan = plan_of(planted.nan_at_one_number)
    found = search(plan, 1_500_000)
    assert 0.75 == plan.format.from_bits(found.mismatches["output"].bits)
    assert found.records[OUTPUT].value < 1


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("math:tanh", Form.SCALAR),
        ("tests/harness/hunt/planted.py:without_gradient", Form.OUTPUT_ONLY),
        ("torch-tanh", Form.SWEPT),
    ],
)
def test_a_subject_is_called_in_the_form_it_has(name: str, form: Form) -> None:
    """Without a gradient the output alone is hunted, with all evaluations."""
    plan = make_plan(load(name, Kind.ACTIVATION), dtype="float64")
    evaluator = Evaluator(plan)
    assert form is evaluator.form
    expected = ("output", "gradient") if form is Form.SWEPT else ("output",)
    assert expected == evaluator.quantities
    bits = np.array([plan.format.to_bits(x) for x in (0.3, -7.25, 5e-324)], np.uint64)
    assert (evaluator(bits).scores[0] < 2.5).all()


def test_a_scalar_subject_gives_its_own_results() -> None:
    """Bit for bit, subnormals and infinities included."""
    plan = make_plan(load("math:tanh", Kind.ACTIVATION), dtype="float64")
    values = np.array([0.1, -0.0, 5e-324, -np.inf, 19.0])
    (computed,) = Evaluator(plan)(values.view(np.uint64)).results
    assert [math.tanh(x).hex() for x in values] == [float(y).hex() for y in computed]
