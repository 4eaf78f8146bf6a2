"""Whole hunts: finds judged again, shrunk and stored; budgets, interrupts, bad subjects."""

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.errors import CannotVerify
from harness.grade import Grade
from harness.hunt.budget import Budget
from harness.hunt.engine import Hunt, Silent, run_hunt
from harness.hunt.finds import KEPT, Find
from harness.hunt.judge import MISMATCH, RAISED, ULPS, CaseJudge
from harness.hunt.memory import remembered
from harness.hunt.plan import Plan, make_plan
from harness.hunt.record import exit_status, failures, to_json
from harness.hunt.scores import Objective
from harness.store import Store, StoreError
from harness.subjects import Kind, Subject, load
from tests.harness.hunt import neurons, planted

OUTPUT = Objective("output", ULPS)


def activation(function: Callable[..., Any], **arguments: Any) -> Plan:
    subject = Subject("planted", Kind.ACTIVATION, function)
    return make_plan(subject, dtype="float64", **{"seconds": None, "known": False, **arguments})


def neuron(function: Callable[..., Any], **arguments: Any) -> Plan:
    subject = Subject("planted", Kind.NEURON, function)
    return make_plan(subject, dtype="float64", **{"seconds": None, "known": False, **arguments})


def find_of(hunt: Hunt, objective: Objective) -> Find:
    (found,) = (find for find in hunt.finds if find.objective == objective and find.point)
    return found


class Interrupting(Silent):
    """A watch that interrupts when there is a record of at least `value`."""

    def __init__(self, value: float) -> None:
        self._value = value

    def progress(self, budget: Budget, finds: Mapping[str, float]) -> None:
        if finds.get("output ulps", 0.0) >= self._value:
            raise KeyboardInterrupt


def test_a_find_is_judged_again_and_shrunk() -> None:
    """By the mpmath oracle, by itself; the smaller case keeps 99 % of the error and the grade."""
    plan = activation(planted.below_a_threshold, evaluations=30_000)
    hunt = run_hunt(plan)
    find = find_of(hunt, OUTPUT)
    assert Grade.WRONG is find.grade
    judge = CaseJudge(plan)
    assert find.value == judge(find.found).value(OUTPUT)
    small = judge(find.case)
    assert small.value(OUTPUT) >= KEPT * find.value
    assert Grade.WRONG is small.grade
    assert 1 == exit_status(hunt)
    assert any("wrong: nothing explains it" in line for line in failures(hunt))


def test_a_shrunk_number_is_short_where_many_keep_the_error() -> None:
    """A fault of a whole binade is shown by a power of two."""
    hunt = run_hunt(activation(planted.in_one_binade, evaluations=300_000))
    find = find_of(hunt, OUTPUT)
    assert (-(2.0**-300),) == find.case.inputs


def test_a_sound_subject_is_reported_and_passes() -> None:
    """Its worst inputs are there, and nothing is wrong with them."""
    hunt = run_hunt(
        make_plan(load("torch-tanh"), dtype="float64", seconds=None, evaluations=60_000)
    )
    assert 0.5 < find_of(hunt, OUTPUT).value < 2.5
    assert [] == failures(hunt)
    assert 0 == exit_status(hunt)
    assert 60_000 == hunt.evaluations


def test_known_inputs_are_a_start_that_can_be_left_out() -> None:
    """With them glibc's worst is there at once; without them it is not."""
    subject = load("math:tanh", Kind.ACTIVATION)
    hunts = {
        known: run_hunt(
            make_plan(subject, dtype="float64", seconds=None, evaluations=25, known=known)
        )
        for known in (True, False)
    }
    x = float.fromhex("0x1.e126eee514cbcp-3")
    worst = abs(hunts[True].sweep.quantities[0].total.max_ulp)
    assert worst > 0.5
    assert 25 == hunts[True].started_from
    assert 0 == hunts[False].started_from
    assert hunts[False].sweep.quantities[0].total.max_ulp < worst
    # Whatever the C library here: its error at the known input is among the figures.
    assert x == 0.23493754040337034
    assert math.isfinite(math.tanh(x))


def test_the_next_hunt_starts_from_the_finds(tmp_path: Path) -> None:
    """A tenth of the evaluations suffice then; a cold hunt starts anew, and takes nothing away."""
    fault = planted.on_a_hill
    with Store.open(tmp_path / "store.sqlite") as store:
        first = run_hunt(activation(fault, evaluations=300_000), store=store)
        value = find_of(first, OUTPUT).value
        assert value > 4
        stored = remembered(store, activation(fault, evaluations=1))
        assert find_of(first, OUTPUT).found in stored

        again = run_hunt(activation(fault, evaluations=5_000, seed=9), store=store)
        assert find_of(again, OUTPUT).value >= value
        assert again.started_from == len(stored) > 0

        cold = run_hunt(activation(fault, evaluations=5_000, seed=9, cold=True), store=store)
        assert find_of(cold, OUTPUT).value < value
        assert 0 == cold.started_from
        after = remembered(store, activation(fault, evaluations=1))
        assert find_of(again, OUTPUT).found in after


@pytest.mark.slow
def test_finds_of_neurons_are_stored_and_judged_first(tmp_path: Path) -> None:
    """Also whole neurons; of another dtype there are none."""
    with Store.open(tmp_path / "store.sqlite") as store:
        plan = neuron(neurons.loses_the_seventeenth, evaluations=70_000)
        first = run_hunt(plan, store=store)
        wrong = [find for find in first.finds if not find.point and find.grade is Grade.WRONG]
        assert wrong
        stored = remembered(store, plan)
        assert {find.case for find in wrong} <= set(stored)
        other = make_plan(plan.subject, dtype="float32", evaluations=1, seconds=None)
        assert [] == remembered(store, other)


def test_equal_hunts_give_equal_finds() -> None:
    """For equal seeds and evaluations, the shrunk cases too."""
    one, other = (run_hunt(neuron(neurons.sound, evaluations=60_000, seed=4)) for _ in range(2))
    assert [(f.objective, f.value, f.found, f.case) for f in one.finds] == [
        (f.objective, f.value, f.found, f.case) for f in other.finds
    ]
    assert one.sweep.quantities == other.sweep.quantities


def test_an_interrupt_keeps_what_was_found(tmp_path: Path) -> None:
    """The hunt is incomplete, its finds are judged again and stored."""
    with Store.open(tmp_path / "store.sqlite") as store:
        plan = activation(torch.tanh, evaluations=10_000_000)
        hunt = run_hunt(plan, store=store, watch=Interrupting(0.55))
        assert "interrupted" == hunt.stopped
        assert 5 == exit_status(hunt)
        (entry,) = json.loads(to_json(hunt))["sweeps"]
        assert (False, False) == (entry["complete"], entry["passed"])
        find = find_of(hunt, OUTPUT)
        assert find.value >= 0.55
        assert find.judged is not None
        assert find.found in remembered(store, plan)


def test_the_time_is_kept() -> None:
    """Search, judging again and shrinking together take the seconds that they were given."""
    started = time.monotonic()
    hunt = run_hunt(activation(torch.tanh, seconds=2.0))
    assert 1.0 < time.monotonic() - started < 3.5
    assert hunt.stopped is None
    assert all(find.judged is not None for find in hunt.finds)


def test_a_call_that_does_not_return_is_ended() -> None:
    """What was found before it is reported; what could not be judged again says so."""
    plan = activation(planted.stuck, seconds=2.0)
    started = time.monotonic()
    hunt = run_hunt(plan)
    assert time.monotonic() - started < 4
    assert 0 == hunt.evaluations
    assert () == hunt.finds
    assert 3 == exit_status(hunt)
    assert hunt.unreturned is not None
    number = r"-?(inf|0x\S+)"
    pattern = rf"a call on \d+ inputs from {number} to {number} did not return within [12]\.\d s"
    assert re.fullmatch(pattern, hunt.unreturned)


def test_a_subject_that_never_returns_cannot_be_hunted() -> None:
    """One line that says what to do."""

    def never(x: torch.Tensor) -> torch.Tensor:
        time.sleep(60)
        return x

    with pytest.raises(CannotVerify, match="did not return from its first calls"):
        run_hunt(activation(never, seconds=0.5))


def test_a_slow_scalar_gets_what_time_there_is() -> None:
    """Its batches are so small that some are done."""
    started = time.monotonic()
    hunt = run_hunt(activation(planted.slow, seconds=3.0))
    assert time.monotonic() - started < 5
    assert 30 < hunt.evaluations < 200
    assert find_of(hunt, OUTPUT).value > 0


def test_slow_neurons_get_what_time_there_is() -> None:
    """Batches of single calls are small, and the alarm ends what takes too long."""
    started = time.monotonic()
    hunt = run_hunt(neuron(neurons.slow, seconds=3.0))
    assert time.monotonic() - started < 5
    assert hunt.stopped is None


def test_a_neuron_that_cannot_be_batched_is_called_one_by_one() -> None:
    """It says so, and finds what the batched one finds."""
    notices: list[str] = []

    class Listening(Silent):
        def notice(self, text: str) -> None:
            notices.append(text)

    hunt = run_hunt(neuron(neurons.not_in_vmap, evaluations=9_000), watch=Listening())
    assert 1 == len(notices)
    assert "cannot be batched with torch.func.vmap" in notices[0]
    assert find_of(hunt, OUTPUT).value > 0.5
    assert 0 == exit_status(hunt)


def test_a_store_that_refuses_at_the_start_is_told() -> None:
    """In its own words: nobody has interrupted anything."""

    class Refusing:
        def latest(self, *_: object) -> None:
            raise StoreError("the disk is full")

    with pytest.raises(CannotVerify, match=r"^the disk is full$"):
        # Of a store, all that the hunt comes to ask for.
        run_hunt(activation(torch.tanh, evaluations=10), store=Refusing())  # type: ignore[arg-type]


def test_what_raises_is_a_failure() -> None:
    """With the input at which it does."""
    hunt = run_hunt(activation(planted.raises_beyond_710, evaluations=100_000))
    (find,) = (find for find in hunt.finds if find.objective == Objective("call", RAISED))
    assert abs(find.case.inputs[0]) > 710
    assert 1 == exit_status(hunt)
    assert any("OverflowError: math range error at" in line for line in failures(hunt))
    twice = replace(hunt, finds=(find, replace(find, objective=OUTPUT)))
    assert failures(replace(hunt, finds=(find,))) == failures(twice)


def test_a_nan_is_a_find_of_its_own() -> None:
    """It has no size, so no other figure shows it."""
    plan = activation(planted.nan_at_one_number, evaluations=1_200_000)
    hunt = run_hunt(plan)
    find = find_of(hunt, Objective("output", MISMATCH))
    assert (0.75,) == find.case.inputs
    assert Grade.WRONG is find.grade


def test_a_result_that_depends_on_its_neighbours_is_a_failure() -> None:
    """The input by itself gives another error than in a block."""
    hunt = run_hunt(activation(planted.depends_on_neighbours, evaluations=30_000))
    assert not find_of(hunt, OUTPUT).steady
    assert any("depends on its place in a block" in line for line in failures(hunt))
    assert 1 == exit_status(hunt)


def test_the_output_of_a_scalar_subject_is_judged_again() -> None:
    """By the same function; its gradient, which nobody has, is not reported."""
    plan = make_plan(
        load("tests/harness/hunt/planted.py:by_exponentials", Kind.ACTIVATION),
        dtype="float64",
        seconds=None,
        evaluations=200_000,
    )
    hunt = run_hunt(plan)
    assert {"output", "call"} == {find.objective.quantity for find in hunt.finds}
    find = find_of(hunt, OUTPUT)
    assert find.value > 1
    assert find.figure is not None
    assert find.figure.element.computed == planted.by_exponentials(find.found.inputs[0])


def test_the_subject_of_a_kind_it_is_not_cannot_be_hunted() -> None:
    """One line, with what it returned."""
    plan = neuron(torch.tanh, evaluations=100)
    with pytest.raises(CannotVerify, match="cannot be swept in float64"):
        run_hunt(plan)


def test_a_hunt_ends_when_every_number_was_tried() -> None:
    """A 16-bit format holds fewer numbers than a second's evaluations."""
    plan = make_plan(load("aten-tanh-gradient"), dtype="float16", seconds=300.0)
    hunt = run_hunt(plan)
    assert hunt.exhausted
    assert hunt.seconds < 60
    assert 2 * (plan.format.to_bits(1.0) + 1) <= hunt.evaluations
