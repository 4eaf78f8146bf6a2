"""Throughput of the main job: examples judged a second, drawing included, and the start-up time.

tox run -e bench -- tests/benchmarks/test_verify.py
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.api import make_plans, run_plans
from harness.case import DTYPES
from harness.subjects import load

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


def test_help(benchmark: BenchmarkFixture) -> None:
    """`neuron-harness --help`: target, under 0.4 seconds from start to exit."""
    command = [sys.executable, "-m", "harness", "--help"]
    benchmark.pedantic(subprocess.run, args=(command,), kwargs={"capture_output": True}, rounds=5)
