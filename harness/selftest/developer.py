"""The test that a kernel developer usually writes, as a rival."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Final

import torch

from harness.selftest.inputs import LENGTHS, PLAIN, RESULTS, Arguments, Tensor, call, draw
from harness.selftest.rival import Round
from harness.subjects import Kind, Subject
from harness.tensors import torch_dtype

#: Neurons in one comparison: with fewer, the worst error of so few results is a matter of luck.
_BATCH: Final = 64


@dataclass(frozen=True)
class DevelopersTest:
    """The error against a float64 reference, at most twice that of the eager code."""

    name: str = "developer's test"
    settings: str = (
        f"randn inputs: {_BATCH} neurons of one of "
        f"{', '.join(map(str, LENGTHS))} inputs by turns, the weights divided by the root of their "
        f"number; {_BATCH} times as many elements for an activation or a raw gradient. For each "
        "result: the largest error against the plain torch code in float64 must be at most twice "
        "that of the plain torch code in the dtype, plus twice the largest rounding error of "
        "adding 0.3 and taking it away again. This is how FlashAttention tests its kernels. "
        "float64 has no wider reference."
    )
    rounds: int = len(LENGTHS)

    def unable(self, subject: Subject, dtype: str) -> str | None:
        return "float64 has no wider reference" if dtype == "float64" else None

    def begin(self, subject: Subject, dtype: str) -> Round:
        lengths = cycle(LENGTHS)

        def once(generator: torch.Generator) -> str | None:
            return excess(subject.kind, subject.function, next(lengths), dtype, generator)

        return once


def excess(
    kind: Kind,
    function: Callable[..., Any],
    n: int,
    dtype: str,
    generator: torch.Generator,
) -> str | None:
    """The first result of a function whose error is too large on random inputs; None if none is."""
    calls, length = (_BATCH, n) if kind is Kind.NEURON else (1, _BATCH * n)
    batch = [draw(kind, length, torch_dtype(dtype), generator) for _ in range(calls)]
    reference = [
        call(kind, PLAIN[kind], tuple(each.double() for each in arguments)) for arguments in batch
    ]
    rounded = [[exact.to(torch_dtype(dtype)) for exact in exacts] for exacts in reference]
    eager = _errors(kind, PLAIN[kind], batch, reference)
    errors = _errors(kind, function, batch, reference)
    steps = [_largest(map(_there_and_back, column)) for column in zip(*rounded, strict=True)]
    for name, error, plain, step in zip(RESULTS[kind], errors, eager, steps, strict=True):
        # NaN is not at most anything.
        if not error <= 2 * plain + 2 * step:
            return name.replace("_", " ")
    return None


def _errors(
    kind: Kind,
    function: Callable[..., Any],
    batch: Sequence[Arguments],
    reference: Sequence[Sequence[Tensor]],
) -> list[float]:
    """The largest error of each result over a batch."""
    found = [call(kind, function, arguments) for arguments in batch]
    return [
        _largest(result - exact for result, exact in zip(results, exacts, strict=True))
        for results, exacts in zip(
            zip(*found, strict=True), zip(*reference, strict=True), strict=True
        )
    ]


def _largest(differences: Iterable[Tensor]) -> float:
    """The largest magnitude, NaN if there is one."""
    return torch.cat([each.reshape(-1) for each in differences]).abs().max().item()


def _there_and_back(values: Tensor) -> Tensor:
    return values + 0.3 - 0.3 - values
