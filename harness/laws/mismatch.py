"""Arguments that do not belong together are an error, never a silent promotion or broadcast.

Every argument is a view of a roomier storage, so that a kernel which looks at the length or the
dtype of one argument alone reads zeros, not memory of others. For the same reason the wrong device
is tried on the harness's own subjects only: a kernel that takes a pointer for granted would not
raise, but crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import torch

from harness.case import Case
from harness.laws.law import EVERY, Check, Law, Look, Seen
from harness.subjects import Kind
from harness.tensors import torch_dtype

#: Elements of storage for each element of an argument: another dtype is up to four times as wide.
_ROOM: Final = 4

#: What is wrong with arguments, and the arguments.
_Mismatch = tuple[str, Sequence[torch.Tensor]]


def _of_a_neuron(case: Case, look: Look) -> Iterator[_Mismatch]:
    n, dtype, other, make = _made(case, look)
    x, w, b, g = make(n, dtype), make(n, dtype), make(None, dtype), make(None, dtype)
    yield f"{_lanes(n + 1)} of weights for {n} of inputs", (x, make(n + 1, dtype), b, g)
    yield "a bias of shape (1,)", (x, w, make(1, dtype), g)
    yield f"{other} weights for {dtype} inputs", (x, make(n, other), b, g)
    yield f"a {other} bias for {dtype} inputs", (x, w, make(None, other), g)
    yield f"a {other} upstream_gradient for {dtype} inputs", (x, w, b, make(None, other))
    whole = torch.int64
    integers = make(n, whole), make(n, whole), make(None, whole), make(None, whole)
    yield f"a neuron of {whole}", integers
    if look.built_in:
        yield "a bias on another device", (x, w, b.to("meta"), g)


def _of_a_gradient(case: Case, look: Look) -> Iterator[_Mismatch]:
    n, dtype, other, make = _made(case, look)
    y, dy = make(n, dtype), make(n, dtype)
    yield f"{_lanes(n + 1)} of dy for {n} of y", (y, make(n + 1, dtype))
    yield f"{other} dy for {dtype} y", (y, make(n, other))
    yield f"y and dy of {torch.int64}", (make(n, torch.int64), make(n, torch.int64))
    if look.built_in:
        yield "dy on another device", (y, dy.to("meta"))


def _lanes(count: int) -> str:
    return f"{count} lane{'' if count == 1 else 's'}"


def _made(
    case: Case, look: Look
) -> tuple[int, torch.dtype, torch.dtype, Callable[[int | None, torch.dtype], torch.Tensor]]:
    """The length and dtype of a case, another dtype, and what makes an argument of zeros: a vector
    of some length, or a scalar for None."""
    dtype = torch_dtype(case.dtype)
    other = torch.float32 if dtype is torch.float64 else torch.float64

    def make(length: int | None, dtype: torch.dtype) -> torch.Tensor:
        storage = torch.zeros(_ROOM * (2 + (length or 0)), dtype=dtype, device=look.device)
        return storage[0] if length is None else storage[:length]

    return len(case.inputs), dtype, other, make


def _accepts(mismatches: Callable[[Case, Look], Iterator[_Mismatch]]) -> Check:
    def breach(seen: Seen, look: Look) -> str | None:
        for what, arguments in mismatches(seen.case, look):
            if not look.refuses(arguments):
                return f"{what}: accepted; expected an error"
        return None

    return Check(breach, every=EVERY)


MISMATCH_RAISES: Final = Law(
    "mismatch-raises",
    "arguments that differ in shape, dtype or device, or are no floats, are an error",
    required=False,
    checks={
        Kind.NEURON: _accepts(_of_a_neuron),
        Kind.TANH_GRADIENT: _accepts(_of_a_gradient),
    },
    binds_built_ins=True,
)
