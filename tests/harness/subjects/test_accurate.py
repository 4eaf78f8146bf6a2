"""The accurate neuron: its grades where others lose theirs, and its batched form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from harness.case import DTYPES, Case
from harness.contract import NEURON_QUANTITIES, judge_neuron
from harness.grade import Grade
from harness.subjects.accurate import accurate
from harness.subjects.precise import dot
from harness.tensors import arguments, floats, torch_dtype
from reference.bounds import default_arithmetic
from reference.neuron import neuron

each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def grade(case: Case, results: Sequence[torch.Tensor]) -> Grade:
    """What four results are worth."""
    exact = neuron(case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format)
    named = dict(zip(NEURON_QUANTITIES, map(floats, results), strict=True))
    return judge_neuron(exact, named, default_arithmetic(case.format)).grade


def hard_cases(dtype: str) -> dict[str, Case]:
    """Each where a neuron in the dtype itself, or one that is not careful, fails."""
    kind = torch.finfo(torch_dtype(dtype))
    most, least = kind.max, kind.smallest_normal
    tiny = least * kind.eps
    saturated = {"float16": 6.0, "bfloat16": 30.0, "float32": 40.0, "float64": 350.0}[dtype]
    return {
        "saturated": Case(dtype, (1.0, -0.375), (saturated, 0.0), 0.25, 1.5),
        "far beyond, with huge g and w": Case(dtype, (most, 1.0), (0.0, saturated), 0.0, most),
        "cancels": Case(dtype, (1.0, 1.0), (most, -most), 0.375, 1.0),
        "products overflow": Case(dtype, (most, most, 0.5), (most, -most, 0.5), 0.25, 1.0),
        "products underflow": Case(dtype, (least, 1.0), (least, 0.0), 0.0, most),
        "d subnormal": Case(dtype, (most, 3.0, 0.0), (tiny, 0.375, -0.0), 0.0, -3 * tiny),
        "d huge": Case(dtype, (least, tiny, 0.625), (tiny, 1.0, 0.75), 0.5, most),
        "results of every size": Case(dtype, (0.0, tiny, most), (most, 1.375, 0.0), 0.5, 0.625),
        "infinite weight of nothing": Case(dtype, (0.0,), (math.inf,), 0.0, 1.0),
        "infinite g": Case(dtype, (1.0, 0.0), (most, 1.0), 0.0, math.inf),
        "infinite bias": Case(dtype, (1.0, 0.0), (1.0, -1.0), -math.inf, 2.0),
        "zeros": Case(dtype, (0.0, -0.0), (-0.0, 0.0), 0.0, -0.0),
        "empty": Case(dtype, (), (), 0.625, 3.0),
    }


@each_dtype
@pytest.mark.parametrize("name", hard_cases("float32"))
def test_hard_cases_are_faithful(dtype: str, name: str) -> None:
    """Alone, and as one of a batch."""
    case = hard_cases(dtype)[name]
    given = arguments(case)
    assert grade(case, accurate(*given)).meets(Grade.FAITHFUL)
    batch = [torch.stack([each, each * 0 + 1, each]) for each in given]
    for row in (0, 2):
        results = torch.func.vmap(accurate)(*batch)
        assert grade(case, [each[row] for each in results]).meets(Grade.FAITHFUL)


@each_dtype
def test_long_neurons_are_faithful(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more terms than one chunk holds, with a rest."""
    monkeypatch.setattr(dot, "_CHUNK", 2048)
    n = 4_501
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(n, generator=generator).to(torch_dtype(dtype))
    w = (torch.randn(n, generator=generator) / n**0.5).to(torch_dtype(dtype))
    b, g = torch.tensor(-0.25), torch.tensor(1.75)
    results = accurate(x, w, b.to(x.dtype), g.to(x.dtype))
    case = Case(dtype, tuple(x.tolist()), tuple(w.tolist()), b.item(), g.item())
    assert grade(case, results).meets(Grade.FAITHFUL)


def test_the_gradient_that_torch_loses() -> None:
    """At -9.0109 binary32's tanh is -1, and the slope 5.96e-8."""
    one, x = torch.ones(1), torch.tensor([-9.010913848876953])
    output, _, weight_gradient, bias_gradient = accurate(x, one, torch.tensor(0.0), one[0])
    assert -1.0 == output.item()
    assert float.fromhex("0x1.0p-24") == pytest.approx(bias_gradient.item(), rel=1e-6)
    assert weight_gradient.item() == pytest.approx(x.item() * bias_gradient.item(), rel=1e-6)


@each_dtype
@pytest.mark.parametrize("in_dims", [(1, None, 0, None), (None, 0, None, 0)])
def test_batches_of_some_arguments(dtype: str, in_dims: tuple[int | None, ...]) -> None:
    """What is shared is shared, wherever the batch's dimension is, also of a batch of batches."""
    generator = torch.Generator().manual_seed(2)
    rows, n = 5, 7

    def made(shape: tuple[int, ...], place: int | None) -> torch.Tensor:
        drawn = torch.randn((rows, *shape), generator=generator).to(torch_dtype(dtype))
        return drawn[0] if place is None else drawn.movedim(0, place)

    given = [made(shape, place) for shape, place in zip(((n,), (n,), (), ()), in_dims, strict=True)]
    results = torch.func.vmap(accurate, in_dims=in_dims)(*given)
    twice = torch.func.vmap(torch.func.vmap(accurate, in_dims=in_dims))(
        *(torch.stack([each, each]) for each in given)
    )
    for row in range(rows):
        single = accurate(
            *(
                each if place is None else each.select(place, row)
                for each, place in zip(given, in_dims, strict=True)
            )
        )
        for expected, batched, nested in zip(single, results, twice, strict=True):
            torch.testing.assert_close(batched[row], expected)
            torch.testing.assert_close(nested[1, row], expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("d", [0.3, -1.7, 3.3e4, 2.0**-99])
def test_torch_multiplies_16_bits_by_a_number_in_binary32(dtype: torch.dtype, d: float) -> None:
    """As the vectors of 16 bits rely on: d rounded to binary32, and one more rounding."""
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)
    wider = every.float() * torch.tensor(d, dtype=torch.float32)
    torch.testing.assert_close(every * d, wider.to(dtype), rtol=0, atol=0, equal_nan=True)
