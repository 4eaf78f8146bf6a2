"""The process that is timed. Run by path, with no harness of its own, so that both sides of a
comparison are timed by the same code:

    python -P worker.py SOCKET used|new

It imports torch once and then forks a child for each process asked for. Only the child imports the
code of its side: where torch lies in memory, and the seed of hashes, are the same for the children
of one turn and cannot pass for a difference between the sides.

A request is a line of JSON with a socket attached, over which the child is commanded. A command is
a line `verb arguments`, its answer a line of JSON: `run INDEX CALLS SPINS` times a block, `memory
INDEX` counts bytes, `state` describes the process. An error is answered by {"error": ...}.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import socket
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy
import torch

Call = Callable[[], Any]
Block = Callable[[int, int], int]

#: Points of a block of the certified oracle.
_POINTS = 1024


def prepare(workload: dict[str, Any]) -> Call:
    """The call that a workload times, with its arguments made beforehand.

    Raises whatever the side's own code raises where it lacks the subject or cannot run it.
    """
    if workload["recipe"] == "oracle":
        return _oracle(workload["dtype"])
    from harness.subjects import load, neuron_of

    subject = load(workload["subject"], workload["kind"])
    arguments = make_arguments(
        str(subject.kind), workload["dtype"], workload["n"], workload["device"]
    )
    function = subject.function if str(subject.kind) == "tanh-gradient" else neuron_of(subject)
    return lambda: function(*arguments)


def make_arguments(kind: str, dtype: str, n: int, device: str) -> tuple[torch.Tensor, ...]:
    """Ordinary finite arguments, the same in every process: a neuron's four tensors, whose
    preactivation is around 1, or a tanh-gradient's y in (-1, 1) and dy, both of length n."""
    generator = torch.Generator().manual_seed(20240229)

    def uniform(*shape: int) -> torch.Tensor:
        drawn = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
        return drawn.to(getattr(torch, dtype))

    if kind == "tanh-gradient":
        made = [uniform(n), uniform(n)]
    else:
        made = [uniform(n), uniform(n) / max(n, 1) ** 0.5, uniform(), uniform()]
    return tuple(each.to(device) for each in made)


def _oracle(dtype: str) -> Call:
    from reference import certified
    from reference.formats import BINARY32, BINARY64

    format, carrier = {"float32": (BINARY32, numpy.float32), "float64": (BINARY64, numpy.float64)}[
        dtype
    ]
    x = numpy.random.default_rng(1).normal(size=_POINTS).astype(carrier)
    return lambda: certified.rounded_tanh_sech2(x, format=format)


def host_block(call: Call) -> Block:
    """Times `calls` calls and `spins` turns of an empty loop between them, in nanoseconds."""

    def block(calls: int, spins: int) -> int:
        clock = time.perf_counter_ns
        first, rest = range(calls // 2), range(calls - calls // 2)
        extra = range(spins)
        start = clock()
        for _ in first:
            call()
        for _ in extra:
            pass
        for _ in rest:
            call()
        return clock() - start

    return block


def cuda_block(call: Call) -> Block:
    """As `host_block`, by events on the device's stream, synchronised once a block."""
    make_event: Any = torch.cuda.Event

    def block(calls: int, spins: int) -> int:
        start, end = make_event(enable_timing=True), make_event(enable_timing=True)
        extra = range(spins)
        torch.cuda.synchronize()
        start.record()
        for _ in range(calls):
            call()
        for _ in extra:
            pass
        end.record()
        end.synchronize()
        return int(start.elapsed_time(end) * 1e6)

    return block


def peak_bytes(call: Call, recipe: str, device: str) -> int:
    """The most bytes that one call holds at once beyond what was held before: torch's on the
    device, or numpy's and Python's where the call is the oracle's."""
    if recipe == "oracle":
        tracemalloc.start()
        try:
            call()
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            call()
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        kept = call()
        del kept
        return int(torch.cuda.max_memory_allocated() - before)
    return _torch_peak(call)


def _torch_peak(call: Call) -> int:
    """From the profiler's record of every allocation of torch's on the CPU."""
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        kept = call()
        del kept
    results: Any = profile.kineto_results
    held = peak = 0
    for event in results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return int(peak)


def describe() -> dict[str, Any]:
    """What the two sides of a comparison must have in common."""
    # Not is_available, which may start CUDA where no subject has.
    initialized: Any = torch.cuda.is_initialized
    return {
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "default_dtype": str(torch.get_default_dtype()),
        "grad_enabled": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "assertions": __debug__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cuda_device": torch.cuda.get_device_name() if initialized() else None,
    }


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


class _Child:
    """One timed process, on one side."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.workloads = request["workloads"]
        os.chdir(request["directory"])
        sys.path[:0] = request["path"]
        torch.set_num_threads(request["threads"])
        if request["cpu"] is not None:
            os.sched_setaffinity(0, {request["cpu"]})
        self.blocks: list[Block] = []
        self.calls: list[Call] = []
        self.errors: dict[str, str] = {}

    def ready(self) -> dict[str, Any]:
        import harness
        from harness.subjects import builtin_names

        for workload in self.workloads:
            try:
                call = prepare(workload)
                call()
            except (Exception, SystemExit) as error:
                self.errors[workload["name"]] = _one_line(error)
                continue
            self.calls.append(call)
            timed = cuda_block if workload["device"] == "cuda" else host_block
            self.blocks.append(timed(call))
        # No collection while a block is timed: it would fall on either side by chance. The process
        # ends with the measurement, so that nothing is to be put back.
        gc.collect()
        gc.freeze()
        gc.disable()
        return {
            "harness": os.path.dirname(os.path.abspath(str(harness.__file__))),
            "subjects": list(builtin_names()),
            "errors": self.errors,
            "state": describe(),
        }

    def answer(self, verb: str, *arguments: str) -> dict[str, Any]:
        numbers = [int(argument) for argument in arguments]
        if verb == "run":
            return {"ns": self.blocks[numbers[0]](numbers[1], numbers[2])}
        if verb == "memory":
            workload = self.workloads[numbers[0]]
            call = self.calls[numbers[0]]
            return {"bytes": peak_bytes(call, workload["recipe"], workload["device"])}
        return {"state": describe()}


def _serve(line: bytes, connection: socket.socket) -> None:
    """The life of a child."""
    # What a subject or the profiler prints must not end up in the report.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    stream = connection.makefile("rwb")

    def reply(answer: dict[str, Any]) -> None:
        stream.write(json.dumps(answer).encode() + b"\n")
        stream.flush()

    try:
        child = _Child(json.loads(line))
        reply(child.ready())
        while command := stream.readline():
            reply(child.answer(*command.decode().split()))
    except (BrokenPipeError, ConnectionResetError):
        pass
    except (Exception, SystemExit) as error:
        reply({"error": _one_line(error)})


def _first_uses() -> None:
    """What torch imports at first use: seconds of it, which each child would else repeat."""
    zero = torch.zeros((), requires_grad=True)
    torch.autograd.grad(torch.tanh(zero), zero)
    pullback: Any = torch.func.vjp(torch.tanh, zero.detach())[1]
    pullback(zero.detach())


def main(control: socket.socket, used: bool) -> None:
    """Fork a child for each request until the other end closes; with `used`, torch's late imports
    are made beforehand."""
    if used:
        _first_uses()
    gc.collect()
    gc.freeze()
    control.sendall(b"ready\n")
    while True:
        line, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not line:
            return
        if os.fork() == 0:
            control.close()
            try:
                _serve(line, socket.socket(fileno=descriptors[0]))
            finally:
                os._exit(0)
        os.close(descriptors[0])
        # Children that have ended are taken away; one may still run.
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2] == "used")
