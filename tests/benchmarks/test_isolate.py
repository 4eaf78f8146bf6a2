"""What isolation costs: the time of an example with the subject in a process of its own, over that
with it in this one, and the time to replace a process that was lost.

tox run -e bench -- tests/benchmarks/test_isolate.py
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.api import make_plans
from harness.case import Case
from harness.flush import subnormals_kept
from harness.isolate.lost import Lost
from harness.isolate.patience import Patience
from harness.isolate.records import Begin, CaseRecord, Evaluate
from harness.isolate.subject import IsolatedFunction, Isolation
from harness.judge import Judge, Plan
from harness.laws import LAWS, Rotation
from harness.passes import Passes
from harness.shares import shares
from harness.strategies import cases, regimes_for
from harness.subjects import Kind, Subject, load
from harness.tally import Tally

_EXAMPLES = 400
_ROUNDS = 7
#: The longest neurons that the target speaks of.
_LENGTH = 64


def plan_of(subject: Subject) -> Plan:
    """A plan in float32 on the CPU."""
    (plan,) = make_plans(
        [(None, subject)],
        dtypes=["float32"],
        devices=["cpu"],
        require=None,
        examples=_EXAMPLES,
        seed=1,
        activation_ulps=None,
    )
    return plan


def drawn() -> list[Case]:
    """The cases of a verification with up to `_LENGTH` terms."""
    found: list[Case] = []

    class Keep(Tally):
        def add(self, *_finding: object) -> None:
            """Nothing is judged."""

    def look(case: Case) -> None:
        if len(case.inputs) <= _LENGTH:
            found.append(case)

    share_of = shares(regimes_for(Kind.NEURON), _EXAMPLES)
    passes = Passes(plan_of(load("textbook")), cases, share_of)
    passes.first(lambda _regime: look, Keep(()))  # type: ignore[arg-type,return-value]
    return found


def seconds(judge: Judge, some: Sequence[Case]) -> float:
    """To evaluate and judge cases, with the laws that are due."""
    due = Rotation(LAWS, judge.kind).due
    started = time.perf_counter()
    for case in some:
        judge(case, due)
    return time.perf_counter() - started


@pytest.mark.parametrize("name", ["textbook", "autograd", "torch-tanh"])
def test_cost_of_isolation(benchmark: BenchmarkFixture, name: str) -> None:
    """Target: at most 1.5 times the time of an example in this process, for n <= 64. The two take
    turns in one run, so that a busy machine slows both; drawing, which is the same, is left out."""
    some = drawn()
    with Isolation() as isolation, subnormals_kept():
        judges = Judge(plan_of(load(name))), Judge(plan_of(isolation.subject(name)))
        pairs = [tuple(seconds(judge, some) for judge in judges) for _ in range(_ROUNDS + 1)][1:]
        benchmark.pedantic(seconds, args=(judges[1], some), rounds=1)
    here, there = map(min, zip(*pairs, strict=True))
    benchmark.extra_info["isolated over in this process"] = there / here
    benchmark.extra_info["median of the ratios"] = sorted(b / a for a, b in pairs)[_ROUNDS // 2]
    benchmark.extra_info["milliseconds an example here"] = 1e3 * here / len(some)
    benchmark.extra_info["milliseconds an example isolated"] = 1e3 * there / len(some)


def test_time_to_replace_a_process(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From a request that crashes to the answer of the next: no target, but a hundred make a
    counterexample small."""
    (tmp_path / "crashes.py").write_text(
        "import os\n"
        "from harness.subjects.textbook import textbook\n"
        "def neuron(x, w, b, g):\n"
        "    return os.abort() if len(x) else textbook(x, w, b, g)\n"
    )
    crash, good = (
        Evaluate(CaseRecord.of(Case("float32", (1.0,) * n, (1.0,) * n, 0.0, 1.0))) for n in (1, 0)
    )
    with Isolation() as isolation:
        function = isolation.subject(f"{tmp_path / 'crashes.py'}:neuron").function
        assert isinstance(function, IsolatedFunction)
        patience, begin = Patience(isolation.limits), Begin("cpu", False)

        def lose() -> None:
            with pytest.raises(Lost):
                function.ask(begin, crash, patience)
            function.ask(begin, good, patience)

        function.ask(begin, good, patience)
        benchmark.pedantic(lose, rounds=20)
