"""The glance at a batch: yes where all is well, no wherever one bit of one result is not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from harness.subjects import Kind, Subject
from harness.sweep import kept
from harness.sweep.apply import Arguments, Results
from harness.sweep.block import sweep_block
from harness.sweep.kept import Glance
from harness.sweep.plan import Block, make_plan
from harness.sweep.summary import Seconds, Summary
from reference.certified.alike import Plain
from tests.harness.sweep.subjects_under_sweep import patched, subject, summary_of, textbook

SIGN = np.uint32(1 << 31)
SIZE = 100
PIECE = 32
#: In the first piece, at a seam, and in the last, shorter piece.
PLACES = (0, 5, PIECE - 1, PIECE, SIZE - 1)
RESULTS = ("output", "gradient", "input_gradient", "weight_gradient")

TINY = Plain(identity=True, gradient=1.0)
SATURATED = Plain(identity=False, gradient=0.0)


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_PIECE", PIECE)


def bits(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).view(np.uint32)


def rising(value: float) -> Arguments:
    start = int(np.float32(value).view(np.uint32))
    return Arguments(np.arange(start, start + SIZE, dtype=np.uint32), None)


def neuron(x: np.ndarray, y: np.ndarray, d: np.ndarray) -> Results:
    return Results(bits(d), bits(y), bits(d), bits(d.astype(np.float32) * x.astype(np.float32)))


def negated(results: Results) -> Results:
    assert results.output is not None and results.weight_gradient is not None
    return results._replace(
        output=results.output ^ SIGN, weight_gradient=results.weight_gradient ^ SIGN
    )


def curved() -> tuple[Arguments, Results, Results]:
    """A batch where tanh is curved, and both sides' results."""
    given = rising(0.7)
    x = given.x.view(np.float32)
    y = np.tanh(x)
    results = neuron(x, y, 1 - y * y)
    return given, results, negated(results)


def plain(kind: Plain, side: int) -> tuple[Arguments, Results]:
    """A plain batch on one side and its results."""
    given = rising(1e-9 if kind.identity else 100.0)
    if side:
        given = Arguments(given.x | SIGN, None)
    x = given.x.view(np.float32)
    y = x if kind.identity else np.copysign(np.float32(1), x)
    return given, neuron(x, y, np.full(SIZE, kind.gradient))


def changed(results: Results, name: str, place: int, bit: int) -> Results:
    spoilt = getattr(results, name).copy()
    spoilt[place] ^= np.uint32(1 << bit)
    return results._replace(**{name: spoilt})


def without_factors(results: Results) -> Results:
    return results._replace(input_gradient=None, weight_gradient=None)


def test_a_curved_batch_that_keeps_all_laws_is_seen_to() -> None:
    """A neuron's and an activation's."""
    given, positive, negative = curved()
    assert Glance(32).all_kept(given, positive, negative)
    assert Glance(32).all_kept(given, without_factors(positive), without_factors(negative))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bit", [0, 31])
@pytest.mark.parametrize("name", RESULTS)
def test_one_bit_on_one_side_breaks_a_law_and_is_seen(name: str, bit: int, place: int) -> None:
    """On either side, wherever it stands in a piece."""
    given, positive, negative = curved()
    glance = Glance(32)
    assert not glance.all_kept(given, changed(positive, name, place, bit), negative)
    assert not glance.all_kept(given, positive, changed(negative, name, place, bit))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("output", 0.1),
        ("output", 1.5),
        ("output", float("nan")),
        ("gradient", -0.1),
        ("gradient", float("nan")),
    ],
    ids=lambda case: str(case),
)
def test_a_wrong_value_on_both_sides_is_seen(name: str, value: float, place: int) -> None:
    """One that falls (at a seam too), is beyond 1, negative or NaN, though symmetry is kept."""
    given, positive, _ = curved()
    spoilt = getattr(positive, name).copy()
    spoilt[place] = np.float32(value).view(np.uint32)
    positive = without_factors(positive._replace(**{name: spoilt}))
    # At the very first nothing can fall, and the last may lie anywhere above.
    kept_there = name == "output" and value == 0.1 and place == 0
    assert positive.output is not None
    negative = positive._replace(output=positive.output ^ SIGN)
    assert kept_there == Glance(32).all_kept(given, positive, negative)


@pytest.mark.parametrize("side", [0, 1], ids=["x > 0", "x < 0"])
@pytest.mark.parametrize("kind", [TINY, SATURATED], ids=["tiny", "saturated"])
def test_a_plain_batch_is_seen_to_be_plain(kind: Plain, side: int) -> None:
    """And no batch with one other bit is."""
    given, results = plain(kind, side)
    glance = Glance(32)
    assert glance.all_plain(kind, given, results)
    assert glance.all_plain(kind, given, without_factors(results))
    for name in RESULTS:
        for place in PLACES:
            for bit in (0, 31):
                assert not glance.all_plain(kind, given, changed(results, name, place, bit))


def test_plain_gradients_alone_are_seen_to_be_plain() -> None:
    """Those of a raw tanh gradient, which has no output."""
    given, results = plain(TINY, 0)
    only = Results(results.gradient)
    assert Glance(32).all_plain(TINY, given, only)
    assert not Glance(32).all_plain(TINY, given, changed(only, "gradient", PIECE, 0))


def spoil(x: torch.Tensor, value: torch.Tensor, name: str) -> torch.Tensor:
    """Wrong here and there among tiny, curved and saturated arguments, on one side or on both."""
    tiny, curved_at, saturated = 2.0**-100, 0.75, 100.0
    if name == "output":
        value = torch.where((x == tiny) | (x == -saturated), value * 0.5, value)
        return torch.where((x - curved_at).abs() < 1e-6, value * 1.001, value)
    value = torch.where((x.abs() == tiny) | (x == saturated), value + 0.25, value)
    return torch.where(x == -curved_at, -value, value)


def factors(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> object:
    """Weight gradients that are wrong among tiny arguments, input gradients among saturated."""
    y, dx, dw, d = textbook(x, w, b, g)
    return y, torch.where(x == -100, dx + 1, dx), torch.where(x == 2.0**-100, dw * 2, dw), d


def raw(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    d = dy * (1 - y * y)
    return torch.where(y == -(2.0**-100), d * 0.5, d)


SUBJECTS = {
    "a wrong activation": patched(spoil),
    "a right neuron": subject(textbook, Kind.NEURON),
    "a neuron with wrong factors": subject(factors, Kind.NEURON),
    "a wrong tanh gradient": subject(raw, Kind.TANH_GRADIENT),
}


@pytest.mark.parametrize("sides", [(0, 1), (1,)], ids=["both sides", "one side"])
@pytest.mark.parametrize("x", [0.0, 2.0**-100, 2.0**-16, 0.75, 60.0, 100.0], ids=lambda x: f"{x:g}")
@pytest.mark.parametrize("swept", SUBJECTS.values(), ids=SUBJECTS.keys())
def test_a_sweep_finds_the_same_with_a_glance_and_without(
    swept: Subject, x: float, sides: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics, worst inputs and laws of a block of float32, batch by batch."""
    monkeypatch.setattr("harness.sweep.block._BATCH", 1000)
    plan = make_plan(swept, dtype="float32")
    start = max(0, plan.format.to_bits(x) - 1500)
    block = Block(start, start + 3000, sides)
    glanced = summary_of(plan, block)
    for name in ("all_plain", "all_kept"):
        monkeypatch.setattr(Glance, name, lambda *arguments: False)
    assert figures(sweep_block(plan, block)) == figures(glanced)


def figures(summary: Summary) -> Summary:
    return replace(summary, seconds=Seconds())
