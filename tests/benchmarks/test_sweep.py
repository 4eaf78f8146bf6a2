"""How fast sweeps are: whole ones from shell to exit, and a block by what it is spent on.

`pytest tests/benchmarks/test_sweep.py -m "slow or not slow" --benchmark-only` runs the whole
float32 sweep too, whose last line says how much of its time the subject alone would take (the
floor), in the same blocks of the same run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.subjects import load
from harness.sweep.block import sweep_block
from harness.sweep.plan import Block, make_plan
from reference.dyadic import from_float

ROOT = Path(__file__).parents[2]


def from_shell(*arguments: str, cwd: Path) -> str:
    """What `neuron-harness sweep` prints."""
    found = subprocess.run(
        [sys.executable, "-m", "harness", "sweep", *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return found.stdout


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_16_bit_format_from_shell_to_exit(
    benchmark: BenchmarkFixture, tmp_path: Path, dtype: str
) -> None:
    """All 2^16 patterns, both quantities, all laws; the target is 5 s."""
    printed = benchmark.pedantic(
        from_shell, args=("textbook", "--dtype", dtype), kwargs={"cwd": tmp_path}, rounds=3
    )
    assert "65,536 of 65,536 points" in printed


@pytest.mark.slow
def test_all_of_float32_with_two_jobs(
    benchmark: BenchmarkFixture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All 2^32 patterns, both quantities, all laws; the target is 60 s on two cores."""
    printed = benchmark.pedantic(
        from_shell,
        args=("textbook", "--dtype", "float32", "--jobs", "2"),
        kwargs={"cwd": tmp_path},
        rounds=1,
    )
    assert "4,294,967,296 of 4,294,967,296 points" in printed
    with capsys.disabled():
        print(f"\n{printed.splitlines()[-1]}")


@pytest.mark.parametrize(
    "x",
    [2.0**-100, 2.0**-10, 0.3, 2.5, 9.5, 2.0**20],
    ids=lambda x: f"from {x:.3g}",
)
@pytest.mark.parametrize("name", ["textbook", "torch-tanh"])
def test_a_block_of_float32(benchmark: BenchmarkFixture, name: str, x: float) -> None:
    """2^21 numbers and as many of the other sign, in one process."""
    plan = make_plan(load(name), dtype="float32")
    start = plan.format.to_bits(plan.format.round_down(from_float(x)))
    block = Block(start, start + (1 << 21), (0, 1))
    summary = benchmark.pedantic(sweep_block, args=(plan, block), rounds=3, warmup_rounds=1)
    spent = summary.seconds
    each = 1e9 / summary.points
    benchmark.extra_info["ns a point"] = {
        "subject": round(spent.subject * each, 1),
        "lanes": round(spent.lanes * each, 1),
        "oracle and statistics": round(spent.judging * each, 1),
        "laws": round(spent.laws * each, 1),
    }
