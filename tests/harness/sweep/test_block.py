"""Blocks: figures as an element-by-element judgement gives them, laws that see what breaks them."""

import itertools
from math import inf, isfinite, isnan

import numpy as np
import pytest
import torch

from harness.hexfloat import hex_text
from harness.subjects import Kind, Subject, load
from harness.sweep.apply import SubjectFailed
from harness.sweep.block import segments
from harness.sweep.laws import REQUIRED, laws_of
from harness.sweep.plan import Block, Plan, make_plan
from harness.sweep.statistics import BIN_EDGES, Statistics
from harness.sweep.summary import Summary
from reference.dyadic import from_float, magnitude, ratio
from reference.exact import exact
from reference.measure import error
from reference.neuron import sech2, tanh, tanh_gradient
from reference.real import Real
from tests.harness.sweep.subjects_under_sweep import (
    patched,
    spoilt_at,
    subject,
    summary_of,
    textbook,
)


def total(summary: Summary, quantity: int) -> Statistics:
    found = Statistics()
    for statistics in summary.segments.values():
        found = found.merge(statistics[quantity])
    return found


class Loop:
    """The figures of one quantity, number by number, from the exact values of the oracle."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.errors: dict[int, float] = {}
        self.misrounded = self.unfaithful = self.points = 0
        self.scaled = 0.0
        self.by_segment: dict[int, list[float]] = {}

    def add(self, key: int, real: Real, computed: float, g: float) -> None:
        measured = error(real, computed, self.plan.format)
        self.points += 1
        if measured is None:
            return
        self.errors[key] = measured.ulps
        self.misrounded += not measured.correct
        self.unfaithful += not measured.faithful
        if g and isfinite(computed):
            size = ratio(magnitude(measured.difference), magnitude(from_float(g)))
            self.scaled = max(self.scaled, size * 2.0**self.plan.format.precision)
        segment = segments(self.plan).index(self.plan.place(key)[0])
        self.by_segment.setdefault(segment, []).append(abs(measured.ulps))

    def agrees(self, summary: Summary, quantity: int) -> None:
        found = total(summary, quantity)
        assert self.points == found.points
        assert self.misrounded == found.misrounded
        assert self.unfaithful == found.unfaithful
        assert max(map(abs, self.errors.values())) == pytest.approx(found.max_ulp, abs=0.01)
        assert abs(self.errors[found.worst]) == pytest.approx(found.max_ulp, abs=0.01)
        if self.plan.quantities[quantity] == "gradient":
            assert self.scaled == pytest.approx(found.max_scaled_error, abs=1e-3)
        expected = [0] * len(found.histogram)
        near = 0
        for value in self.errors.values():
            level = sum(abs(value) > edge for edge in BIN_EDGES)
            near += any(abs(abs(value) - edge) <= 0.005 for edge in BIN_EDGES)
            expected[len(BIN_EDGES) + (level if value > 0 else -level)] += 1
        moved = sum(abs(a - b) for a, b in zip(expected, found.histogram, strict=True)) / 2
        assert moved <= near
        for index, errors in self.by_segment.items():
            statistics = summary.segments[index][quantity]
            assert max(errors) == pytest.approx(statistics.max_ulp, abs=0.01)
        sizes = sorted(map(abs, self.errors.values()), reverse=True)[: len(summary.worst[quantity])]
        assert sizes == pytest.approx([entry.size for entry in summary.worst[quantity]], abs=0.01)


def points(plan: Plan) -> list[tuple[int, tuple[float, ...]]]:
    keys = [
        plan.key(at, side)
        for block in plan.blocks()
        for at in range(block.start, block.stop)
        for side in block.sides
    ]
    return [(key, plan.point(key)) for key in keys]


@pytest.mark.parametrize(
    ("dtype", "first", "last"),
    [
        ("float16", -0.0004, 0.0005),
        ("float16", -4.6, -4.0),
        ("float16", 8.0, 8.5),
        ("bfloat16", -8.0, -2.0),
        ("bfloat16", -1e-38, 1e-38),
        ("float32", 0.5, 0.5001),
        ("float32", -12.0, -11.9999),
        ("float64", 0.3, 0.3 + 2.0**-44),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["torch-tanh", "sigmoid"])
def test_an_activation_is_judged_as_number_by_number(
    name: str, dtype: str, first: float, last: float
) -> None:
    """Against the exact values, one at a time, of results from a call of the test's own."""
    plan = make_plan(load(name), dtype=dtype, first=first, last=last)
    summary = summary_of(plan)
    found = points(plan)
    x = torch.tensor([point[0] for _, point in found], dtype=getattr(torch, dtype))
    x.requires_grad_()
    y = plan.subject.function(x)
    (d,) = torch.autograd.grad(y, x, torch.ones_like(x))
    output, gradient = Loop(plan), Loop(plan)
    for (key, (value,)), computed, slope in zip(found, y.tolist(), d.tolist(), strict=True):
        output.add(key, tanh(exact(value)), computed, 0.0)
        gradient.add(key, sech2(exact(value)), slope, 1.0)
    output.agrees(summary, 0)
    gradient.agrees(summary, 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_tanh_gradient_is_judged_as_number_by_number(dtype: str) -> None:
    """Against the exact rational 1 - y^2, up to y = 1."""
    first = 1 - 2000 * 2.0**-24 if dtype == "float32" else 0.75
    plan = make_plan(load("aten-tanh-gradient"), dtype=dtype, first=first, last=1.0)
    summary = summary_of(plan)
    found = points(plan)
    y = torch.tensor([point[0] for _, point in found], dtype=getattr(torch, dtype))
    gradient = Loop(plan)
    for (key, (value,)), slope in zip(found, (1 - y * y).tolist(), strict=True):
        gradient.add(key, tanh_gradient(value, 1.0), slope, 1.0)
    naive = Subject("naive", Kind.TANH_GRADIENT, lambda y, dy: dy * (1 - y * y))
    gradient.agrees(summary_of(make_plan(naive, dtype=dtype, first=first, last=1.0)), 0)
    assert gradient.points == summary.points


def test_pairs_are_judged_as_pair_by_pair() -> None:
    """A few y with every g, all four combinations of signs."""
    naive = Subject("naive", Kind.TANH_GRADIENT, lambda y, dy: dy * (1 - y * y))
    plan = make_plan(naive, dtype="bfloat16", first=-1.0, last=1.0, pairs=True)
    (block, *_) = plan.blocks()
    start = plan.format.to_bits(0.9921875) << 15
    few = Block(start, start + (1 << 15), block.sides)
    summary = summary_of(plan, few)
    gradient = Loop(plan)
    nonfinite = 0
    keys = [plan.key(at, side) for at in range(few.start, few.stop, 61) for side in few.sides]
    pairs = np.array([plan.point(key) for key in keys])
    y, g = (torch.tensor(column, dtype=torch.bfloat16) for column in pairs.T)
    for key, (value, factor), d in zip(keys, pairs, (g * (1 - y * y)).tolist(), strict=True):
        gradient.add(key, tanh_gradient(value, factor), d, factor if isfinite(factor) else 0.0)
        nonfinite += isnan(d)
    found = total(summary, 0)
    assert few.points == found.points
    assert max(map(abs, gradient.errors.values())) <= found.max_ulp + 0.01
    assert gradient.scaled <= found.max_scaled_error + 1e-3
    key = found.worst
    (value, factor) = plan.point(key)
    worst = error(tanh_gradient(value, factor), summary.worst[0][0].computed, plan.format)
    assert worst is not None
    assert abs(worst.ulps) == pytest.approx(found.max_ulp, abs=0.01)
    held = {law: tally.breaches for law, tally in summary.laws.items()}
    assert dict.fromkeys(("gradient-sign", "lanes", "gradient-even", "gradient-odd"), 0) == held


FACTS = [
    ("float16", 2045.5),
    ("bfloat16", 256.0),
]


@pytest.mark.parametrize(("dtype", "gradient"), FACTS, ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["textbook", "autograd"])
def test_the_known_figures_of_the_textbook_come_out(name: str, dtype: str, gradient: float) -> None:
    """Others' exhaustive runs, rounded up to half ulps: 2045.5 and 256 for the gradient against
    sech^2, 0.5 for the output."""
    summary = summary_of(make_plan(load(name), dtype=dtype))
    assert 1 << 16 == summary.points
    figures = [total(summary, quantity) for quantity in (0, 1)]
    assert [0.5, gradient] == [np.ceil(2 * figure.max_ulp) / 2 for figure in figures]
    assert [0, 0] == [figure.nonfinite_mismatch for figure in figures]
    assert [0, 0] == [figure.zero_sign_mismatch for figure in figures]
    assert all(tally.breaches == 0 for tally in summary.laws.values())


def breaches(summary: Summary) -> dict[str, int]:
    return {law: tally.breaches for law, tally in summary.laws.items() if tally.breaches}


def first_breach(plan: Plan, summary: Summary, law: str) -> str:
    return hex_text(plan.point(summary.laws[law].first_breach)[0])


@pytest.mark.parametrize(
    ("spoilt", "expected"),
    [
        pytest.param(
            spoilt_at("output", 0.5, 1.5),
            {"output-bounded": 1, "output-odd": 1, "output-monotone": 1},
            id="an output above 1",
        ),
        pytest.param(
            spoilt_at("output", 0.5, 0.25),
            {"output-odd": 1, "output-monotone": 1},
            id="an output that falls",
        ),
        pytest.param(
            spoilt_at("gradient", -0.5, -1.0),
            {"gradient-sign": 1, "gradient-even": 1},
            id="a negative gradient",
        ),
        pytest.param(
            spoilt_at("gradient", 0.5, 0.0), {"gradient-even": 1}, id="an uneven gradient"
        ),
        pytest.param(spoilt_at("output", 0.5, float("nan")), {"output-odd": 1}, id="a NaN"),
        pytest.param(
            patched(lambda x, value, name: torch.where(x.abs() == 0.5, -value, value)),
            {"gradient-sign": 2, "output-monotone": 2},
            id="both signs at once",
        ),
    ],
)
def test_a_broken_law_is_counted_where_it_breaks(spoilt: Subject, expected: dict[str, int]) -> None:
    """One spoilt value breaks the laws it should, once each, and no other."""
    plan = make_plan(spoilt, dtype="float16", first=-1.0, last=1.0)
    assert expected == breaches(summary_of(plan))


def test_a_spoilt_value_is_found_by_its_figures() -> None:
    """The worst input is the one spoilt, on its own side, and its error is that of the value."""
    plan = make_plan(spoilt_at("output", -0.5, -0.25), dtype="float16")
    summary = summary_of(plan)
    entry = summary.worst[0][0]
    assert (-0.5, -0.25) == (plan.point(entry.key)[0], entry.computed)
    exact_tanh = -0.46211715726000973
    assert (-0.25 - exact_tanh) / 2.0**-12 == pytest.approx(entry.ulps, abs=0.01)
    assert -0.5 == plan.point(total(summary, 0).worst)[0]


def test_a_result_that_depends_on_its_place_breaks_the_law_of_lanes() -> None:
    """A kernel whose last elements are computed otherwise."""

    def tail(x: torch.Tensor, value: torch.Tensor, name: str) -> torch.Tensor:
        if name == "output" and len(x) > 8:
            value = value.clone()
            value[-3:] *= 0.5
        return value

    plan = make_plan(patched(tail), dtype="float16", first=0.25, last=0.75)
    summary = summary_of(plan)
    # The tails of the whole and of a piece from its middle.
    assert 6 == summary.laws["lanes"].breaches
    assert {"lanes", "output-monotone"} == set(breaches(summary))


def test_a_neuron_that_differs_in_a_batch_breaks_the_law_of_lanes() -> None:
    """Called alone, at the ends of a batch, it gives another result."""

    def shy(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> object:
        alone = not torch._C._functorch.is_batchedtensor(x)
        y, dx, dw, d = textbook(x, w, b, g)
        return (y * 0.5 if alone else y), dx, dw, d

    plan = make_plan(subject(shy, Kind.NEURON), dtype="float16", first=-0.5, last=0.5)
    summary = summary_of(plan)
    assert {"lanes": 2} == breaches(summary)
    assert "-0x1.0000000000000p-1" != first_breach(plan, summary, "lanes")


@pytest.mark.parametrize(
    ("law", "index"), [("input-gradient", 1), ("weight-gradient", 2)], ids=["dx", "dw"]
)
def test_factors_of_a_neuron_are_held_to_its_gradient(law: str, index: int) -> None:
    """With w = 1 the input gradient is d, and the weight gradient d * x rounded once."""

    def spoilt(*arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = list(textbook(*arguments))
        results[index] = torch.where(arguments[0] == 0.5, results[index] * 2, results[index])
        return tuple(results)

    plan = make_plan(subject(spoilt, Kind.NEURON), dtype="float16", first=-1.0, last=1.0)
    summary = summary_of(plan)
    assert {law: 1} == breaches(summary)
    assert "0x1.0000000000000p-1" == first_breach(plan, summary, law)


def test_a_neuron_without_vmap_gives_the_figures_of_one_with() -> None:
    """One call for each input, the same results."""

    def branching(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> object:
        results = textbook(x, w, b, g)
        return results if float(results[0]) < 2 else None

    arguments = {"dtype": "float16", "first": -0.255, "last": -0.25}
    plans = [
        make_plan(subject(function, Kind.NEURON), **arguments)  # type: ignore[arg-type]
        for function in (textbook, branching)
    ]
    batched, single = map(summary_of, plans)
    assert batched.segments == single.segments
    assert batched.worst == single.worst
    assert batched.laws == single.laws


def test_merging_blocks_is_associative_and_checks_their_seams() -> None:
    """However blocks of a plan are bracketed, and also where an output falls at a seam."""
    edge = 0x3800
    plan = make_plan(spoilt_at("output", 0.5, 0.0), dtype="float16")
    cuts = [0, 5, 0x3000, edge, edge + 1, 0x4400, 1 << 15]
    parts = [summary_of(plan, Block(a, b, (0, 1))) for a, b in itertools.pairwise(cuts)]
    left = parts[0]
    for part in parts[1:]:
        left = left.merge(part, plan)
    right = parts[-1]
    for part in reversed(parts[:-1]):
        right = part.merge(right, plan)
    whole = summary_of(plan)
    for found in (left, right):
        assert whole.segments == found.segments
        assert whole.worst == found.worst
        assert str(whole.ends) == str(found.ends)  # NaN differs from itself
        assert {"output-odd": 1, "output-monotone": 1} == breaches(found)
        assert whole.laws["output-monotone"] == found.laws["output-monotone"]


def test_a_subject_that_raises_half_way_names_the_place() -> None:
    """The first input that fails by itself, and what it raised."""

    def late(x: torch.Tensor) -> torch.Tensor:
        if (x > 3).any():
            raise RuntimeError("too\nfar")
        return torch.tanh(x)

    plan = make_plan(subject(late), dtype="float16", first=0.0, last=inf)
    with pytest.raises(
        SubjectFailed, match=r"failed at 0x1.8040000000000p\+1: raised RuntimeError: too far"
    ):
        summary_of(plan)


def test_a_subject_that_raises_on_the_other_side_names_the_place() -> None:
    """In the call in which the numbers are moved in their tensor, and spoilt before it fails."""

    def late(x: torch.Tensor) -> torch.Tensor:
        if (x < -3).any():
            x.data.zero_()
            raise RuntimeError("too far")
        return torch.tanh(x)

    plan = make_plan(subject(late), dtype="float16", first=-inf, last=inf)
    with pytest.raises(SubjectFailed, match=r"failed at -0x1.8040000000000p\+1: raised"):
        summary_of(plan)


def test_a_subject_that_raises_only_for_many_names_the_shortest_range() -> None:
    """Where no half fails by itself, between which inputs."""

    def crowded(x: torch.Tensor) -> torch.Tensor:
        if (x == 1).any() and (x == 2).any():
            raise RuntimeError("too many")
        return torch.tanh(x)

    plan = make_plan(subject(crowded), dtype="float16", first=1.0, last=2.0)
    with pytest.raises(
        SubjectFailed,
        match=r"between 0x1.0000000000000p\+0 and 0x1.0000000000000p\+1: raised RuntimeError",
    ):
        summary_of(plan)


def test_a_subject_that_works_in_place_spoils_no_arguments() -> None:
    """The oracle is asked about the x that was given, not about what the subject left there."""

    def in_place(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> object:
        results = textbook(x, w, b, g)
        x.mul_(0)
        return results

    plan = make_plan(subject(in_place, Kind.NEURON), dtype="float16", first=0.25, last=0.5)
    sound = make_plan(subject(textbook, Kind.NEURON), dtype="float16", first=0.25, last=0.5)
    assert summary_of(sound).segments == summary_of(plan).segments


def test_required_laws_are_checked_in_every_kind_that_has_them() -> None:
    """Each plan checks the required laws its quantities allow."""
    for kind in Kind:
        plan = make_plan(Subject("a subject", kind, textbook), dtype="float16")
        laws = set(laws_of(plan)) & REQUIRED
        expected = REQUIRED - ({"output-bounded"} if kind is Kind.TANH_GRADIENT else set())
        assert expected == laws


#: Sizes of batches, and a number at which a batch of each of them begins.
BATCHES = (37, 64, 128)
BATCH_SEAM = float(np.array(37 * 128, np.uint16).view(np.float16))


@pytest.mark.parametrize("batch", BATCHES)
def test_figures_do_not_depend_on_how_a_block_is_batched(
    monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Statistics, worst inputs and laws are those of one batch, also where y falls at a seam
    between two."""

    def spoil(x: torch.Tensor, value: torch.Tensor, name: str) -> torch.Tensor:
        spoilt = x.abs() == BATCH_SEAM
        return torch.where(spoilt, value * 0.5, value) if name == "output" else value

    plan = make_plan(patched(spoil), dtype="float16", first=-0.001, last=0.001)
    whole = summary_of(plan)
    assert {"output-monotone": 2} == breaches(whole)
    monkeypatch.setattr("harness.sweep.block._BATCH", batch)
    found = summary_of(plan)
    assert whole.segments == found.segments
    assert whole.worst == found.worst
    assert whole.laws == found.laws
    assert whole.ends == found.ends


def test_a_fall_from_minus_zero_to_plus_zero_breaks_monotony() -> None:
    """The seam between the two signs is checked as well."""

    def spoil(x: torch.Tensor, value: torch.Tensor, name: str) -> torch.Tensor:
        spoilt = (x == 0) & torch.signbit(x)
        return torch.where(spoilt, 2.0**-24, value) if name == "output" else value

    plan = make_plan(patched(spoil), dtype="float16", first=-0.5, last=0.5)
    assert {"output-monotone": 1, "output-odd": 1} == breaches(summary_of(plan))
