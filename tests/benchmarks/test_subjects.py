"""What the subjects that are worth using cost, in ratios to torch's autograd.

tox run -e bench -- tests/benchmarks/test_subjects.py -s

Both sides of a ratio take turns in one run, so that a busy machine slows both; the least of each.
On one thread its CPU time is taken, which does not count what else the machine does.
Autograd is given its best: leaves that require grad already, and no checks of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from harness.subjects.accurate import accurate
from harness.subjects.fused import fused

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
LENGTHS = (1, 256, 4096, 1 << 20)

each_dtype = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES.keys())
each_length = pytest.mark.parametrize("n", LENGTHS, ids=lambda n: f"n={n}")
each_count = pytest.mark.parametrize("threads", [1, 2], ids=lambda k: f"{k} threads")


@contextmanager
def with_threads(count: int) -> Iterator[None]:
    """torch on that many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def drawn(n: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """A neuron as a network has it: weights of about 1/sqrt(n)."""
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, generator=generator).to(dtype)
    w = (torch.randn(n, generator=generator) / n**0.5).to(dtype)
    return x, w, torch.tensor(0.25, dtype=dtype), torch.tensor(1.5, dtype=dtype)


def autograd_of(given: tuple[torch.Tensor, ...]) -> Callable[[], object]:
    """A forward and a backward pass, as one writes them."""
    x, w, b = (each.clone().requires_grad_() for each in given[:3])

    def run() -> object:
        y = torch.tanh((x * w).sum() + b)
        return y, *torch.autograd.grad(y, (x, w, b), given[3])

    return run


def compared(
    benchmark: BenchmarkFixture, threads: int, runs: dict[str, Callable[[], object]], calls: int
) -> None:
    """Run the sides in turn; the first is the one that is benchmarked, the others it is held to."""
    least = dict.fromkeys(runs, float("inf"))
    clock = thread_time if threads == 1 else perf_counter
    (name, first), *others = runs.items()
    with with_threads(threads):
        for _ in range(40):
            for side, run in runs.items():
                start = clock()
                for _ in range(calls):
                    run()
                least[side] = min(least[side], (clock() - start) / calls)
        benchmark.pedantic(first, rounds=1)
    benchmark.extra_info[f"{name}, microseconds"] = 1e6 * least[name]
    for other, _ in others:
        benchmark.extra_info[f"over {other}"] = least[name] / least[other]
    print({key: round(value, 2) for key, value in benchmark.extra_info.items()})


@each_length
@each_dtype
@each_count
def test_accurate(benchmark: BenchmarkFixture, threads: int, dtype: torch.dtype, n: int) -> None:
    """Targets over autograd: formats of up to 24 bits 1.3 up to 4096 and 2 at a million; float64 4
    from 4096 on."""
    given = drawn(n, dtype)
    runs = {"accurate": lambda: accurate(*given), "autograd": autograd_of(given)}
    compared(benchmark, threads, runs, calls=20 if n <= 4096 else 1)


@each_length
@each_dtype
@each_count
def test_fused(benchmark: BenchmarkFixture, threads: int, dtype: torch.dtype, n: int) -> None:
    """Targets: 0.5 of autograd up to 256; 1.3 of the bandwidth's floor at a million, with `out`:
    both arguments read once and both gradients written once, a number times each."""
    given = drawn(n, dtype)
    x, w, *_ = given
    out = torch.empty_like(x), torch.empty_like(w)

    def floor() -> None:
        torch.mul(w, 0.5, out=out[0])
        torch.mul(x, 0.5, out=out[1])

    runs = {
        "fused": lambda: fused(*given, out=out),
        "autograd": autograd_of(given),
        "the floor": floor,
    }
    compared(benchmark, threads, runs, calls=20 if n <= 4096 else 1)
