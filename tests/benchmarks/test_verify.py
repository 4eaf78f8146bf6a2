"""Throughput of the main job: examples judged a second, drawing included, what the laws cost, and
the start-up time.

tox run -e bench -- tests/benchmarks/test_verify.py
"""

from __future__ import annotations

import subprocess
import sys
from os import times as process_times

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.api import make_plans, run_plans
from harness.case import DTYPES
from harness.flush import subnormals_kept
from harness.laws import LAWS, Law
from harness.subjects import load
from harness.verifier import verify_one

_EXAMPLES = 1000


@pytest.mark.parametrize("dtype", DTYPES)
def test_examples_a_second(benchmark: BenchmarkFixture, dtype: str) -> None:
    """`verify textbook --examples 1000`: target, 300 examples a second on one core in float32."""
    plans = make_plans(
        [(None, load("textbook"))],
        dtypes=[dtype],
        devices=["cpu"],
        require=None,
        examples=_EXAMPLES,
        seed=1,
        activation_ulps=None,
    )
    verification = benchmark.pedantic(run_plans, args=(plans,), rounds=3, warmup_rounds=1)
    assert verification.passed
    examples = verification.verdicts[0].examples
    benchmark.extra_info["examples a second"] = examples / benchmark.stats.stats.min


@pytest.mark.parametrize("name", ["textbook", "torch-tanh", "aten-tanh-gradient"])
def test_cost_of_laws(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A verification in float32: target, with the laws at most twice the user time of accuracy
    alone. The two take turns in one run, so that a busy machine slows both; the least of each."""
    engine = sys.modules[verify_one.__module__]
    of_a_call = tuple(law for law in LAWS if not any(law.checks.values()))
    (plan,) = make_plans(
        [(None, load(name))],
        dtypes=["float32"],
        devices=["cpu"],
        require=None,
        examples=500,
        seed=1,
        activation_ulps=None,
    )

    def user_seconds(laws: tuple[Law, ...]) -> float:
        monkeypatch.setattr(engine, "LAWS", laws)
        before = process_times().user
        assert verify_one(plan).passed
        return process_times().user - before

    with subnormals_kept():
        user_seconds(LAWS)
        pairs = [(user_seconds(of_a_call), user_seconds(LAWS)) for _ in range(5)]
        benchmark.pedantic(verify_one, args=(plan,), rounds=1)
    alone, both = map(min, zip(*pairs, strict=True))
    benchmark.extra_info["user time, with laws over without"] = both / alone
    benchmark.extra_info["user milliseconds a case for laws"] = 1e3 * (both - alone) / plan.examples


def test_help(benchmark: BenchmarkFixture) -> None:
    """`neuron-harness --help`: target, under 0.4 seconds from start to exit."""
    command = [sys.executable, "-m", "harness", "--help"]
    benchmark.pedantic(subprocess.run, args=(command,), kwargs={"capture_output": True}, rounds=5)
