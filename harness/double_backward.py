"""A subject's gradients with the graph they came by: differentiated again, or the same pass twice.

The Hessian of L = g * y times a direction v is the derivative of the gradient's product with v. A
neuron returns its gradients, an activation has them from autograd; both are differentiated by
autograd, as a double backward does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch

from harness.case import Case
from harness.direction import Direction
from harness.errors import one_line
from harness.subjects import Kind, Subject
from harness.tensors import arguments

Tensors = tuple[torch.Tensor, ...]

#: Where a double backward is tried out: nothing there is zero, saturated or a power of two.
_PROBE = (0.375, -0.75, 0.625, 1.25)
_ONES = Direction((1.0,), (1.0,), 1.0)
_NAMES = ("input gradient", "weight gradient", "bias gradient")


class Pass(NamedTuple):
    """A backward pass that can be run: from `outputs`, with their upstream gradients, to the
    inputs, the weights and the bias."""

    name: str
    outputs: Tensors
    upstream: Tensors
    leaves: Tensors

    def run(self) -> Tensors:
        """The gradients of the leaves, 0 for a leaf that the outputs do not depend on."""
        found: Sequence[torch.Tensor | None] = (None,) * len(self.leaves)
        if any(output.requires_grad for output in self.outputs):
            found = torch.autograd.grad(
                *self._differentiable(), retain_graph=True, allow_unused=True
            )
        return tuple(
            torch.zeros_like(leaf) if gradient is None else gradient
            for gradient, leaf in zip(found, self.leaves, strict=True)
        )

    def repeated(self) -> str | None:
        """How running it again, on the same graph, differs from running it once; None if not.

        Every run must give the same numbers, and `.grad` must hold exactly twice of them after two.
        """
        if not any(output.requires_grad for output in self.outputs):
            return None
        first, second = self.run(), self.run()
        for name, before, after in zip(_LEAVES, first, second, strict=True):
            if not _same(before, after):
                return f"a second backward over the same graph gives another {self.name} of {name}"
        outputs, _, upstream = self._differentiable()
        for leaf in self.leaves:
            leaf.grad = None
        for _ in range(2):
            torch.autograd.backward(outputs, upstream, retain_graph=True, inputs=self.leaves)
        for name, leaf, gradient in zip(_LEAVES, self.leaves, first, strict=True):
            if leaf.grad is not None and not _same(leaf.grad, gradient + gradient):
                return f"after two backward passes .grad of {name} is not twice the {self.name}"
        return None

    def _differentiable(self) -> tuple[Tensors, Tensors, Tensors]:
        pairs = [
            (output, upstream)
            for output, upstream in zip(self.outputs, self.upstream, strict=True)
            if output.requires_grad
        ]
        outputs, upstream = zip(*pairs, strict=True)
        return outputs, self.leaves, upstream


_LEAVES = ("the inputs", "the weights", "the bias")


def first_pass(subject: Subject, case: Case, device: str) -> Pass | None:
    """The backward pass of an activation, lifted into a neuron, at `case`; None for a neuron, which
    returns its gradients itself.

    Call it, and what it returns, within `differentiating`. What the subject raises is raised.
    """
    if subject.kind is not Kind.ACTIVATION:
        return None
    *leaves, g = _leaves(case, device)
    return Pass("gradient", (_lifted(subject, leaves),), (g.detach(),), tuple(leaves))


def second_pass(subject: Subject, case: Case, direction: Direction, device: str) -> Pass:
    """The second backward pass of a neuron or an activation at `case`, along `direction`.

    Call it as `first_pass`.
    """
    return _second(subject, case, direction, device)[0]


def _second(
    subject: Subject, case: Case, direction: Direction, device: str
) -> tuple[Pass, torch.Tensor]:
    """The second pass, and the upstream gradient of the first.

    That requires grad too, as it does where a network is differentiated twice: it tells a first
    pass that was recorded from one that was not.
    """
    *leaves, g = _leaves(case, device)
    if subject.kind is Kind.ACTIVATION:
        gradients = torch.autograd.grad(_lifted(subject, leaves), leaves, g, create_graph=True)
    else:
        gradients = tuple(subject.function(*leaves, g)[1:4])
    along = Case(case.dtype, direction.inputs, direction.weights, direction.bias, 0.0)
    vector = tuple(arguments(along, device)[:3])
    return Pass("Hessian-vector product", gradients, vector, tuple(leaves)), g


def unsupported(subject: Subject, dtype: str = "float32", device: str = "cpu") -> str | None:
    """Why a subject has no double backward, in one line; None if it has one.

    A raw tanh gradient has no neuron to differentiate. A neuron has none if one of the gradients it
    returns has no graph back to the bias. An activation has none if its backward pass is not
    recorded: if it is marked `once_differentiable` or computed outside torch. One that is recorded,
    but keeps the saved output out of the graph, does claim a second derivative, and a wrong one.
    Whatever raises when it is differentiated twice has none either.
    """
    if subject.kind is Kind.TANH_GRADIENT:
        return "a raw tanh gradient has no neuron to differentiate twice"
    x, w, b, g = _PROBE
    try:
        with differentiating():
            second, upstream = _second(subject, Case(dtype, (x,), (w,), b, g), _ONES, device)
            if subject.kind is Kind.ACTIVATION and not _depends_on(second.outputs[2], upstream):
                return "its backward pass leaves no graph back to the upstream gradient"
            if subject.kind is Kind.NEURON:
                for name, gradient in zip(_NAMES, second.outputs, strict=True):
                    if not _depends_on(gradient, second.leaves[2]):
                        return f"the {name} that it returns has no graph back to the bias"
            second.run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"differentiated twice, it raises {one_line(error)}"
    return None


@contextmanager
def differentiating() -> Iterator[None]:
    """A context in which autograd records, whatever the grad mode around it."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


def _depends_on(output: torch.Tensor, leaf: torch.Tensor) -> bool:
    if not output.requires_grad:
        return False
    upstream = torch.ones_like(output)
    found = torch.autograd.grad(output, leaf, upstream, retain_graph=True, allow_unused=True)
    return found[0] is not None


def _leaves(case: Case, device: str) -> list[torch.Tensor]:
    """The arguments of a neuron as leaves that require grad, laid out as the case says."""
    return [tensor.detach().requires_grad_() for tensor in arguments(case, device)]


def _lifted(subject: Subject, leaves: Sequence[torch.Tensor]) -> torch.Tensor:
    x, w, b = leaves
    output: torch.Tensor = subject.function((x * w).sum() + b)
    return output


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors hold the same numbers, NaN in the same places."""
    return bool(((left == right) | (left.isnan() & right.isnan())).all())
