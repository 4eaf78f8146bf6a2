"""Turns in real processes: what is timed, and every way in which the sides may be no fair pair."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.bench.processes import Side
from harness.bench.runner import Effort, Runner
from harness.bench.turn import Turn, byte_log_ratio, time_log_ratio
from harness.bench.workload import subject_workload
from harness.errors import CannotVerify

pytestmark = pytest.mark.usefixtures("one_stem")

QUICK = Effort(rounds=5, block=1e-4, patience=60)
NAME = "mine.py:neuron float32 n=8"
MakeSide = Callable[..., Side]


def turn(old: Side, new: Side, effort: Effort = QUICK, turns: int = 1) -> Turn:
    """The last of some turns of two sides."""
    with Runner({"old": old, "new": new}, random.Random(1), effort) as runner:
        for _ in range(turns):
            found = runner.turn()
    return found


def test_a_turn_times_every_side_in_every_round(side: MakeSide) -> None:
    """As many positive times on each side; a second turn takes its sizes from the first."""
    found = turn(side("old"), side("new"), turns=2)
    assert {"old", "new"} == set(found.times) == set(found.bytes)
    assert 5 == len(found.times["old"][NAME]) == len(found.times["new"][NAME])
    assert all(time > 0 for time in found.times["old"][NAME])


def test_each_side_runs_its_own_code(side: MakeSide) -> None:
    """The new side does thirty sums more, and holds a kilobyte more. Far from a matter of noise."""
    extra = "kept = torch.empty(256), [(x * w).sum() for _ in range(30)]"
    found = turn(side("old"), side("new", extra=extra))
    assert time_log_ratio(found, NAME, "new", "old") > 0.5
    assert byte_log_ratio(found, NAME, "new", "old") > 0.5


def test_a_spin_is_real_work(side: MakeSide) -> None:
    """A block's time added to each block doubles it, give or take."""
    old = side("old")
    found = turn(old, replace(old, spin=1.0), replace(QUICK, rounds=15, block=1e-3))
    assert 0.3 < time_log_ratio(found, NAME, "new", "old") < 1.2


def test_memory_is_counted_not_sampled(side: MakeSide) -> None:
    """The same code takes the same bytes, to the byte: two products and four scalars at most."""
    found = turn(side("old"), side("new"))
    assert found.bytes["old"] == found.bytes["new"]
    assert 0 < found.bytes["old"][NAME] <= 2 * 32 + 4 * 8


@pytest.mark.parametrize("lacks", ["old", "new"])
def test_a_subject_renamed_on_one_side(side: MakeSide, lacks: str) -> None:
    """It names the workload, the side and the way out."""
    sides = {
        name: side(name, attribute="other" if name == lacks else "neuron")
        for name in ("old", "new")
    }
    expected = f"{NAME!r} cannot be timed on the {lacks} side .*no attribute 'neuron'.*--without"
    with pytest.raises(CannotVerify, match=expected):
        turn(sides["old"], sides["new"])


def test_a_subject_that_raises(side: MakeSide) -> None:
    """Its message is handed on."""
    expected = "cannot be timed on the new side .*ZeroDivisionError"
    with pytest.raises(CannotVerify, match=expected):
        turn(side("old"), side("new", extra="1 / 0"))


def test_a_subject_that_raises_once_it_is_timed(side: MakeSide) -> None:
    """Not in the first call, but later."""
    extra = "global left; left -= 1; assert left, 'used up'"
    with pytest.raises(CannotVerify, match=f"{NAME}, new side: AssertionError: used up"):
        turn(side("old"), side("new", extra=extra, on_import="left = 4"))


def test_a_subject_that_ends_the_process(side: MakeSide) -> None:
    """With exit status 0, which must not look like an answer."""
    with pytest.raises(CannotVerify, match=r"the new side .*starting: the process ended"):
        turn(side("old"), side("new", extra="import os; os._exit(0)"))


def test_a_subject_that_never_returns(side: MakeSide) -> None:
    """It is not waited for."""
    slow = replace(QUICK, patience=1.5)
    with pytest.raises(CannotVerify, match=r"no answer in 1.5 s.*--timeout"):
        turn(side("old"), side("new", extra="import time; time.sleep(1000)"), slow)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("torch.set_num_threads(2)", "threads is 1 on the old side and 2 on the new side"),
        ("torch.__version__ = '9.9.9'", "torch is .* on the old side and 9.9.9 on the new side"),
        ("torch.set_default_dtype(torch.float64)", "default_dtype is torch.float32 on the old"),
        ("torch.set_grad_enabled(False)", "grad_enabled is True on the old side and False"),
    ],
    ids=["threads", "version of torch", "default dtype", "grad mode"],
)
@pytest.mark.parametrize("when", ["on import", "in a call"])
def test_sides_that_are_set_up_in_different_ways(
    side: MakeSide, change: str, key: str, when: str
) -> None:
    """Whether on import or in a call, it is an error that says which."""
    if when == "on import":
        new = side("new", on_import=f"import torch\n{change}")
    else:
        new = side("new", extra=change)
    with pytest.raises(CannotVerify, match=key):
        turn(side("old"), new)


def test_what_is_set_up_alike_only_until_it_is_timed(side: MakeSide) -> None:
    """The state is compared after the timing too."""
    extra = "global calls; calls += 1; torch.set_num_threads(1 + (calls > 2))"
    with pytest.raises(CannotVerify, match="threads is 1 on the old side and 2 on the new side"):
        turn(side("old"), side("new", extra=extra, on_import="calls = 0"))


def test_a_torch_of_its_own_on_one_side(side: MakeSide) -> None:
    """A folder named torch beside the subject is not the torch that is timed."""
    new = side("new")
    (new.directory / "torch").mkdir()
    (new.directory / "torch" / "__init__.py").write_text("__version__ = '0'")
    found = turn(side("old"), new)
    assert 5 == len(found.times["new"][NAME])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ((8,), (8, 9), "n=9: not on all sides"),
        ((8, 9), (8,), "n=9: not on all sides"),
        ((), (), "no workload is left to time"),
        ((8, 8), (8, 8), "n=8 is there twice"),
    ],
    ids=["one more", "one less", "none", "one twice"],
)
def test_workloads_that_do_not_match(
    side: MakeSide, old: tuple[int, ...], new: tuple[int, ...], message: str
) -> None:
    """Never the ones in common: what is missing may be what regressed."""
    sides = {
        name: side(
            name,
            workloads=tuple(subject_workload("mine.py:neuron", "float32", n) for n in lengths),
        )
        for name, lengths in (("old", old), ("new", new))
    }
    with pytest.raises(CannotVerify, match=message):
        turn(sides["old"], sides["new"])


def test_the_order_is_that_of_the_seed(side: MakeSide, monkeypatch: pytest.MonkeyPatch) -> None:
    """And both sides are first about as often: it is a coin that says so."""
    from harness.bench.processes import Child

    old, new = side("old"), side("new")
    asked: list[str] = []
    ask = Child.ask

    def noted(self: Child, command: str, what: str) -> dict[str, object]:
        if command.startswith("run"):
            asked.append(what)
        return ask(self, command, what)

    monkeypatch.setattr(Child, "ask", noted)
    many = replace(QUICK, rounds=60)
    orders = []
    for _ in range(2):
        asked.clear()
        turn(old, new, many)
        orders.append(asked[20:])  # after the calibration; a slow machine has fewer rounds
    common = min(map(len, orders))
    assert orders[0][:common] == orders[1][:common]
    firsts = ["old side" in what for what in orders[0][:common:2]]
    assert 5 <= len(firsts) <= 60
    assert len(firsts) / 5 <= sum(firsts) <= len(firsts) * 4 / 5
