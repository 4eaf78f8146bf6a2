"""Throughput of the certified arrays. Ratios to other libraries: `certified_ratios`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference import certified
from reference.certified.carriers import Carried
from reference.formats import BINARY32, BINARY64, FORMATS, Format
from tests.benchmarks.certified_ratios import points

Benchmark = Callable[..., Any]

COUNT = 1 << 18


@pytest.mark.benchmark(group="certified: tanh and sech^2 rounded, 2^18 points")
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_rounded_tanh_sech2(benchmark: Benchmark, format: Format) -> None:
    """Random arguments, where both functions are curved."""
    x = points(format, COUNT)
    result = benchmark(certified.rounded_tanh_sech2, x, format=format)
    assert x.shape == result.tanh.shape


def results(name: str, x: Carried, format: Format) -> tuple[Carried, Carried]:
    """What a subject may return: the right results, or tanh and 1 - y^2 in the format."""
    if name == "right":
        return certified.rounded_tanh_sech2(x, format=format)[:2]
    y = np.tanh(x)
    return y, 1 - y * y


BLOCKS = {
    "neighbours at 2": lambda dtype: np.linspace(2.0, 2.01, 16384, dtype=dtype),
    "random": lambda dtype: points(BINARY32, 16384).astype(dtype),
    "tiny": lambda dtype: np.linspace(1e-20, 2e-20, 16384, dtype=dtype),
    "saturated": lambda dtype: np.linspace(500.0, 600.0, 16384, dtype=dtype),
}


@pytest.mark.benchmark(group="certified: activations judged, 16384 points")
@pytest.mark.parametrize("name", ["right", "textbook"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("format", [BINARY32, BINARY64], ids=lambda format: format.name)
def test_activation_sweep(benchmark: Benchmark, format: Format, block: str, name: str) -> None:
    """A block through ActivationSweep: errors in ulps and flags of both quantities."""
    x = BLOCKS[block](certified.carrier(format))
    y, d = results(name, x, format)
    sweep = certified.ActivationSweep(format)
    judged = benchmark(sweep.judge, x, y, d)
    assert x.shape == judged.gradient.ulps.shape


@pytest.mark.benchmark(group="certified: raw gradients judged, 16384 points")
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_tanh_gradient_sweep(benchmark: Benchmark, format: Format) -> None:
    """A block of stored outputs through TanhGradientSweep."""
    y = certified.rounded_tanh_sech2(points(format, 16384), format=format).tanh
    d = certified.tanh_gradient(y, np.ones_like(y), format=format).rounded().values
    sweep = certified.TanhGradientSweep(format)
    assert y.shape == benchmark(sweep.judge, y, d).ulps.shape


@pytest.mark.benchmark(group="certified: neurons rounded, 2^16 products")
@pytest.mark.parametrize("width", [1, 16, 1024])
@pytest.mark.parametrize("format", [BINARY32, BINARY64], ids=lambda format: format.name)
def test_neurons(benchmark: Benchmark, format: Format, width: int) -> None:
    """All four results of a batch."""
    rng = np.random.default_rng(1)
    batch = (1 << 16) // width
    dtype = certified.carrier(format)
    x, w = (rng.normal(size=(batch, width)).astype(dtype) for _ in range(2))
    b, g = (rng.normal(size=batch).astype(dtype) for _ in range(2))

    def run() -> int:
        neurons = certified.neurons(x, w, b, g, format=format)
        quantities = (
            neurons.output,
            neurons.bias_gradient,
            neurons.input_gradient,
            neurons.weight_gradient,
        )
        return sum(quantity.rounded().escalated for quantity in quantities)

    assert benchmark(run) <= batch * width / 1000
