"""The stages of a neuron at one case, from the preactivation to the slope, as somebody computed
them: the textbook formula, step by step in torch, or a subject, as far as it can be looked into.

A subject is watched at the level of torch's operations: the argument of its tanh is its
preactivation, and what the upstream gradient is multiplied by, for the bias gradient, is its slope.
What it computes outside torch, or in one fused operation, stays unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, Final, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.case import DTYPES, Case, format_of
from harness.laws import Values
from harness.subjects import Kind, Subject, neuron_of
from harness.tensors import arguments, tanh_gradient_arguments
from reference.dyadic import from_float


class Stages(NamedTuple):
    """Floats on the way to the bias gradient d of one neuron; None for a stage that was not seen.

    For a raw tanh gradient `output` is the stored one, and there is no preactivation.
    """

    preactivation: float | None
    output: float
    slope: float | None
    bias_gradient: float


def textbook_stages(case: Case, device: str) -> Stages:
    """Those of y = tanh(a), s = 1 - y*y, d = g*s in the case's dtype, each rounded as in torch."""
    x, w, b, g = arguments(case, device)
    a = (x * w).sum() + b
    y = torch.tanh(a)
    slope = 1 - y.square()
    return Stages(*map(_number, (a, y, slope, g * slope)))


def textbook_gradient_stages(case: Case, lane: int, device: str) -> Stages:
    """Those of dy * (1 - y*y) in one lane."""
    y, dy = (each[lane] for each in tanh_gradient_arguments(case, device))
    slope = 1 - y.square()
    return Stages(None, *map(_number, (y, slope, dy * slope)))


def stages_of(subject: Subject, case: Case, device: str, values: Values) -> Stages:
    """Those of a neuron or an activation, which returned `values` for the case."""
    output, gradient = values["output"][0], values["bias_gradient"][0]
    seen: list[float] = []
    calls = _watched(_spied(subject, seen), arguments(case, device))
    if not seen:
        tanhs = [call for call in calls if call.name == "tanh"]
        tanhs.sort(key=lambda call: abs(call.result - output), reverse=True)
        # What became the output may have been rounded, or spoilt, on the way.
        seen = [
            call.operands[0] for call in tanhs if abs(call.result - output) <= _CLOSE * abs(output)
        ]
    return Stages(
        seen[-1] if seen else None,
        output,
        _slope(calls, case.upstream_gradient, gradient),
        gradient,
    )


def gradient_stages_of(
    subject: Subject, case: Case, lane: int, device: str, values: Values
) -> Stages:
    """Those of a raw tanh gradient in one lane, called on that lane alone to be watched."""
    y, gradient = case.inputs[lane], values["gradient"][lane]
    alone = Case(case.dtype, (y,), (), 0.0, case.upstream_gradient)
    calls = _watched(subject.function, tanh_gradient_arguments(alone, device))
    return Stages(None, y, _slope(calls, case.upstream_gradient, gradient), gradient)


class _Call(NamedTuple):
    """An operation of torch on numbers: its name, what it took and what it gave."""

    name: str
    operands: tuple[float, ...]
    result: float


#: How far, relatively, a tanh may be from the output that it is taken to have become.
_CLOSE: Final = 2**-6
#: Operations whose first argument is the preactivation, or that multiply.
_WATCHED: Final = frozenset({"tanh", "mul"})


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operations on single numbers that matter here."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[_Call] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        name = func.overloadpacket.__name__.rstrip("_")
        operands = tuple(_number(each) for each in args if _is_number(each))
        result = func(*args, **(kwargs or {}))
        if name in _WATCHED and operands and _is_number(result):
            self.calls.append(_Call(name, operands, _number(result)))
        return result


def _watched(function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> list[_Call]:
    """The operations of one call; none of a function that cannot be watched, or that raises."""
    watch = _Watch()
    with suppress(Exception), watch:
        function(*tensors)
    return watch.calls


def _spied(subject: Subject, seen: list[float]) -> Callable[..., Any]:
    """The neuron of a subject; the preactivation that an activation is passed is `seen`."""
    if subject.kind is not Kind.ACTIVATION:
        return neuron_of(subject)
    activation = subject.function

    def spy(x: torch.Tensor) -> Any:
        # Whatever is watching is to see the subject's own operations, and no other.
        seen.append(_number(x))
        return activation(x)

    return neuron_of(Subject(subject.name, subject.kind, spy))


def _slope(calls: Sequence[_Call], upstream_gradient: float, gradient: float) -> float | None:
    """What was multiplied by the upstream gradient, and rounds to the bias gradient."""
    for call in reversed(calls):
        if call.name == "mul" and len(call.operands) == 2 and upstream_gradient in call.operands:
            first, second = call.operands
            if _rounds_to(call.result, gradient):
                return second if first == upstream_gradient else first
    return None


def _rounds_to(value: float, result: float) -> bool:
    """In any of the formats."""
    if not isfinite(value):
        return value == result
    return any(format_of(dtype).round(from_float(value)) == result for dtype in DTYPES)


def _is_number(argument: object) -> bool:
    if isinstance(argument, torch.Tensor):
        return argument.numel() == 1 and argument.is_floating_point()
    return isinstance(argument, float)


def _number(argument: Any) -> float:
    return float(argument.detach() if isinstance(argument, torch.Tensor) else argument)
