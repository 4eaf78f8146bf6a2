"""Inputs of rivals: shapes, strides, spread, and the calls they are made for."""

from __future__ import annotations

import math

import pytest
import torch

from harness.selftest.inputs import PLAIN, RESULTS, at, call, coin, draw
from harness.subjects import Kind


def _generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("kind", Kind)
def test_vectors_have_the_length_and_dtype(kind: Kind, strided: bool) -> None:
    """Strided ones are no contiguous memory, and do not begin where their storage does."""
    arguments = draw(kind, 5, torch.float16, _generator(), strided=strided)
    vectors = arguments[:2]
    assert [(5,), (5,)] == [tuple(vector.shape) for vector in vectors]
    assert {torch.float16} == {each.dtype for each in arguments}
    assert [2 if strided else 1] * 2 == [vector.stride()[0] for vector in vectors]
    assert [int(strided)] * 2 == [vector.storage_offset() for vector in vectors]


@pytest.mark.parametrize("n", [0, 1, 4000])
def test_preactivations_spread_as_far_as_asked(n: int) -> None:
    """The deviation of the sum is that of the bias, whatever the length."""
    found = []
    for seed in range(200):
        x, w, b, _ = draw(Kind.NEURON, n, torch.float64, _generator(seed), scale=3.0)
        found.append(float((x * w).sum() + b))
    deviation = math.sqrt(sum(a * a for a in found) / len(found))
    expected = 3.0 if n == 0 else 3.0 * math.sqrt(2)
    assert expected == pytest.approx(deviation, rel=0.25)


def test_the_same_generator_draws_the_same() -> None:
    """And goes on to others."""
    generator = _generator()
    first, second = (draw(Kind.ACTIVATION, 3, torch.float32, generator) for _ in range(2))
    again = draw(Kind.ACTIVATION, 3, torch.float32, _generator())
    assert all(torch.equal(left, right) for left, right in zip(first, again, strict=True))
    assert not torch.equal(first[0], second[0])


def test_stored_outputs_are_outputs() -> None:
    """A raw gradient gets what tanh returns."""
    y, _ = draw(Kind.TANH_GRADIENT, 100, torch.float32, _generator(), scale=10.0)
    assert y.abs().max() <= 1


@pytest.mark.parametrize("kind", Kind)
def test_a_chosen_preactivation_is_met(kind: Kind) -> None:
    """Every element of the output is tanh of it."""
    arguments = at(kind, 0.5, torch.float64, _generator())
    output = (
        arguments[0]
        if kind is Kind.TANH_GRADIENT
        else call(kind, PLAIN[kind], arguments)[0].reshape(-1)
    )
    assert {torch.tanh(torch.tensor(0.5, dtype=torch.float64)).item()} == set(output.tolist())


@pytest.mark.parametrize("kind", Kind)
def test_a_call_gives_what_it_names(kind: Kind) -> None:
    """The last result is the gradient g * (1 - y*y) of the preactivation."""
    arguments = at(kind, 0.5, torch.float64, _generator())
    results = call(kind, PLAIN[kind], arguments)
    assert len(RESULTS[kind]) == len(results)
    expected = arguments[-1] * (1 - math.tanh(0.5) ** 2)
    assert torch.allclose(expected, results[-1], rtol=1e-14, atol=0)
    assert not results[0].requires_grad


def test_a_coin_falls_on_both_sides() -> None:
    """Of 64 throws, neither all on one."""
    generator = _generator()
    assert {False, True} == {coin(generator) for _ in range(64)}
