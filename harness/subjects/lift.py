"""From an activation to a neuron: a sum of products in torch, the activation, autograd back."""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness.subjects.validation import check_neuron

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def lift(
    activation: Callable[[torch.Tensor], torch.Tensor],
) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], Tensors]:
    """The neuron whose nonlinearity is `activation`.

    The result is f(inputs, weights, bias, upstream_gradient) -> (output, input_gradient,
    weight_gradient, bias_gradient), with the shapes and errors of `textbook.textbook`. It passes
    `activation` the 0-dim preactivation. The four results are detached, have storage of their own,
    and are the same in every grad mode, inference mode included; the arguments' `requires_grad`
    and `.grad` are neither needed nor touched. It may not be batched with `torch.func.vmap`, which
    forbids `torch.autograd.grad` within.

    Raises TypeError if `activation` returns something other than a tensor of its argument's dtype,
    or one that autograd cannot trace back to that argument; ValueError if the shape is another.
    """

    def neuron(
        inputs: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        upstream_gradient: torch.Tensor,
    ) -> Tensors:
        check_neuron(inputs, weights, bias, upstream_gradient)
        with torch.inference_mode(False), torch.enable_grad():
            leaves = _leaf(inputs), _leaf(weights), _leaf(bias)
            preactivation = (leaves[0] * leaves[1]).sum() + leaves[2]
            output = _checked(activation(preactivation), preactivation)
            upstream_gradient = upstream_gradient.detach()
            gradients = torch.autograd.grad(output, leaves, upstream_gradient)
        # Where the activation hands its gradient through, as the identity does, the bias gradient
        # is the caller's own upstream gradient; the other two come out of a product.
        return output.detach(), gradients[0], gradients[1], gradients[2].clone()

    return neuron


def _leaf(argument: torch.Tensor) -> torch.Tensor:
    """A leaf that requires grad, sharing storage where autograd allows it (and so the layout)."""
    if argument.is_inference():
        argument = argument.clone()
    return argument.detach().requires_grad_()


def _checked(output: object, preactivation: torch.Tensor) -> torch.Tensor:
    """`output`, once it is known to be a differentiable image of `preactivation`."""
    if not isinstance(output, torch.Tensor):
        raise TypeError(
            f"the activation returned a {type(output).__name__}; expected a torch.Tensor; "
            "return y = f(x) alone"
        )
    if output.shape != preactivation.shape:
        raise ValueError(
            f"the activation returned shape {tuple(output.shape)} for {tuple(preactivation.shape)};"
            " expected the shape of its argument; make it elementwise, 0-dim tensors included"
        )
    if output.dtype is not preactivation.dtype:
        raise TypeError(
            f"the activation returned {output.dtype} for {preactivation.dtype}; expected the "
            "dtype of its argument; convert the result with .to"
        )
    if not output.requires_grad:
        raise TypeError(
            "the activation returned a tensor that does not require grad; expected one that "
            "autograd can trace to x; use torch operations, or an autograd.Function"
        )
    return output
