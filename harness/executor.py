"""Where blocks of work run: this process, processes on this machine, or a dask cluster.

All three answer the same call, `run(function, items)`, with results in the order of completion. A
worker that dies takes nothing with it but its unfinished items, which are tried again.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures import Executor as FutureExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain, islice
from typing import Any, Final, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: How often in a row workers may die without an item finished, before the items are blamed.
ATTEMPTS: Final = 3
#: Items handed over for each worker, so that none waits for its next.
_AHEAD: Final = 2
_CONNECT_SECONDS: Final = 10


class ExecutorError(RuntimeError):
    """Work cannot be carried out here. One line: what happened, what was expected, the remedy."""


class Executor(Protocol):
    """Carries out one function on many items."""

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """Each item with its result, as they are completed; items are drawn as they are needed.

        `function` stands at the top level of a module; items and results can be pickled. What
        `function` raises is raised here. Raises ExecutorError where workers keep dying.
        """
        ...


class _Serial:
    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        for item in items:
            yield item, function(item)


class _Futures:
    """Work over a `concurrent.futures` executor, with few items handed over at a time."""

    def __init__(self, executor: FutureExecutor, workers: Callable[[], int]) -> None:
        self._executor = executor
        self._workers = workers

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        waiting = iter(items)
        running: dict[Future[Any], Item] = {}
        losses = 0
        while True:
            room = _AHEAD * max(1, self._workers()) - len(running)
            for item in islice(waiting, max(0, room)):
                running[self._submit(function, item)] = item
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            lost: list[Item] = []
            for future in done:
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
                if losses == ATTEMPTS:
                    raise ExecutorError(
                        f"workers died {ATTEMPTS} times in a row with {len(lost)} blocks unfinished"
                        f" (the first: {lost[0]}); expected them to live; look for too little "
                        "memory, or a crash in the subject"
                    )
                waiting = chain(lost, waiting)
                self._replace()

    def _submit(self, function: Callable[[Item], Result], item: Item) -> Future[Any]:
        try:
            with _interrupts_held():
                return self._executor.submit(function, item)
        except BrokenProcessPool as error:
            # Seen here first where a worker dies between items.
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def _replace(self) -> None:
        raise ExecutorError(
            "the dask scheduler is gone; expected it to stay; start it again and use --resume"
        )


class _Processes(_Futures):
    """Processes of this machine. When one of them dies its pool breaks, and is made anew."""

    def __init__(self, jobs: int) -> None:
        super().__init__(_process_pool(jobs), lambda: jobs)
        self._jobs = jobs

    def close(self) -> None:
        """End the processes without waiting for what they have begun."""
        executor = self._executor
        # Not a public attribute; without it the processes would finish what they have begun.
        processes = list((getattr(executor, "_processes", None) or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()

    def _replace(self) -> None:
        self.close()
        self._executor = _process_pool(self._jobs)


def _process_pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
    )


@contextmanager
def local(jobs: int) -> Iterator[Executor]:
    """`jobs` processes on this machine; with one job, this process itself.

    The processes are spawned, because a fork of a process that has used torch may hang. They leave
    with this process however it ends, and leave Ctrl-C to it.
    """
    if jobs == 1:
        yield _Serial()
        return
    processes = _Processes(jobs)
    try:
        yield processes
    finally:
        processes.close()


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


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
    answer or is lost, or an item is given up.
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
        yield _Futures(executor, lambda: sum(client.nthreads().values()))
    except distributed.KilledWorker as error:
        raise ExecutorError(
            f"a block has lost several workers of the cluster ({error.task}); expected them to "
            "live; look for too little memory, or a crash in the subject"
        ) from error
    finally:
        with suppress(Exception):
            executor.shutdown(wait=False)
            client.close(timeout=_CONNECT_SECONDS)
