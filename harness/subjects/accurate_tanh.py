"""tanh with a gradient that outlives its output: a drop-in for torch.tanh."""

from __future__ import annotations

from typing import Any, Final

import torch

from harness.grade import Grade
from harness.subjects.precise import curve
from harness.subjects.precise.multiples import value
from harness.subjects.precise.numbers import FLOATS, TENSORS
from harness.subjects.subject import Kind, Stated, Subject
from harness.subjects.validation import FLOATING


def accurate_tanh(x: torch.Tensor) -> torch.Tensor:
    """y = tanh(x), elementwise, faithful, and so is its gradient g * sech^2(x).

    `x` has any shape, and dtype float16, bfloat16, float32 or float64. It may be differentiated any
    number of times, in reverse and forward mode, and under the transforms of `torch.func`. What is
    kept for the backward pass is x, not y, from which the gradient cannot be had. The second
    derivative, -2 y g sech^2(x), is that of these two, rounded as torch rounds products.

    Raises TypeError for another dtype.
    """
    if x.dtype not in FLOATING:
        raise TypeError(
            f"x has dtype {str(x.dtype).removeprefix('torch.')}; expected float16, bfloat16, "
            "float32 or float64; convert it with .to"
        )
    y: torch.Tensor = _Tanh.apply(x)  # type: ignore[no-untyped-call]
    return y


class _Tanh(torch.autograd.Function):
    """y = tanh x. Its derivative is another Function, so that it has a derivative of its own."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        """tanh of every element."""
        if x.dtype is torch.float64:
            if _is_number(x):
                return FLOATS.tensor(curve.wide_tanh(FLOATS, (x.item(), 0.0)), x)
            return curve.wide_tanh(TENSORS, (x, torch.zeros_like(x)))
        return TENSORS.tensor(x.double().tanh_(), x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        """Keep the argument, for both modes."""
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, *upstream_gradients: torch.Tensor) -> torch.Tensor:
        """g sech^2 x."""
        return _slope(*upstream_gradients, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor) -> torch.Tensor:
        """The same, of a tangent."""
        return _slope(*tangents, *ctx.saved_tensors)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None], x: torch.Tensor
    ) -> tuple[torch.Tensor, int | None]:
        """Elementwise: the batch is one more dimension."""
        return accurate_tanh(x), in_dims[0]


class _Slope(torch.autograd.Function):
    """d = g sech^2 x, linear in g, and -2 tanh(x) d is its derivative by x."""

    @staticmethod
    def forward(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """g sech^2 x of every element."""
        if x.dtype is torch.float64:
            if _is_number(x):
                _, at = curve.wide(FLOATS, (x.item(), 0.0), g.item())
                return FLOATS.tensor(value(FLOATS, at), x)
            _, slope = curve.wide(TENSORS, (x, torch.zeros_like(x)), g)
            return value(TENSORS, slope)
        _, d = curve.narrow(TENSORS, x.double(), g.double())
        return TENSORS.tensor(d, x)

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor], output: torch.Tensor
    ) -> None:
        """Keep both arguments, for both modes."""
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, *upstream_gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """By g: h sech^2 x. By x: -2 h tanh(x) g sech^2 x."""
        (h,) = upstream_gradients
        g, x = ctx.saved_tensors
        return _slope(h, x), _curvature(h, g, x)

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor) -> torch.Tensor:
        """The sum of both derivatives, each with its tangent."""
        along_g, along_x = tangents
        g, x = ctx.saved_tensors
        return _slope(along_g, x) + _curvature(along_x, g, x)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, int | None], g: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, int]:
        """Elementwise: the batch is one more dimension, the first of both."""
        batches = (
            each.expand(info.batch_size, *each.shape) if place is None else each.movedim(place, 0)
            for each, place in zip((g, x), in_dims, strict=True)
        )
        return _slope(*batches), 0


def _is_number(x: torch.Tensor) -> bool:
    """Whether x is worth a float's arithmetic: a hundred operations on a 0-dim tensor cost more."""
    return x.ndim == 0 and x.device.type == "cpu"


def _slope(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    d: torch.Tensor = _Slope.apply(g, x)  # type: ignore[no-untyped-call]
    return d


def _curvature(h: torch.Tensor, g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return h * (-2 * accurate_tanh(x) * _slope(g, x))


_LIFTED: Final = (
    "tanh and its gradient are faithful at every x, but the sum that the harness puts before an "
    "activation is taken in the dtype itself, where it may overflow"
)

SUBJECT: Final = Subject(
    name="accurate-tanh",
    kind=Kind.ACTIVATION,
    function=accurate_tanh,
    stated={
        dtype: Stated(Grade.TEXTBOOK, _LIFTED)
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
)
