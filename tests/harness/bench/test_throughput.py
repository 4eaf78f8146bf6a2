"""Throughput runs: what is counted and what is left as it was. No speed is asserted."""

from __future__ import annotations

import gc
import json
import math

import pytest
import torch

from harness.bench.record import bench_json, machine
from harness.bench.throughput import Pace, floor_call, moved_bytes, run_bench, time_group
from harness.errors import CannotVerify
from harness.subjects import Kind, Subject, load

QUICK = Pace(rounds=3, block=1e-5)


def test_a_line_for_each_subject_dtype_and_length() -> None:
    """In that order of nesting, n = 0 among them; ratios and rates fit the times."""
    found = run_bench(
        ["textbook", "aten-tanh-gradient"],
        dtypes=["float32", "bfloat16"],
        devices=["cpu"],
        lengths=[0, 8],
        pace=QUICK,
        engines=False,
    )
    assert [("float32", 0), ("float32", 0), ("float32", 8), ("float32", 8)] == [
        (line.dtype, line.n) for line in found.lines[:4]
    ]
    neuron, raw = found.lines[2:4]
    assert neuron.seconds_a_call is not None and raw.seconds_a_call is not None
    assert 1 / neuron.seconds_a_call == pytest.approx(neuron.neurons_a_second)
    assert 8 / raw.seconds_a_call == pytest.approx(raw.neurons_a_second)
    assert 4 * 8 * 4 / neuron.seconds_a_call == pytest.approx(neuron.bytes_a_second)
    assert 3 * 8 * 4 / raw.seconds_a_call == pytest.approx(raw.bytes_a_second)
    assert neuron.over_autograd is not None and raw.over_autograd is None
    assert neuron.over_floor is not None and math.isfinite(neuron.over_floor)
    assert 32 == raw.peak_bytes
    assert 0.0 == found.lines[0].bytes_a_second


def test_the_process_is_left_as_it_was() -> None:
    """Threads and garbage collection, also where timing fails."""
    before = torch.get_num_threads()
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            run_bench(
                ["textbook"],
                dtypes=["float32"],
                devices=["cpu"],
                lengths=[0],
                pace=QUICK,
                threads=before + 1,
                engines=False,
            )
            assert enabled == gc.isenabled()
            assert before == torch.get_num_threads()
        finally:
            gc.enable()


def test_what_cannot_be_timed_says_why() -> None:
    """A subject that raises is a line with its error, and stops no other."""
    broken = Subject("broken", Kind.NEURON, lambda: None)
    sound = load("textbook")
    lines = list(time_group([broken, sound], "float32", "cpu", 8, QUICK))
    assert lines[0].seconds_a_call is None
    assert str(lines[0].error).startswith("TypeError: ")
    assert lines[1].seconds_a_call is not None


def test_a_device_that_is_missing() -> None:
    """An error, not a table without it."""
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    with pytest.raises(CannotVerify, match="device 'cuda' was asked for"):
        run_bench(["textbook"], dtypes=["float32"], devices=["cuda"], lengths=[8])


@pytest.mark.parametrize("kind", list(Kind))
def test_the_floor_moves_what_it_says(kind: Kind) -> None:
    """It reads both vectors and writes one or two of the same length."""
    call = floor_call(kind, "float64", 100, "cpu")
    found = call()
    written = found if isinstance(found, tuple) else (found,)
    assert moved_bytes(kind, "float64", 100) == 8 * 100 * (2 + len(written))
    assert all(each.shape == (100,) for each in written)


def test_json_can_be_stored() -> None:
    """Under a schema, with the fingerprint of the machine."""
    found = run_bench(
        ["textbook"],
        dtypes=["float32"],
        devices=["cpu"],
        lengths=[8],
        pace=QUICK,
        engines=False,
    )
    record = json.loads(bench_json(found))
    assert "neuron-harness/bench/1" == record["schema"]
    assert ("textbook", 8) == (record["benchmarks"][0]["subject"], record["benchmarks"][0]["n"])
    assert machine(found.environment)["fingerprint"] == record["environment"]["fingerprint"]


def test_a_fingerprint_is_of_what_times_depend_on() -> None:
    """Another torch or number of threads is another; this project's own version is not in it."""
    state = {"torch": "2.13.0", "threads": 1}
    prints = [
        machine(each)["fingerprint"]
        for each in (state, dict(state), {**state, "threads": 2}, {**state, "torch": "2.14.0"})
    ]
    assert prints[0] == prints[1]
    assert 3 == len(set(prints))
    assert "neuron_harness" in machine(state)
