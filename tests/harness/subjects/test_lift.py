"""Lifting an activation into a neuron."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from harness.subjects.lift import lift

Activation = Callable[[torch.Tensor], torch.Tensor]


class PassThrough(torch.autograd.Function):
    """y = x, whose backward pass returns the very gradient it was given."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, *upstream_gradients: torch.Tensor) -> torch.Tensor:
        return upstream_gradients[0]


ACTIVATIONS: dict[str, tuple[Activation, float, float]] = {
    # The activation, and its value and derivative at the preactivation -0.5 below.
    "x -> x": (lambda x: x, -0.5, 1.0),
    "x -> x + 0, gradient handed through": (PassThrough.apply, -0.5, 1.0),
    "x -> x^2": (torch.square, 0.25, -1.0),
    "x -> |x|": (torch.abs, 0.5, -1.0),
    "x -> x^2 in place": (lambda x: x.square_(), 0.25, -1.0),
    "an nn.Module": (torch.nn.ReLU(), 0.0, 0.0),
}


def arguments(requires_grad: bool = False) -> tuple[torch.Tensor, ...]:
    """A neuron with exact arithmetic: a = 2 * 0.25 - 4 * 0.5 + 1 = -0.5."""
    drawn = (
        torch.tensor([2.0, -4.0]),
        torch.tensor([0.25, 0.5]),
        torch.tensor(1.0),
        torch.tensor(3.0),
    )
    return tuple(each.requires_grad_(requires_grad) for each in drawn)


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "requires grad"])
@pytest.mark.parametrize(("activation", "y", "slope"), ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_lifted_neuron(activation: Activation, y: float, slope: float, requires_grad: bool) -> None:
    """Output f(a); gradients g f'(a) w, g f'(a) x and g f'(a), by the chain rule."""
    output, input_gradient, weight_gradient, bias_gradient = lift(activation)(
        *arguments(requires_grad)
    )
    d = 3.0 * slope
    assert y == output.item()
    assert [d * 0.25, d * 0.5] == input_gradient.tolist()
    assert [d * 2.0, d * -4.0] == weight_gradient.tolist()
    assert d == bias_gradient.item()


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "requires grad"])
@pytest.mark.parametrize(("activation", "y", "slope"), ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_lifted_results_stand_alone(
    activation: Activation, y: float, slope: float, requires_grad: bool
) -> None:
    """No result shares storage with an argument or carries a graph, not even of the identity."""
    given = arguments(requires_grad)
    results = lift(activation)(*given)
    assert [each.requires_grad for each in results] == [False] * 4
    storages = [each.untyped_storage().data_ptr() for each in (*given, *results)]
    assert sorted(set(storages)) == sorted(storages)


def test_the_activation_sees_the_scalar_preactivation() -> None:
    """The activation is called once, with the 0-dim preactivation, recording for autograd."""
    seen: list[tuple[tuple[int, ...], float, bool, bool]] = []

    def spy(x: torch.Tensor) -> torch.Tensor:
        seen.append((tuple(x.shape), x.item(), x.requires_grad, torch.is_grad_enabled()))
        return torch.tanh(x)

    with torch.no_grad():
        lift(spy)(*arguments())
    assert seen == [((), -0.5, True, True)]


def test_the_grad_mode_is_restored() -> None:
    """Recording inside leaves the caller's modes as they were, also when the activation fails."""

    def failing(x: torch.Tensor) -> torch.Tensor:
        raise ArithmeticError("boom")

    with torch.inference_mode():
        lift(torch.tanh)(*arguments())
        with pytest.raises(ArithmeticError, match="boom"):
            lift(failing)(*arguments())
        assert torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled()


def test_a_parameter_of_the_activation_gets_no_gradient() -> None:
    """Only the neuron's own arguments are differentiated; a module's `.grad` stays None."""
    layer = torch.nn.PReLU(dtype=torch.float32)
    lift(lambda x: layer(x.reshape(1)).reshape(()))(*arguments())
    assert layer.weight.grad is None


BAD_ACTIVATIONS: dict[str, tuple[Callable[[torch.Tensor], object], type[Exception], str]] = {
    "a float": (
        lambda x: x.item(),
        TypeError,
        "the activation returned a float; expected a torch.Tensor; return y = f(x) alone",
    ),
    "a tuple": (
        lambda x: (x, x),
        TypeError,
        "the activation returned a tuple; expected a torch.Tensor; return y = f(x) alone",
    ),
    "another shape": (
        lambda x: x.reshape(1),
        ValueError,
        "the activation returned shape (1,) for (); expected the shape of its argument; "
        "make it elementwise, 0-dim tensors included",
    ),
    "another dtype": (
        lambda x: x.double(),
        TypeError,
        "the activation returned torch.float64 for torch.float32; expected the dtype of its "
        "argument; convert the result with .to",
    ),
    "a detached tensor": (
        lambda x: torch.tanh(x.detach()),
        TypeError,
        "the activation returned a tensor that does not require grad; expected one that autograd "
        "can trace to x; use torch operations, or an autograd.Function",
    ),
}


@pytest.mark.parametrize(
    ("activation", "error", "message"),
    BAD_ACTIVATIONS.values(),
    ids=[f"returns {what}" for what in BAD_ACTIVATIONS],
)
def test_an_activation_that_cannot_be_lifted(
    activation: Activation, error: type[Exception], message: str
) -> None:
    """What the activation returned, what was expected, and the remedy, in one line."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        lift(activation)(*arguments())
