"""Executors: the same results anywhere, and work that outlives its workers."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.executor import ExecutorError, WorkerCrashed, cluster, local, processes

ROOT = Path(__file__).parents[2]
#: What workers run: a module of its own, because they import it by name.
WORK = """
import os, signal, time
from pathlib import Path

def square(item):
    return item * item

def fail(item):
    raise KeyError(item)

def die_once(item):
    number, folder = item
    if number == 3:
        try:
            (Path(folder) / "died").touch(exist_ok=False)
        except FileExistsError:
            return number
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    return number

def die(item):
    os.kill(os.getpid(), signal.SIGKILL)

def leave_at_5(item):
    if item == 5:
        time.sleep(0.5)
        os._exit(3)
    return item

def sleep(item):
    time.sleep(60)

def needs(item):
    import a_module_that_nobody_has

def speak(item):
    print(item, flush=True)

def report(item):
    print(os.getpid(), flush=True)
    time.sleep(60)
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    name = "work_for_executors"
    (tmp_path / f"{name}.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as found:
        yield found


@pytest.mark.parametrize("jobs", [1, 2], ids=["in this process", "two processes"])
def test_local_gives_every_item_its_result(work: ModuleType, jobs: int) -> None:
    """In whatever order, with nothing lost and nothing twice."""
    with local(jobs) as executor:
        found = list(executor.run(work.square, range(20)))
    assert [(item, item * item) for item in range(20)] == sorted(found)


def test_items_are_drawn_as_they_are_needed(work: ModuleType) -> None:
    """A long plan is not built ahead of its work."""
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            drawn.append(item)
            yield item

    with local(2) as executor:
        results = executor.run(work.square, items())
        next(results)
        assert len(drawn) < 20


@pytest.mark.parametrize("jobs", [1, 2], ids=["in this process", "two processes"])
def test_local_raises_what_the_function_raises(work: ModuleType, jobs: int) -> None:
    """An error of the work is no loss of a worker."""
    with local(jobs) as executor, pytest.raises(KeyError, match="5"):
        list(executor.run(work.fail, [5]))


def test_an_item_whose_worker_is_killed_is_tried_again(work: ModuleType, tmp_path: Path) -> None:
    """kill -9 of a worker half-way costs no result."""
    with local(2) as executor:
        found = list(executor.run(work.die_once, [(n, str(tmp_path)) for n in range(8)]))
    assert (tmp_path / "died").exists()
    assert list(range(8)) == sorted(result for _, result in found)


def test_work_that_kills_every_worker_is_given_up(work: ModuleType) -> None:
    """After three losses in a row, in one line."""
    with (
        local(2) as executor,
        pytest.raises(
            ExecutorError, match=r"^1 lost 3 processes one after another, the last by SIGK"
        ) as caught,
    ):
        list(executor.run(work.die, [1]))
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, WorkerCrashed)


@pytest.mark.parametrize("jobs", [1, 2], ids=["one process", "two processes"])
def test_an_item_that_ends_its_process_is_named(work: ModuleType, jobs: int) -> None:
    """The one that did, not one that ran beside it; the others have their results."""
    found: list[tuple[int, int]] = []
    with processes(jobs) as executor, pytest.raises(WorkerCrashed) as caught:
        for result in executor.run(work.leave_at_5, range(8)):
            found.append(result)
    assert "5 ended its process, with exit status 3; expected a return or an exception" == str(
        caught.value
    )
    assert [(item, item) for item in range(5)] == sorted(found)[:5]


def test_patience_ends(work: ModuleType) -> None:
    """With the item that was waited for."""
    with processes(1) as executor:
        assert [(1, 1)] == list(executor.run(work.square, [1], patience=60))
        with pytest.raises(TimeoutError, match=r"^7 took over"):
            list(executor.run(work.sleep, [7], patience=0.5))


def test_workers_print_to_standard_error(
    work: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output is their parent's, who may write JSON to it."""
    with processes(1) as executor:
        list(executor.run(work.speak, ["a word"]))
    out, err = capfd.readouterr()
    assert ("", "a word\n") == (out, err)


def test_workers_leave_when_their_parent_is_killed(tmp_path: Path) -> None:
    """A killed parent leaves no processes behind."""
    (tmp_path / "work_for_executors.py").write_text(WORK)
    code = textwrap.dedent(
        """
        import work_for_executors as work
        from harness.executor import local
        if __name__ == "__main__":
            with local(2) as executor:
                list(executor.run(work.report, [1, 2]))
        """
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stderr is not None
    workers = [int(parent.stderr.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [False, False] == [alive(worker) for worker in workers]
    parent.stderr.close()


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(process, 0)
        except OSError:
            return False
        return not Path("/proc/self").exists()
    return state != "Z"


@pytest.mark.filterwarnings("ignore")
def test_cluster_gives_every_item_its_result(work: ModuleType, scheduler: Any) -> None:
    """The workers of a dask cluster answer as processes do."""
    with cluster(scheduler.scheduler_address) as executor:
        scheduler_path(scheduler, work)
        found = list(executor.run(work.square, range(20)))
    assert [(item, item * item) for item in range(20)] == sorted(found)


@pytest.mark.filterwarnings("ignore")
def test_cluster_gives_the_items_of_a_killed_worker_to_another(
    work: ModuleType, scheduler: Any, tmp_path: Path
) -> None:
    """kill -9 of a dask worker half-way costs no result."""
    with cluster(scheduler.scheduler_address) as executor:
        scheduler_path(scheduler, work)
        found = list(executor.run(work.die_once, [(n, str(tmp_path)) for n in range(8)]))
    assert (tmp_path / "died").exists()
    assert list(range(8)) == sorted(result for _, result in found)


@pytest.mark.filterwarnings("ignore")
def test_cluster_without_a_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address, what was expected, how to start one."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr("harness.executor._CONNECT_SECONDS", 1)
    with (
        pytest.raises(ExecutorError, match=r"answers at 'tcp://127\.0\.0\.1:9'"),
        cluster("tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.filterwarnings("ignore")
def test_cluster_without_workers_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of waiting for ever."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr("harness.executor._CONNECT_SECONDS", 1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as found:
        address = found.scheduler_address
        with (
            pytest.raises(ExecutorError, match=f"at '{address}' has no workers.*dask worker"),
            cluster(address),
        ):
            pass


@pytest.mark.filterwarnings("ignore")
def test_cluster_workers_that_lack_a_module_are_one_line(work: ModuleType, scheduler: Any) -> None:
    """What they cannot import, and where to install it."""
    with (
        pytest.raises(ExecutorError, match=r"cannot import what it needs \(No module named 'a_mo"),
        cluster(scheduler.scheduler_address) as executor,
    ):
        scheduler_path(scheduler, work)
        list(executor.run(work.needs, [1]))


@pytest.mark.filterwarnings("ignore")
def test_cluster_gives_up_what_kills_its_workers(work: ModuleType) -> None:
    """While what was completed is there."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    found: list[tuple[int, int]] = []
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, processes=True
        ) as own,
        cluster(own.scheduler_address) as executor,
    ):
        scheduler_path(own, work)
        with pytest.raises(ExecutorError, match="a block has lost several workers of the cluster"):
            for result in executor.run(work.leave_at_5, [1, 5]):
                found.append(result)
    assert [(1, 1)] == found


def test_cluster_without_dask_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ExecutorError, match=r"pip install 'neuron-harness\[cluster\]'"),
        cluster("tcp://127.0.0.1:8786"),
    ):
        pass


def scheduler_path(scheduler: Any, work: ModuleType) -> None:
    """Let the workers, which began before the module was written, import it."""
    from distributed import Client

    assert work.__file__ is not None
    with Client(scheduler.scheduler_address, set_as_default=False) as client:
        client.upload_file(work.__file__)
