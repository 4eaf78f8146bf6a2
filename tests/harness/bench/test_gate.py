"""The course of a gate: one look, one extension of what is undecided, and the verdict."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.bench import gate as engine
from harness.bench.gate import Gate, run_gate
from harness.bench.record import gate_json
from harness.bench.rule import Verdict
from harness.bench.table import gate_lines, gate_table
from harness.bench.turn import Turn
from tests.harness.bench.made_up import NAMES, made_up_plan, made_up_turn

MakeTurn = Callable[[int, Sequence[str], random.Random], Turn]
#: A workload that the first 24 pairs leave undecided, at whatever the rule asks.
EVEN = (1.0, 1.07)


def run(monkeypatch: pytest.MonkeyPatch, make: MakeTurn, pairs: int = 24) -> tuple[Gate, list[int]]:
    """A gate on made-up turns, and how many workloads each turn timed."""
    asked: list[int] = []

    class Made:
        names = NAMES

        def __init__(self, *_: object) -> None:
            self.environment: dict[str, Any] = {"torch": "2"}
            self.rng = random.Random(1)

        def __enter__(self) -> Made:
            return self

        def __exit__(self, *_: object) -> None: ...

        def turn(self, names: Sequence[str]) -> Turn:
            asked.append(len(names))
            return make(len(asked), names, self.rng)

    monkeypatch.setattr(engine, "Runner", Made)
    return run_gate(made_up_plan(pairs)), asked


def test_equal_sides_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0 after 24 pairs, without an extension."""
    found, asked = run(monkeypatch, lambda at, names, rng: made_up_turn({}, names=names, rng=rng))
    assert (0, [3] * 24, False) == (found.exit_status, asked, found.extended)


def test_a_regression_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4, of the slower one alone; what is undecided then need not be known."""

    def make(at: int, names: Sequence[str], rng: random.Random) -> Turn:
        return made_up_turn({"a float32 n=8": 1.1, "b float32 n=8": EVEN[at % 2]}, rng=rng)

    found, asked = run(monkeypatch, make)
    assert (4, 24) == (found.exit_status, len(asked))
    verdicts = [Verdict.REGRESSION, Verdict.INCONCLUSIVE, Verdict.SAME]
    assert verdicts == [finding.verdict for finding in found.times]


def test_more_memory_is_a_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same rule, though the times are the same."""
    found, _ = run(
        monkeypatch, lambda at, names, rng: made_up_turn({}, names=names, memory=1.1, rng=rng)
    )
    assert 4 == found.exit_status
    verdicts = [Verdict.REGRESSION, Verdict.SAME, Verdict.SAME]
    assert verdicts == [each.verdict for each in found.bytes]
    assert all(each.verdict is Verdict.SAME for each in found.times)


def test_what_is_undecided_is_measured_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """And alone; its pairs of both looks count together."""

    def make(at: int, names: Sequence[str], rng: random.Random) -> Turn:
        ratio = EVEN[at % 2] if at <= 24 else 0.97
        return made_up_turn({"b float32 n=8": ratio}, names=names, rng=rng)

    found, asked = run(monkeypatch, make)
    assert [3] * 24 + [1] * 24 == asked
    assert [24, 48, 24] == [finding.pairs for finding in found.times]
    assert (0, True) == (found.exit_status, found.extended)


def test_a_regression_may_be_seen_in_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4 from the second look."""

    def make(at: int, names: Sequence[str], rng: random.Random) -> Turn:
        ratio = EVEN[at % 2] if at <= 24 else 1.07
        return made_up_turn({"b float32 n=8": ratio}, names=names, rng=rng)

    found, _ = run(monkeypatch, make)
    assert (4, True) == (found.exit_status, found.extended)


def test_still_undecided_is_exit_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one extension there is no other."""

    def make(at: int, names: Sequence[str], rng: random.Random) -> Turn:
        return made_up_turn({"b float32 n=8": EVEN[at % 2]}, names=names, rng=rng)

    found, asked = run(monkeypatch, make)
    assert (5, 48) == (found.exit_status, len(asked))


def test_a_control_that_fails_is_exit_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is sure, a regression too; after an extension of everything."""

    def make(at: int, names: Sequence[str], rng: random.Random) -> Turn:
        return made_up_turn({"a float32 n=8": 2.0}, names=names, control=1.05, rng=rng)

    found, asked = run(monkeypatch, make)
    assert (5, [3] * 48) == (found.exit_status, asked)
    assert Verdict.REGRESSION is found.times[0].verdict
    text = "\n".join(gate_lines(found))
    assert "INCONCLUSIVE: the machine is too noisy" in text
    assert "a float32 n=8: the old side against itself is 1.0" in text


def test_a_control_may_recover(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the extension, whose pairs count with the first."""

    def make(at: int, names: Sequence[str], rng: random.Random) -> Turn:
        control = 1.05 if at <= 23 else 1.0
        return made_up_turn({}, names=names, control=control, rng=rng)

    found, _ = run(monkeypatch, make)
    assert (0, True, ()) == (found.exit_status, found.extended, found.control_failures)


def test_too_few_pairs_never_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four and four more cannot be sure of anything."""
    found, _ = run(
        monkeypatch, lambda at, names, rng: made_up_turn({}, names=names, rng=rng), pairs=4
    )
    assert 5 == found.exit_status


def test_json_holds_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a schema; an end that is infinite is null, since JSON has no other word."""
    found, _ = run(
        monkeypatch, lambda at, names, rng: made_up_turn({}, names=names, rng=rng), pairs=4
    )
    record = json.loads(gate_json(found))
    assert "neuron-harness/gate/1" == record["schema"]
    assert {name: 8 for name in NAMES} == {
        name: len(pairs) for name, pairs in record["log_ratios"].items()
    }
    assert (5, "inconclusive") == (record["exit_status"], record["verdict"])
    assert record["time"][0]["high"] is None
    assert "fingerprint" in record["environment"]


def test_the_table_has_a_row_for_each_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the closing line the verdict, the rule and the seed."""
    found, _ = run(monkeypatch, lambda at, names, rng: made_up_turn({}, names=names, rng=rng))
    assert 3 == gate_table(found).row_count
    assert (
        "faster or same, for slowdowns of more than 0.03 (0.99 intervals); 24 pairs in"
        in (gate_lines(found)[-1])
    )
    assert "seed 1" in gate_lines(found)[-1]
