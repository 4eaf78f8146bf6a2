"""tanh from exponentials, (e^x - e^-x) / (e^x + e^-x), as a hand-written autograd Function."""

from __future__ import annotations

from typing import Any, Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject


class ExponentialTanh(torch.autograd.Function):
    """y = (e^x - e^-x) / (e^x + e^-x), elementwise; its gradient is g * (1 - y^2) of the stored y.

    Use it through `.apply`. The context is set up apart from the forward pass, and both passes are
    made of differentiable operations, so it composes with `torch.func` and may be differentiated
    again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        """tanh of every element of `x`; NaN from where e^|x| overflows (inf / inf)."""
        growing, decaying = torch.exp(x), torch.exp(-x)
        return (growing - decaying) / (growing + decaying)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        """Keep the output, all that the gradient needs."""
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *upstream_gradients: torch.Tensor) -> torch.Tensor:
        """g * (1 - y^2), elementwise."""
        (upstream_gradient,) = upstream_gradients
        (output,) = ctx.saved_tensors
        gradient: torch.Tensor = upstream_gradient * (1 - output.pow(2))
        return gradient


class ExponentialTanhModule(torch.nn.Module):
    """`ExponentialTanh` as a layer without parameters."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y = tanh(x), elementwise, by `ExponentialTanh`."""
        y: torch.Tensor = ExponentialTanh.apply(x)  # type: ignore[no-untyped-call]
        return y


_REASON: Final = (
    "e^x - e^-x cancels as x nears 0, where the relative error grows without bound, and beyond "
    "{limit}, where e^|x| overflows, the result is inf/inf"
)

SUBJECT: Final = Subject(
    name="exponential",
    kind=Kind.ACTIVATION,
    function=ExponentialTanh.apply,
    stated={
        dtype: Stated(Grade.WRONG, _REASON.format(limit=limit))
        for dtype, limit in (
            ("float16", "|x| = 11.09"),
            ("bfloat16", "|x| = 88.7"),
            ("float32", "|x| = 88.72"),
            ("float64", "|x| = 709.78"),
        )
    },
)
