"""Throughput of subjects and of the harness itself, beside autograd and the memory floor.

All that share a dtype, device and length take turns in one process, round by round, so that a ratio
is one of neighbours in time.
"""

from __future__ import annotations

import gc
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch

from harness.bench.worker import (
    Call,
    cuda_block,
    describe,
    host_block,
    make_arguments,
    peak_bytes,
)
from harness.errors import CannotVerify, one_line
from harness.subjects import Kind, Subject, load, neuron_of

LENGTHS: Final = (0, 8, 256, 4096, 65536, 1048576)
QUICK_LENGTHS: Final = (8, 4096, 65536)
QUICK_DTYPES: Final = ("float32", "bfloat16")
_REFERENCE: Final = "autograd"
_FLOOR: Final = "floor"


@dataclass(frozen=True, slots=True)
class Pace:
    """Rounds, and the least seconds of a block."""

    rounds: int = 15
    block: float = 2e-3


_PACE: Final = Pace()


@dataclass(frozen=True, slots=True)
class Line:
    """One subject on one dtype, device and length n. `first_call` and `seconds_a_call` in seconds,
    the second the median over blocks, apart from the first. `neurons_a_second`: results a second,
    which of a tanh-gradient are its elements. `bytes_a_second`: read and written at the least,
    whatever the subject does on the way. The ratios are of times, None where there is no reference;
    `error` says why there is no time."""

    subject: str
    kind: str
    dtype: str
    device: str
    n: int
    seconds_a_call: float | None
    first_call: float | None
    neurons_a_second: float | None
    bytes_a_second: float | None
    over_autograd: float | None
    over_floor: float | None
    peak_bytes: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Engine:
    """A rate of the harness itself."""

    name: str
    unit: str
    a_second: float


@dataclass(frozen=True, slots=True)
class Bench:
    """A throughput run."""

    lines: tuple[Line, ...]
    engines: tuple[Engine, ...]
    environment: dict[str, Any]
    seconds: float


def run_bench(
    names: Sequence[str],
    *,
    kind: str | None = None,
    dtypes: Sequence[str],
    devices: Sequence[str],
    lengths: Sequence[int],
    pace: Pace = _PACE,
    threads: int = 1,
    engines: bool = True,
    on_group: Callable[[str], None] = lambda name: None,
) -> Bench:
    """Time subjects on each dtype, device and length. A subject that cannot is a line that says so.

    Threads, garbage collection and the like are as they were afterwards. Raises CannotVerify for a
    device that is not there.
    """
    start = time.monotonic()
    for device in devices:
        if device == "cuda" and not torch.cuda.is_available():
            raise CannotVerify(
                f"device 'cuda' was asked for, but this torch ({torch.__version__}) sees no CUDA "
                "device; leave it out, or install a CUDA build of torch on a machine with one"
            )
    subjects = [load(name, kind) for name in names]
    lines: list[Line] = []
    with _quiet(threads):
        state = describe()
        for device in devices:
            for dtype in dtypes:
                for n in lengths:
                    on_group(f"{dtype} {device} n={n}")
                    lines += time_group(subjects, dtype, device, n, pace)
        rates = tuple(time_engines(on_group)) if engines else ()
    return Bench(tuple(lines), rates, state, time.monotonic() - start)


@contextmanager
def _quiet(threads: int) -> Iterator[None]:
    before, collecting = torch.get_num_threads(), gc.isenabled()
    torch.set_num_threads(threads)
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        torch.set_num_threads(before)
        if collecting:
            gc.enable()


def call_of(subject: Subject, dtype: str, n: int, device: str) -> Call:
    """A subject's call on ordinary arguments."""
    arguments = make_arguments(str(subject.kind), dtype, n, device)
    raw = subject.kind is Kind.TANH_GRADIENT
    function = subject.function if raw else neuron_of(subject)
    return lambda: function(*arguments)


def floor_call(kind: Kind, dtype: str, n: int, device: str) -> Call:
    """The least that must be moved: a neuron reads two vectors and writes two, a tanh-gradient
    reads two and writes one. Into memory that is there already."""
    x, y = make_arguments(str(kind), dtype, n, device)[:2]
    to = torch.empty_like(x), torch.empty_like(y)
    if kind is Kind.TANH_GRADIENT:
        return lambda: torch.add(x, y, out=to[0])
    return lambda: (to[0].copy_(x), to[1].copy_(y))


def moved_bytes(kind: Kind, dtype: str, n: int) -> int:
    """Bytes that a call reads and writes at the least, scalars left out."""
    vectors = 3 if kind is Kind.TANH_GRADIENT else 4
    return int(vectors * n * getattr(torch, dtype).itemsize)


def time_group(
    subjects: Sequence[Subject], dtype: str, device: str, n: int, pace: Pace
) -> Iterator[Line]:
    """A line for each subject, all timed in turns with autograd and the floors."""
    timed = cuda_block if device == "cuda" else host_block
    calls: dict[str, Call] = {_REFERENCE: call_of(load(_REFERENCE), dtype, n, device)}
    for kind in {subject.kind for subject in subjects}:
        calls[f"{_FLOOR} {kind}"] = floor_call(kind, dtype, n, device)
    first, errors = {}, {}
    for subject in subjects:
        begin = time.perf_counter()
        try:
            _require_support(subject, dtype, device)
            call = call_of(subject, dtype, n, device)
            begin = time.perf_counter()
            call()
            if device == "cuda":
                torch.cuda.synchronize()
        except (Exception, SystemExit) as error:
            errors[subject.name] = one_line(error)
            continue
        first[subject.name] = time.perf_counter() - begin
        calls[subject.name] = call
    times = _rounds({name: timed(call) for name, call in calls.items()}, pace)
    for subject in subjects:
        key = (subject.name, str(subject.kind), dtype, device, n)
        if subject.name in errors:
            yield Line(*key, None, None, None, None, None, None, None, errors[subject.name])
            continue
        own, floor = times[subject.name], times[f"{_FLOOR} {subject.kind}"]
        seconds = statistics.median(own)
        raw = subject.kind is Kind.TANH_GRADIENT
        yield Line(
            *key,
            seconds_a_call=seconds,
            first_call=first[subject.name],
            neurons_a_second=(n if raw else 1) / seconds,
            bytes_a_second=moved_bytes(subject.kind, dtype, n) / seconds,
            over_autograd=None if raw else _ratio(own, times[_REFERENCE]),
            over_floor=_ratio(own, floor),
            peak_bytes=_silent_peak(calls[subject.name], device),
            error=None,
        )


def _silent_peak(call: Call, device: str) -> int:
    """The peak bytes, without the lines that torch's profiler may print on descriptor 2."""
    sys.stderr.flush()
    kept, silence = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(silence, 2)
        return peak_bytes(call, "subject", device)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(silence)


def _require_support(subject: Subject, dtype: str, device: str) -> None:
    for what, there, wanted in (
        ("dtype", subject.dtypes, dtype),
        ("device", subject.devices, device),
    ):
        if there is not None and wanted not in there:
            raise CannotVerify(f"{what} {wanted} is none that it supports")


def _rounds(blocks: dict[str, Callable[[int, int], int]], pace: Pace) -> dict[str, list[float]]:
    """Name -> seconds a call in each round, in an order drawn anew each round."""
    counts = {}
    for name, block in blocks.items():
        calls = 1
        while (spent := block(calls, 0) / 1e9) < pace.block and calls < 1 << 20:
            calls = max(
                calls + 1, min(calls * 10, round(calls * 1.1 * pace.block / max(spent, 1e-9)))
            )
        counts[name] = calls
    times: dict[str, list[float]] = {name: [] for name in blocks}
    rng = random.Random(0)
    for _ in range(pace.rounds):
        for name in rng.sample(list(blocks), len(blocks)):
            times[name].append(blocks[name](counts[name], 0) / 1e9 / counts[name])
    return times


def _ratio(over: Sequence[float], under: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def time_engines(on_group: Callable[[str], None]) -> Iterator[Engine]:
    """Rates of the certified oracle, of a sweep's block and of a verification, in float32 and
    float64. The last holds what it draws and judges, not what it imports."""
    from harness.api import verify
    from harness.bench.worker import prepare
    from harness.sweep.block import sweep_block
    from harness.sweep.plan import Block, make_plan

    for dtype in ("float32", "float64"):
        on_group(f"harness {dtype}")
        oracle = prepare({"recipe": "oracle", "dtype": dtype})
        points = len(oracle().tanh)
        yield Engine(f"certified oracle {dtype}", "points", points / _seconds(oracle))
        last = 1.0 if dtype == "float32" else 0.5 + 2.0**-20
        plan = make_plan(load("textbook"), dtype=dtype, first=0.5, last=last)
        # From 1/2 upwards, where tanh is curved and gradients are not trivial.
        half = plan.format.to_bits(0.5)
        block = Block(half, half + (1 << 14), (0, 1))
        swept = _seconds(partial(sweep_block, plan, block))
        yield Engine(f"sweep {dtype}", "points", (2 << 14) / swept)
    examples = 60

    def judged() -> Any:
        return verify("textbook", dtypes=["float32"], devices=["cpu"], examples=examples, seed=1)

    judged()
    yield Engine("verify float32", "cases", examples / _seconds(judged, 3))


def _seconds(call: Callable[[], Any], times: int = 7) -> float:
    """The median time of a call, which has been called before."""
    call()
    spent = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent)
