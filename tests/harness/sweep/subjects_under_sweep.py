"""Subjects with known faults, and sweeps of them in this process, for the tests of sweeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch

from harness.executor import local
from harness.subjects import Kind, Subject
from harness.sweep.apply import probe
from harness.sweep.block import sweep_block
from harness.sweep.engine import run_sweep
from harness.sweep.plan import Block, Plan, make_plan
from harness.sweep.record import Sweep, finish
from harness.sweep.summary import Summary


def subject(function: Callable[..., Any], kind: Kind = Kind.ACTIVATION) -> Subject:
    return Subject("a subject", kind, function)


def textbook(
    inputs: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor, g: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    output = torch.tanh((inputs * weights).sum() + bias)
    d = g * (1 - output.square())
    return output, d * weights, d * inputs, d


class Patched(torch.autograd.Function):
    """tanh and its derivative, spoilt where a test says: see `patched`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, spoil: Callable[..., Any]) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.spoil = spoil
        return spoil(x, torch.tanh(x), "output")

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        y = torch.tanh(x)
        return upstream[0] * ctx.spoil(x, 1 - y * y, "gradient"), None


def patched(spoil: Callable[[torch.Tensor, torch.Tensor, str], torch.Tensor]) -> Subject:
    """An activation whose outputs and gradients pass through `spoil(x, value, quantity)`."""
    return subject(lambda x: Patched.apply(x, spoil))


def spoilt_at(quantity: str, at: float, value: float) -> Subject:
    """tanh, but for one value of one quantity at one x."""

    def spoil(x: torch.Tensor, found: torch.Tensor, name: str) -> torch.Tensor:
        if name != quantity:
            return found
        return torch.where(x == at, torch.tensor(value, dtype=found.dtype), found)

    return patched(spoil)


def summary_of(plan: Plan, block: Block | None = None) -> Summary:
    """The summary of a plan, or of one block of it, without an engine."""
    plan, _ = probe(plan)
    blocks = [block] if block else list(plan.blocks())
    return reduce(lambda a, b: a.merge(b, plan), (sweep_block(plan, each) for each in blocks))


def swept(subject: Subject, **arguments: Any) -> Sweep:
    """A sweep through the engine."""
    with local(1) as executor:
        return finish(run_sweep(make_plan(subject, **arguments), executor=executor))
