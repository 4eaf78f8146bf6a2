"""Engines: figures that do not depend on who did which block when, or on what died meanwhile."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import CannotVerify
from harness.executor import ExecutorError, local, processes
from harness.store import Store, StoreError
from harness.subjects import Kind, load
from harness.sweep import look as looks
from harness.sweep import plan as plans
from harness.sweep.engine import Outcome, Silent, assemble, environment, run_sweep
from harness.sweep.plan import Plan, make_plan
from harness.sweep.record import finish, to_json
from harness.sweep.task import Task, carry_out, decode, encode
from tests.harness.sweep.subjects_under_sweep import subject, textbook


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Many blocks in the 16-bit formats, which else are one block each."""
    before = dict(plans._BLOCK)
    plans._BLOCK.update(float16=1 << 10, bfloat16=1 << 10)
    yield
    plans._BLOCK.update(before)


class Disordered:
    """An executor that completes blocks in an order of its own, and may break off."""

    def __init__(self, seed: int = 0, stop_after: int | None = None, error: Any = None) -> None:
        self._random = Random(seed)
        self._stop_after = stop_after
        self._error = error
        self.done: list[Task] = []

    def run(
        self,
        function: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        patience: float | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        waiting = list(items)
        self._random.shuffle(waiting)
        for item in waiting:
            if isinstance(item, Task):
                if len(self.done) == self._stop_after:
                    raise self._error
                self.done.append(item)
            yield item, function(item)


def json_of(outcome: Outcome) -> bytes:
    return to_json([finish(outcome)], environment())


def a_plan() -> Plan:
    return make_plan(load("textbook"), dtype="float16", first=-6.0, last=9.0)


@pytest.fixture(scope="module")
def uninterrupted() -> bytes:
    with local(1) as executor:
        outcome = run_sweep(a_plan(), executor=executor)
    assert outcome.complete
    return json_of(outcome)


@given(st.integers(0, 2**32), st.integers(0, 30))
@settings(max_examples=12)
def test_figures_do_not_depend_on_order_or_interruption(
    uninterrupted: bytes, tmp_path_factory: pytest.TempPathFactory, seed: int, stop_after: int
) -> None:
    """Any order of completion, broken off anywhere and resumed: bit for bit the same JSON."""
    path = tmp_path_factory.mktemp("store") / "store.sqlite"
    with Store.open(path) as store:
        first = Disordered(seed, stop_after, KeyboardInterrupt())
        partial = run_sweep(a_plan(), executor=first, store=store)
        second = Disordered(seed + 1)
        outcome = run_sweep(a_plan(), executor=second, store=store, resume=True)
    assert uninterrupted == json_of(outcome)
    names = [task.block.name for task in (*first.done, *second.done)]
    # What was stored is not done again; the block that was broken off is.
    assert sorted(names) == [block.name for block in a_plan().blocks()]
    assert partial.complete == (stop_after >= len(names))


@given(st.data())
@settings(max_examples=20)
def test_assembling_does_not_depend_on_order(data: st.DataObject) -> None:
    """Summaries sort themselves."""
    plan = make_plan(load("torch-tanh"), dtype="float16", first=-1.0, last=2.0)
    contents = data.draw(st.permutations(_contents(plan)))
    assert encode(_whole(plan)) == encode(without_time(assemble(plan, contents)))


_cache: dict[str, list[bytes]] = {}


def _contents(plan: Plan) -> list[bytes]:
    if "contents" not in _cache:
        blocks = plan.blocks()
        _cache["contents"] = [
            encode(without_time(decode(carry_out(Task(plan, block, False))))) for block in blocks
        ]
    return _cache["contents"]


def _whole(plan: Plan) -> Any:
    return without_time(assemble(plan, _contents(plan)))


def without_time(summary: Any) -> Any:
    from dataclasses import replace

    from harness.sweep.summary import Seconds

    return replace(summary, seconds=Seconds())


def test_two_processes_give_the_figures_of_one(uninterrupted: bytes) -> None:
    """The subject is loaded by name in each of them."""
    with local(2) as executor:
        outcome = run_sweep(a_plan(), executor=executor, by_name=True)
    assert uninterrupted == json_of(outcome)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_worker_gives_the_figures_of_one_process(
    uninterrupted: bytes,
) -> None:
    """A dask worker is killed half-way; its blocks go to the other."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    from harness.executor import cluster

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as found:
        victims = [worker.process.pid for worker in found.workers.values()]

        class Killer(Silent):
            blocks = 0

            def advance(self, points: int) -> None:
                import os
                import signal

                self.blocks += 1
                if self.blocks == 3:
                    os.kill(victims[0], signal.SIGKILL)

        with cluster(found.scheduler_address) as executor:
            watch = Killer()
            outcome = run_sweep(a_plan(), executor=executor, by_name=True, watch=watch)
    assert watch.blocks > 3
    assert uninterrupted == json_of(outcome)


@pytest.mark.parametrize(
    ("error", "stopped"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (ExecutorError("workers died"), "workers died"),
        (StoreError("the disk is full"), "the disk is full"),
    ],
    ids=["Ctrl-C", "dying workers", "a full disk"],
)
def test_what_stops_a_sweep_leaves_what_was_done(error: BaseException, stopped: str) -> None:
    """A usable partial result that is marked incomplete, and exit status 5."""
    executor = Disordered(0, 4, error)
    sweep = finish(run_sweep(a_plan(), executor=executor))
    assert (stopped, False, 5) == (
        sweep.outcome.stopped,
        sweep.outcome.complete,
        sweep.exit_status,
    )
    assert sum(task.block.points for task in executor.done) == sweep.points
    assert sweep.points == sweep.quantities[0].total.points


@pytest.mark.parametrize("lost", [True, False], ids=["a damaged file", "a full disk"])
def test_only_a_store_that_is_sound_is_resumable(tmp_path: Path, lost: bool) -> None:
    """Nothing goes on from a file that has to be moved away, nor from none."""
    error = StoreError("trouble", lost=lost)
    with Store.open(tmp_path / "store.sqlite") as store:
        stored = run_sweep(a_plan(), executor=Disordered(0, 4, error), store=store)
    unstored = run_sweep(a_plan(), executor=Disordered(0, 4, error))
    assert (not lost, False) == (stored.resumable, unstored.resumable)


def test_a_store_that_fills_up_keeps_what_it_took(tmp_path: Path) -> None:
    """The sweep ends with one line, and goes on once there is room."""
    with Store.open(tmp_path / "store.sqlite") as store:
        pages = store._pragma("page_count")
        store._connection.execute(f"PRAGMA max_page_count = {pages + 10}")
        partial = run_sweep(a_plan(), executor=Disordered(), store=store)
        assert partial.stopped is not None and "the disk is full" in partial.stopped
        assert partial.summary is not None and 0 < partial.summary.points < partial.plan.points
        # The block that the store refused is in the summary all the same.
        run = store.runs()[-1]
        points = {block.name: block.points for block in partial.plan.blocks()}
        stored = sum(points[name] for name, _ in store.parts(run.id))
        assert 0 < partial.unstored_points == partial.summary.points - stored
        assert (5, True) == (finish(partial).exit_status, partial.resumable)
        store._connection.execute("PRAGMA max_page_count = 100000")
        executor = Disordered()
        outcome = run_sweep(a_plan(), executor=executor, store=store, resume=True)
        assert outcome.complete
        blocks = a_plan().block_count
        assert 0 < len(executor.done) < blocks


@pytest.mark.parametrize("content", [b"\0\x11", "text", "another"], ids=["bytes", "text", "other"])
def test_a_damaged_block_is_computed_again(
    uninterrupted: bytes, tmp_path: Path, content: Any
) -> None:
    """And the user is told; the sound blocks are not done again."""
    notices: list[str] = []

    class Watch(Silent):
        def notice(self, text: str) -> None:
            notices.append(text)

    block, other, *_ = a_plan().blocks()
    with Store.open(tmp_path / "store.sqlite") as store:
        run_sweep(a_plan(), executor=Disordered(), store=store)
        parts = dict(store.parts(store.runs()[-1].id))
        if content == "another":
            content = parts[other.name]
        store.put(store.runs()[-1].id, [(block.name, content)])
        executor = Disordered()
        outcome = run_sweep(a_plan(), executor=executor, store=store, resume=True, watch=Watch())
        again = Disordered()
        run_sweep(a_plan(), executor=again, store=store, resume=True)
    assert uninterrupted == json_of(outcome)
    assert [block.name] == [task.block.name for task in executor.done]
    assert [
        f"damaged blocks in the store: 1; computing their {block.points:,} points again"
    ] == notices
    assert [] == again.done


def test_resume_takes_nothing_from_another_plan(tmp_path: Path) -> None:
    """Another range, dtype or source is another sweep, and the user is told."""
    notices: list[str] = []

    class Watch(Silent):
        def notice(self, text: str) -> None:
            notices.append(text)

    with Store.open(tmp_path / "store.sqlite") as store:
        run_sweep(a_plan(), executor=Disordered(), store=store)
        other = make_plan(load("autograd"), dtype="float16", first=-6.0, last=9.0)
        executor = Disordered()
        run_sweep(other, executor=executor, store=store, resume=True, watch=Watch())
    assert other.block_count == len(executor.done)
    assert ["nothing to resume: no stored sweep has this plan in this environment"] == notices


def test_resume_goes_on_from_an_edited_subject_with_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of the old code are not mixed with those of the new."""
    file = tmp_path / "mine.py"
    done = []
    with Store.open(tmp_path / "store.sqlite") as store:
        for body in ("torch.tanh(x)", "torch.tanh(x) * 1"):
            file.write_text(f"import torch\ndef tanh(x):\n    return {body}\n")
            plan = make_plan(load(f"{file}:tanh", "activation"), dtype="float16", first=0, last=1)
            executor = Disordered()
            run_sweep(plan, executor=executor, store=store, resume=True)
            done.append(len(executor.done))
    assert [plan.block_count] * 2 == done


def test_a_neuron_that_cannot_be_batched_is_announced_with_its_time() -> None:
    """Why, how many calls, and how long."""
    notices: list[str] = []

    class Watch(Silent):
        def notice(self, text: str) -> None:
            notices.append(text)

    def branching(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> object:
        results = textbook(x, w, b, g)
        return results if float(results[0]) < 2 else None

    plan = make_plan(subject(branching, Kind.NEURON), dtype="float16", first=0.5, last=0.51)
    outcome = run_sweep(plan, executor=Disordered(), watch=Watch())
    (notice,) = notices
    assert notice.startswith("a subject cannot be batched with torch.func.vmap (raised")
    assert f"{plan.points} calls, about 0 seconds" in notice
    assert (True, False) == (outcome.complete, outcome.plan.batched)


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: torch.tanh(x).sum(), Kind.ACTIVATION, r"has shape \(\) for \(3,\)"),
        (lambda x: torch.tanh(x.detach()), Kind.ACTIVATION, "does not require grad"),
        (lambda x: torch.tanh(x).double(), Kind.ACTIVATION, "is torch.float64; expected torch.f"),
        (lambda x: 1.0, Kind.ACTIVATION, "is a float; expected a torch.Tensor"),
        (lambda *_: 1, Kind.NEURON, "returned a int; expected 4 tensors"),
        (lambda *_: [1, 2], Kind.NEURON, "returned 2; expected 4 tensors"),
        (lambda y, dy: y[:1], Kind.TANH_GRADIENT, r"has shape \(1,\) for \(3,\)"),
        (lambda x: [][0], Kind.ACTIVATION, "raised IndexError: list index out of range"),
    ],
    ids=[
        "a reduction",
        "no gradient",
        "another dtype",
        "no tensor",
        "no tuple",
        "two results",
        "another shape",
        "an error",
    ],
)
def test_a_subject_that_cannot_be_swept_is_one_line(
    function: Callable[..., Any], kind: Kind, message: str
) -> None:
    """Before anything is swept."""
    plan = make_plan(subject(function, kind), dtype="float16")
    with pytest.raises(
        CannotVerify, match=f"a subject cannot be swept in float16: .*{message}"
    ) as e:
        run_sweep(plan, executor=Disordered())
    assert "\n" not in str(e.value)


def test_a_subject_that_fails_half_way_is_a_violation() -> None:
    """Exit status 1, with what was done before."""

    def late(x: torch.Tensor) -> torch.Tensor:
        if (x > 5).any():
            raise RuntimeError("too far")
        return torch.tanh(x)

    plan = make_plan(subject(late), dtype="float16")
    with local(1) as executor:
        sweep = finish(run_sweep(plan, executor=executor))
    assert 1 == sweep.exit_status
    assert "raised RuntimeError: too far" in sweep.failures[0]
    assert 0 < sweep.points < plan.points


SPOILT = """
import os, signal, time, torch

def leaves(x):
    os._exit(0)

def aborts(x):
    os.abort()

def never(x):
    time.sleep(600)

def leaves_at_3(x):
    if (x == 3).any():
        os._exit(0)
    return torch.tanh(x)

def killed_at_3(x):
    if (x == 3).any():
        os.kill(os.getpid(), signal.SIGKILL)
    return torch.tanh(x)
"""


def spoilt_plan(tmp_path: Path, name: str) -> Plan:
    """A plan of a subject that ends its process, by name, in blocks of 2^14 numbers."""
    file = tmp_path / "spoilt.py"
    file.write_text(SPOILT)
    locator = f"{file}:{name}"
    return make_plan(
        load(locator, "activation"), dtype="float32", first=2.5, last=4.5, locator=locator
    )


@pytest.fixture
def smaller_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few blocks between 2.5 and 4.5."""
    monkeypatch.setitem(plans._BLOCK, "float32", 1 << 20)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leaves", "the first call ended its process, with exit status 0"),
        ("aborts", "the first call ended its process, by SIGABRT"),
    ],
)
def test_a_subject_that_ends_its_process_at_once_cannot_be_swept(
    tmp_path: Path, name: str, message: str
) -> None:
    """This process outlives it, and says what happened in one line."""
    with processes(1) as executor, pytest.raises(CannotVerify) as caught:
        run_sweep(spoilt_plan(tmp_path, name), executor=executor, by_name=True)
    assert f"cannot be swept in float32: {message}; expected a return or an exception" in str(
        caught.value
    )


def test_a_subject_that_never_returns_cannot_be_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is told what is waited for, and after a while that it is in vain."""
    monkeypatch.setattr(looks, "TOLD_AFTER", 0.5)
    monkeypatch.setattr(looks, "PATIENCE", 1.0)
    notices: list[str] = []

    class Watch(Silent):
        def notice(self, text: str) -> None:
            notices.append(text)

    plan = spoilt_plan(tmp_path, "never")
    with processes(1) as executor, pytest.raises(CannotVerify, match="did not return from its"):
        run_sweep(plan, executor=executor, by_name=True, watch=Watch())
    assert [f"waiting for {plan.subject.name} to return from its first calls"] == notices


@pytest.mark.usefixtures("smaller_blocks")
def test_a_subject_that_ends_its_process_half_way_has_failed(tmp_path: Path) -> None:
    """Exit status 1, with the block it happened in and the figures of those before it."""
    plan = spoilt_plan(tmp_path, "leaves_at_3")
    with processes(1) as executor:
        sweep = finish(run_sweep(plan, executor=executor, by_name=True))
    assert 1 == sweep.exit_status
    (failure,) = sweep.failures
    assert failure.startswith(f"{plan.subject.name} from 0x1.8000000000000p+1 to 0x1.")
    assert failure.endswith(
        " ended its process, with exit status 0; expected a return or an exception"
    )
    assert 2 << 20 == sweep.points


@pytest.mark.usefixtures("smaller_blocks")
def test_a_process_that_is_killed_again_and_again_stops_the_sweep(tmp_path: Path) -> None:
    """Nobody's fault for sure: exit status 5, what was done is shown."""
    with processes(2) as executor:
        plan = spoilt_plan(tmp_path, "killed_at_3")
        sweep = finish(run_sweep(plan, executor=executor, by_name=True))
    assert 5 == sweep.exit_status
    assert "lost 3 processes one after another, the last by SIGKILL" in str(sweep.outcome.stopped)
    assert 1 << 20 <= sweep.points < plan.points


def test_workers_find_a_subject_that_has_a_name_of_its_own(tmp_path: Path) -> None:
    """By where it is, not by what it calls itself."""
    file = tmp_path / "own.py"
    file.write_text(
        "import torch\nfrom harness.subjects import Kind, Subject\n"
        "SUBJECT = Subject('the-best', Kind.ACTIVATION, torch.tanh)\n"
    )
    locator = f"{file}:SUBJECT"
    plan = make_plan(load(locator), dtype="float16", first=0, last=1, locator=locator)
    with processes(1) as executor:
        outcome = run_sweep(plan, executor=executor, by_name=True)
    assert outcome.complete
    assert "the-best" == outcome.plan.subject.name
