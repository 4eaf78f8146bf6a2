"""torch.autograd.gradcheck as a rival: at its defaults, and at the best settings it allows.

It compares a backward pass with differences of the forward pass, in float64. So it sees a gradient
that does not belong to the output, never an output that is wrong along with its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice, product
from math import inf
from typing import Any, Final

import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError

from harness.double_backward import unsupported
from harness.selftest.inputs import Arguments, Tensor, at, coin, draw
from harness.selftest.rival import Round
from harness.subjects import Kind, Subject

#: Lengths of the vectors; each element costs two more calls.
_DEFAULT_LENGTHS: Final = (1, 3, 10)
_BEST_LENGTHS: Final = (0, 1, 3, 10, 33)
#: The longest vectors for second derivatives.
_MOST_TWICE: Final = 10
_SCALES: Final = (1.0, 0.01, 3.0)
#: What the output is multiplied by.
_FACTORS: Final = (1.0, -2.0, 10.0)
#: Preactivations of an expert's own choosing: where tanh is linear, curved, saturating, saturated,
#: where exp overflows, and beyond all numbers.
_POINTS: Final = (0.0, 1e-300, 1e-3, 0.5, 1.0, 2.5, 5.0, 9.5, 20.0, 50.0, 400.0, 800.0, inf)

#: A thousand times tighter than the defaults; the plain torch neuron stays within a third of it.
_TIGHT: Final[Mapping[str, Any]] = {"eps": 3e-6, "atol": 1e-8, "rtol": 1e-6}
#: Second derivatives are larger, and so are the errors of their differences.
_TIGHT_TWICE: Final[Mapping[str, Any]] = {"eps": 3e-6, "atol": 1e-6, "rtol": 1e-5}
#: What it says where the backward pass cannot run under vmap, which is no fault.
_NO_VMAP: Final = "While computing batched gradients, got:"


@dataclass(frozen=True)
class DefaultGradcheck:
    """gradcheck(f, inputs) and nothing else, on inputs drawn by randn."""

    name: str = "gradcheck"
    settings: str = (
        "torch.autograd.gradcheck at its defaults (eps 1e-6, atol 1e-5, rtol 1e-3), in float64, on "
        f"vectors of {', '.join(map(str, _DEFAULT_LENGTHS))} elements by turns, drawn by randn. An "
        "activation is checked as it is. A neuron returns its gradients, so it is wrapped in a "
        "torch.autograd.Function whose backward returns them; a raw tanh gradient is the backward "
        "of one whose forward is torch.tanh."
    )
    rounds: int = len(_DEFAULT_LENGTHS)

    def unable(self, subject: Subject, dtype: str) -> str | None:
        return _unable(dtype)

    def begin(self, subject: Subject, dtype: str) -> Round:
        function = differentiable(subject)
        lengths = cycle(_DEFAULT_LENGTHS)

        def once(generator: torch.Generator) -> str | None:
            kind = Kind.NEURON if subject.kind is Kind.NEURON else Kind.ACTIVATION
            inputs = _leaves(draw(kind, next(lengths), torch.float64, generator))
            return _verdict(lambda: gradcheck(function, inputs))

        return once


@dataclass(frozen=True)
class BestGradcheck:
    """gradcheck and gradgradcheck as tight as plain torch passes them, on chosen inputs too."""

    name: str = "gradcheck (best)"
    settings: str = (
        "The same, as tight as the plain torch neuron passes it: eps "
        f"{_TIGHT['eps']:g}, atol {_TIGHT['atol']:g}, rtol {_TIGHT['rtol']:g}, fast_mode off, "
        "nondet_tol 0, check_batched_grad on where the backward pass runs under vmap at all. The "
        "output is multiplied by "
        f"{', '.join(f'{factor:g}' for factor in _FACTORS)} by turns, so that upstream gradients "
        f"other than 1 are seen. Inputs: preactivations of {', '.join(f'{p:g}' for p in _POINTS)}, "
        "of either sign, as the bias of a neuron or in every lane of a vector; by turns with "
        "vectors of "
        f"{', '.join(map(str, _BEST_LENGTHS))} elements, drawn by randn at scales of "
        f"{', '.join(f'{scale:g}' for scale in _SCALES)}, half of them strided. Where the "
        "subject has a double backward, torch.autograd.gradgradcheck as well (atol "
        f"{_TIGHT_TWICE['atol']:g}, rtol {_TIGHT_TWICE['rtol']:g}), on vectors of up to "
        f"{_MOST_TWICE} elements at scales of up to 1."
    )
    rounds: int = 2 * max(2 * len(_POINTS), len(_SCALES) * len(_BEST_LENGTHS))

    def unable(self, subject: Subject, dtype: str) -> str | None:
        return _unable(dtype)

    def begin(self, subject: Subject, dtype: str) -> Round:
        return _Best(subject, dtype)


class _Best:
    """The rounds of `BestGradcheck` on one subject."""

    def __init__(self, subject: Subject, dtype: str) -> None:
        self._function = differentiable(subject)
        self._kind = subject.kind
        self._twice = unsupported(subject, dtype) is None
        self._batched = True
        self._inputs: Iterator[_Inputs] | None = None

    def __call__(self, generator: torch.Generator) -> str | None:
        self._inputs = self._inputs or _best_inputs(self._kind, generator)
        leaves, factor, gentle = next(self._inputs)

        def scaled(*arguments: Tensor) -> Tensor:
            output: Tensor = self._function(*arguments) * factor
            return output

        found = self._once(scaled, leaves)
        if found is not None or not (self._twice and gentle):
            return found
        found = _verdict(lambda: gradgradcheck(scaled, leaves, **_TIGHT_TWICE))
        return None if found is None else f"second order: {found}"

    def _once(self, function: Callable[..., Any], leaves: Arguments) -> str | None:
        """First order, with batched gradients until they are known not to work."""
        if self._batched:
            try:
                gradcheck(function, leaves, **_TIGHT, check_batched_grad=True)
            except GradcheckError as error:
                if not str(error).startswith(_NO_VMAP):
                    return _said(error)
                self._batched = False
        if self._batched:
            return None
        return _verdict(lambda: gradcheck(function, leaves, **_TIGHT))


def differentiable(subject: Subject) -> Callable[..., Any]:
    """A function that autograd can differentiate, made of a subject as a user would have to.

    Of a neuron: y of (inputs, weights, bias); of an activation, itself; of a raw tanh gradient:
    torch.tanh, with the subject for its backward pass.
    """
    match subject.kind:
        case Kind.ACTIVATION:
            return subject.function
        # torch leaves `apply` untyped.
        case Kind.NEURON:
            return lambda x, w, b: _Neuron.apply(x, w, b, subject.function)  # type: ignore[no-untyped-call]
        case Kind.TANH_GRADIENT:
            return lambda x: _Tanh.apply(x, subject.function)  # type: ignore[no-untyped-call]


class _Neuron(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, function: Callable[..., Any]) -> Tensor:
        ctx.save_for_backward(x, w, b)
        ctx.function = function
        # No upstream gradient is known yet, and the output needs none.
        y, _, _, _ = function(x, w, b, torch.ones_like(b))
        output: Tensor = y
        return output

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        _, dx, dw, d = ctx.function(*ctx.saved_tensors, upstream[0])
        return dx, dw, d, None


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Callable[..., Any]) -> Tensor:
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        ctx.function = function
        return y

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
        return ctx.function(*ctx.saved_tensors, upstream[0]), None


#: Arguments, a factor for the output, and whether second derivatives are small enough to check.
_Inputs = tuple[Arguments, float, bool]


def _best_inputs(kind: Kind, generator: torch.Generator) -> Iterator[_Inputs]:
    """Drawn and chosen inputs by turns; when all have been chosen, drawn ones only."""
    points = (sign * point for point, sign in product(_POINTS, (1, -1)))
    factors = cycle(_FACTORS)
    # What autograd differentiates is a function of the preactivation, also for a raw gradient.
    kind = Kind.NEURON if kind is Kind.NEURON else Kind.ACTIVATION
    # Of no elements, an activation has no gradient to check; a neuron has that of its bias.
    lengths = _BEST_LENGTHS if kind is Kind.NEURON else _BEST_LENGTHS[1:]
    for scale, n in cycle(product(_SCALES, lengths)):
        drawn = draw(kind, n, torch.float64, generator, scale=scale, strided=coin(generator))
        yield _leaves(drawn), next(factors), 0 < n <= _MOST_TWICE and scale <= 1
        for point in islice(points, 1):
            chosen = at(kind, point, torch.float64, generator)
            yield _leaves(chosen), next(factors), abs(point) <= 1


def _leaves(arguments: Arguments) -> Arguments:
    """What is differentiated: all arguments but the upstream gradient."""
    return tuple(each.detach().requires_grad_() for each in arguments[:-1])


def _unable(dtype: str) -> str | None:
    return None if dtype == "float64" else "gradcheck needs float64"


def _verdict(check: Callable[[], object]) -> str | None:
    try:
        check()
    except GradcheckError as error:
        return _said(error)
    return None


def _said(error: GradcheckError) -> str:
    """What gradcheck found, in a word or two."""
    text = str(error)
    for words, label in _LABELS.items():
        if words in text:
            return label
    return text.partition("\n")[0].partition(".")[0].lower()


_LABELS: Final = {
    "Jacobian mismatch": "jacobian",
    "not reentrant": "not reentrant",
    "multiplied by grad_output": "grad_output",
    "undefined": "undefined gradient",
    "vmap": "batched gradient",
}
