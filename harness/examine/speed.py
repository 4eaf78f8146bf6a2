"""The throughput of the subject as such, to stand beside its accuracy. It is no gate: the machine
may be shared, and one median of a few calls says nothing of a regression."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final

import torch

from harness.hunt.plan import Plan
from harness.subjects import Kind
from harness.tensors import torch_dtype

_ELEMENTS: Final = 1 << 18
_CALLS: Final = 9
#: Seconds after which no further call is timed.
_SECONDS: Final = 5.0


def speeds(plan: Plan) -> list[dict[str, Any]]:
    """The median time of a call on many elements (see `harness.report.record.Throughput`)."""
    device = torch.device(plan.device)
    generator = torch.Generator().manual_seed(plan.seed)

    def drawn(scale: float) -> torch.Tensor:
        values = (torch.rand(_ELEMENTS, generator=generator) * 2 - 1) * scale
        return values.to(torch_dtype(plan.dtype)).to(device)

    function = plan.subject.function
    one = torch.ones((), dtype=torch_dtype(plan.dtype), device=device)
    match plan.kind:
        case Kind.ACTIVATION:
            x = drawn(4.0).requires_grad_()
            upstream = one.expand(x.shape).contiguous()

            def both() -> None:
                torch.autograd.grad(function(x), x, upstream)

            return [
                _timed("y = f(x)", lambda: function(x), device),
                _timed("y = f(x) and its gradient", both, device),
            ]
        case Kind.TANH_GRADIENT:
            y, g = drawn(1.0), drawn(1.0)
            return [_timed("f(y, dy)", lambda: function(y, g), device)]
        case Kind.NEURON:
            x, w = drawn(1.0), drawn(1.0)
            return [_timed("a neuron of so many inputs", lambda: function(x, w, one, one), device)]


def _timed(what: str, call: Callable[[], object], device: torch.device) -> dict[str, Any]:
    seconds: list[float] = []
    began = time.perf_counter()
    call()
    while len(seconds) < _CALLS and time.perf_counter() - began < _SECONDS:
        _wait(device)
        started = time.perf_counter()
        call()
        _wait(device)
        seconds.append(time.perf_counter() - started)
    if not seconds:
        return {"what": what, "elements": _ELEMENTS, "calls": 0, "seconds": 0.0}
    return {
        "what": what,
        "elements": _ELEMENTS,
        "calls": len(seconds),
        "seconds": median(seconds),
    }


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
