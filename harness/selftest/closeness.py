"""torch.testing.assert_close against a float64 copy of the plain torch code, as a rival."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from math import inf
from typing import Any, Final

import torch
from torch.testing import assert_close

from harness.selftest.inputs import (
    EAGER,
    LENGTHS,
    PLAIN,
    RESULTS,
    Arguments,
    Tensor,
    at,
    call,
    coin,
    draw,
)
from harness.selftest.rival import Round
from harness.subjects import Kind, Subject
from harness.tensors import torch_dtype

_LENGTHS: Final = (0, *LENGTHS)
_SCALES: Final = (1.0, 0.1, 10.0)
#: Preactivations that are worth a test of their own.
_POINTS: Final = (0.0, 1e-6, 0.01, 0.5, 1.0, 3.0, 10.0, 50.0, 400.0, 1000.0, inf)
#: How many inputs may be drawn in a round before it is given up.
_DRAWS: Final = 20


@dataclass(frozen=True)
class AssertClose:
    """assert_close on every result, at its default tolerances."""

    name: str = "assert_close"
    settings: str = (
        "torch.testing.assert_close at its default tolerances for the dtype, on each result of the "
        "subject against that of the plain torch code on a float64 copy of the inputs, rounded to "
        "the dtype; so values, shape, dtype and device are compared. Inputs: vectors of "
        f"{', '.join(map(str, _LENGTHS))} elements drawn by randn at scales of "
        f"{', '.join(f'{scale:g}' for scale in _SCALES)}, half of them strided, and "
        f"preactivations of {', '.join(f'{point:g}' for point in _POINTS)}, of either sign. Inputs "
        "on which plain torch in the dtype fails the comparison, with 1 - y*y by formula or by "
        "autograd, are drawn again, as they often are in 16 bits: a test that is red for plain "
        "torch would not be kept."
    )
    rounds: int = 2 * max(2 * len(_POINTS), len(_SCALES) * len(_LENGTHS))

    def unable(self, subject: Subject, dtype: str) -> str | None:
        return None

    def begin(self, subject: Subject, dtype: str) -> Round:
        kind = subject.kind
        inputs: Iterator[Arguments] | None = None

        def once(generator: torch.Generator) -> str | None:
            nonlocal inputs
            inputs = inputs or _inputs(kind, torch_dtype(dtype), generator)
            for _ in range(_DRAWS):
                arguments = next(inputs)
                expected = _expected(kind, arguments)
                plain = (difference(kind, each, arguments, expected) for each in EAGER[kind])
                if all(each is None for each in plain):
                    return difference(kind, subject.function, arguments, expected)
            return None

        return once


def difference(
    kind: Kind, function: Callable[..., Any], arguments: Arguments, expected: Sequence[Tensor]
) -> str | None:
    """What assert_close objects to in the results of a function; None if nothing."""
    for name, result, wanted in zip(
        RESULTS[kind], call(kind, function, arguments), expected, strict=True
    ):
        try:
            assert_close(result, wanted)
        except AssertionError as error:
            return f"{_attribute(str(error))}{name.replace('_', ' ')}"
    return None


def _expected(kind: Kind, arguments: Arguments) -> Sequence[Tensor]:
    """The results of the plain torch code in float64, rounded to the dtype of the arguments."""
    wide = tuple(each.detach().double() for each in arguments)
    return [each.to(arguments[0].dtype) for each in call(kind, PLAIN[kind], wide)]


def _attribute(message: str) -> str:
    for attribute in ("shape", "dtype", "device"):
        if f"'{attribute}'" in message:
            return f"{attribute} of "
    return ""


def _inputs(kind: Kind, dtype: torch.dtype, generator: torch.Generator) -> Iterator[Arguments]:
    """Drawn and chosen inputs by turns."""
    points = cycle(sign * point for point, sign in product(_POINTS, (1, -1)))
    # Not every activation takes an empty vector, nor needs to: a neuron gives it one number.
    lengths = LENGTHS if kind is Kind.ACTIVATION else _LENGTHS
    for scale, n in cycle(product(_SCALES, lengths)):
        yield draw(kind, n, dtype, generator, scale=scale, strided=coin(generator))
        yield at(kind, next(points), dtype, generator)
