"""Throughput of every built-in subject x dtype x device x n, beside autograd and the memory floor.

    tox run -e bench -- tests/benchmarks/test_throughput.py

One thread, no garbage collection while a block is timed (pytest-benchmark sees to it), first call
and warm-up apart. On CUDA a block of calls is timed with events and synchronised once. For figures
that are compared use `neuron-harness bench`, where subjects take turns; for a verdict, `gate`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from harness.bench.throughput import LENGTHS, call_of, floor_call, moved_bytes, time_engines
from harness.bench.worker import Call, cuda_block, host_block
from harness.bench.workload import DTYPES
from harness.subjects import Kind, builtin_names, load

_ROUNDS = 15
_BLOCK_SECONDS = 2e-3

DEVICES = (
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.cuda,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
        ],
    ),
)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """torch's threads pinned to one, and put back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def timed(benchmark: BenchmarkFixture, call: Call, device: str) -> float:
    """Median seconds a call; a round is a block of calls."""
    block = (cuda_block if device == "cuda" else host_block)(call)
    calls = 1
    while block(calls, 0) / 1e9 < _BLOCK_SECONDS and calls < 1 << 20:
        calls *= 2
    seconds: list[float] = []
    benchmark.pedantic(
        lambda: seconds.append(block(calls, 0) / 1e9 / calls), rounds=_ROUNDS, warmup_rounds=1
    )
    benchmark.extra_info["calls a round"] = calls
    return statistics.median(seconds[1:])


@pytest.mark.parametrize("n", LENGTHS, ids="n={}".format)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", builtin_names())
def test_subject(benchmark: BenchmarkFixture, name: str, dtype: str, device: str, n: int) -> None:
    """Forward and backward of a neuron, or a raw gradient of n elements."""
    subject = load(name)
    for there, wanted in ((subject.dtypes, dtype), (subject.devices, device)):
        if there is not None and wanted not in there:
            pytest.skip(f"{name} does not support {wanted}")
    benchmark.group = f"{dtype} {device} n={n}"
    seconds = timed(benchmark, call_of(subject, dtype, n, device), device)
    results = n if subject.kind is Kind.TANH_GRADIENT else 1
    benchmark.extra_info["neurons a second"] = results / seconds
    benchmark.extra_info["bytes a second"] = moved_bytes(subject.kind, dtype, n) / seconds


@pytest.mark.parametrize("n", LENGTHS, ids="n={}".format)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [Kind.NEURON, Kind.TANH_GRADIENT])
def test_floor(benchmark: BenchmarkFixture, kind: Kind, dtype: str, device: str, n: int) -> None:
    """What it takes to move the bytes that such a subject reads and writes at the least."""
    benchmark.group = f"{dtype} {device} n={n}"
    seconds = timed(benchmark, floor_call(kind, dtype, n, device), device)
    benchmark.extra_info["bytes a second"] = moved_bytes(kind, dtype, n) / seconds


def test_engines(benchmark: BenchmarkFixture) -> None:
    """Rates of the certified oracle, of a sweep's block and of a verification."""
    engines = benchmark.pedantic(lambda: list(time_engines(lambda name: None)), rounds=1)
    for engine in engines:
        benchmark.extra_info[f"{engine.name}, {engine.unit} a second"] = engine.a_second
    assert all(engine.a_second > 0 for engine in engines)
