"""Where blocks of work run: this process, processes on this machine, or a dask cluster.

All three answer the same call, `run(function, items)`, with results in the order of completion. A
worker that dies takes nothing with it but its unfinished items, which are tried again; an item that
kills one worker after another is named.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures import Executor as FutureExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain, islice
from typing import Any, Final, Protocol, TypeVar

from harness.ending import ending

Item = TypeVar("Item")
Result = TypeVar("Result")

#: How often in a row workers may die without an item finished, before the items are blamed.
ATTEMPTS: Final = 3
#: Items handed over for each worker, so that none waits for its next.
_AHEAD: Final = 2
_CONNECT_SECONDS: Final = 10
#: How long a process may take to leave when it is asked to, before it is killed.
_LEAVING_SECONDS: Final = 5


class ExecutorError(RuntimeError):
    """Work cannot be carried out here. One line: what happened, what was expected, the remedy."""


class WorkerCrashed(ExecutorError):
    """An item by itself ended the process that it was given to, by an exit or a fault."""


class Executor(Protocol):
    """Carries out one function on many items."""

    def run(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        patience: float | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """Each item with its result, as they are completed; items are drawn as they are needed.

        `function` stands at the top level of a module; items and results can be pickled. What
        `function` raises is raised here. Raises ExecutorError where workers keep dying,
        WorkerCrashed if they do so by themselves, and TimeoutError where no item is completed
        within `patience` seconds (None: however long it takes), if the work is done elsewhere than
        in this process.
        """
        ...


class _Serial:
    def run(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        patience: float | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        for item in items:
            yield item, function(item)


class _Futures(ABC):
    """Work over a `concurrent.futures` executor, with few items handed over at a time."""

    def __init__(self, executor: FutureExecutor, workers: Callable[[], int]) -> None:
        self._executor = executor
        self._workers = workers

    def run(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        patience: float | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        waiting = iter(items)
        running: dict[Future[Any], Item] = {}
        losses = 0
        while True:
            # After a loss one at a time, so that the item which is blamed in the end is the one.
            most = 1 if losses else _AHEAD * max(1, self._workers())
            for item in islice(waiting, max(0, most - len(running))):
                running[self._submit(function, item)] = item
            if not running:
                return
            done, _ = wait(running, timeout=patience, return_when=FIRST_COMPLETED)
            if not done:
                raise TimeoutError(f"{next(iter(running.values()))} took over {patience:g} s")
            lost: list[Item] = []
            for future in [future for future in running if future in done]:
                item = running.pop(future)
                try:
                    result = future.result()
                except (BrokenProcessPool, CancelledError):
                    lost.append(item)
                else:
                    losses = 0
                    yield item, result
            if lost:
                losses += 1
                lost += running.values()
                running.clear()
                codes = self._replace()
                if len(lost) == 1 and codes and _FAULTS.issuperset(codes):
                    raise WorkerCrashed(
                        f"{lost[0]} ended its process, {ending(codes[0])}; "
                        "expected a return or an exception"
                    )
                if losses == ATTEMPTS:
                    raise ExecutorError(
                        f"{lost[0]} lost {ATTEMPTS} processes one after another"
                        f"{', the last ' + ending(codes[0]) if codes else ''}; expected them to "
                        "live; look for too little memory, or a crash in the subject"
                    )
                waiting = chain(lost, waiting)

    def _submit(self, function: Callable[[Item], Result], item: Item) -> Future[Any]:
        try:
            with _interrupts_held():
                return self._executor.submit(function, item)
        except BrokenProcessPool as error:
            # Seen here first where a worker dies between items.
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    @abstractmethod
    def _replace(self) -> list[int]:
        """Workers in place of those that were lost, and the exit codes of these, where known."""


class _Cluster(_Futures):
    def __init__(self, executor: FutureExecutor, workers: Callable[[], int], killed: Any) -> None:
        super().__init__(executor, workers)
        self._killed = killed

    def run(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        patience: float | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        try:
            yield from super().run(function, items, patience=patience)
        except self._killed as error:
            raise ExecutorError(
                f"a block has lost several workers of the cluster ({error.task}); expected them to "
                "live; look for too little memory, or a crash in the subject"
            ) from None
        except ImportError as error:
            raise ExecutorError(
                f"a worker of the cluster cannot import what it needs ({error}); expected "
                "neuron-harness and the subject there; install both where the workers run"
            ) from None

    def _replace(self) -> list[int]:
        raise ExecutorError(
            "the dask scheduler is gone; expected it to stay; start it again and use --resume"
        )


class _Processes(_Futures):
    """Processes of this machine. When one of them dies its pool breaks, and is made anew."""

    def __init__(self, jobs: int, prepare: tuple[str, ...]) -> None:
        self._jobs = jobs
        self._prepare = prepare
        super().__init__(self._pool(), lambda: jobs)

    def start(self) -> None:
        """Start the first process now, so that it prepares itself while this one does."""
        with suppress(BrokenProcessPool), _interrupts_held():
            self._executor.submit(_nothing)

    def close(self) -> None:
        """End the processes without waiting for what they have begun."""
        executor, processes = self._executor, self._alive()
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(_LEAVING_SECONDS)
            if process.exitcode is None:
                process.kill()
                process.join()

    def _replace(self) -> list[int]:
        executor, processes = self._executor, self._alive()
        # The pool is broken: it ends the processes that are left, and waits for them.
        executor.shutdown(wait=True, cancel_futures=True)
        self._executor = self._pool()
        codes = [process.exitcode for process in processes]
        # Negative: the signal that ended it. A broken pool ends those that are left by SIGTERM.
        return [code for code in codes if code not in (None, -signal.SIGTERM)]

    def _alive(self) -> list[Any]:
        # Not a public attribute; without it the processes would finish what they have begun.
        return list((getattr(self._executor, "_processes", None) or {}).values())

    def _pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
            initargs=(self._prepare,),
        )


def _own_faults() -> Iterator[int]:
    yield from range(256)
    for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS"):
        if hasattr(signal, name):
            yield -getattr(signal, name)


#: Exit codes of processes that have ended by themselves: they left, or met a fault of their own.
_FAULTS: Final = frozenset(_own_faults())


@contextmanager
def local(jobs: int) -> Iterator[Executor]:
    """`jobs` processes on this machine; with one job, this process itself."""
    if jobs == 1:
        yield _Serial()
        return
    with processes(jobs) as executor:
        yield executor


@contextmanager
def processes(jobs: int, *, prepare: tuple[str, ...] = ()) -> Iterator[Executor]:
    """`jobs` processes on this machine, started as they are needed, the first at once.

    Each imports the modules `prepare` as it starts. They are spawned, because a fork of a process
    that has used torch may hang. They leave with this process however it ends, leave Ctrl-C to it,
    and print to standard error.
    """
    executor = _Processes(jobs, prepare)
    try:
        executor.start()
        yield executor
    finally:
        executor.close()


def _nothing() -> None:
    """The work of a process that is only to start."""


def _begin_worker(prepare: tuple[str, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    # Standard output is the parent's: there may be JSON on it.
    with suppress(OSError, ValueError):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Standard error holds no line back, and so no subject's last words before it ends its process.
    sys.stdout = sys.stderr
    for name in prepare:
        importlib.import_module(name)


def _leave_with_parent() -> None:
    """End this process when its parent has: a killed parent cannot tell its workers to stop."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _interrupts_held() -> AbstractContextManager[None]:
    """Hold Ctrl-C back while processes are started: they inherit that, and so are not interrupted
    before they could say that they leave it to their parent."""
    if not hasattr(signal, "pthread_sigmask"):
        return nullcontext()
    return _masked()


@contextmanager
def _masked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of the dask cluster whose scheduler is at `address`.

    The scheduler gives the items of a lost worker to others, and gives up an item that has lost
    several. Raises ExecutorError if dask.distributed is not installed, the scheduler does not
    answer, has no worker or is lost, a worker cannot import what it needs, or an item is given up.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise ExecutorError(
            "--cluster needs dask.distributed, which is not installed; expected the extra "
            "`cluster`; pip install 'neuron-harness[cluster]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ExecutorError(
            f"no dask scheduler answers at {address!r} ({type(error).__name__}); expected an "
            "address like tcp://host:8786; start one with `dask scheduler`"
        ) from None
    executor = client.get_executor(pure=False)
    try:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError:
            raise ExecutorError(
                f"the dask scheduler at {address!r} has no workers; expected one or more; start "
                f"one with `dask worker {address}`"
            ) from None
        yield _Cluster(executor, lambda: sum(client.nthreads().values()), distributed.KilledWorker)
    finally:
        with suppress(Exception):
            executor.shutdown(wait=False)
            client.close(timeout=_CONNECT_SECONDS)
