"""torch's raw gradient of tanh, aten::tanh_backward: dy * (1 - y*y) of a stored output y."""

from __future__ import annotations

from typing import Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject
from harness.subjects.validation import check_gradient


def aten_tanh_gradient(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """dy * (1 - y*y), elementwise: the upstream gradient dy taken back through tanh.

    By the chain rule the gradient is multiplied by dy/dx = 1 - y^2, never divided by it. torch's
    operator takes (dy, y), in that order. `y` and `dy` share a shape, a floating dtype and a
    device, which the result keeps.

    Raises TypeError and ValueError as `validation.check_gradient` does.
    """
    check_gradient(y, dy)
    gradient: torch.Tensor = torch.ops.aten.tanh_backward(dy, y)
    return gradient


# With a fused multiply-add 1 - y*y is rounded once and the result is stable; torch's vectorized CPU
# kernels have one, its baseline build for x86-64 has none.
_IN_FORMAT: Final = (
    "without a fused multiply-add y*y is rounded before it is taken from 1, so the relative error "
    "grows as |y| nears 1; the formula accounts for all of it"
)

SUBJECT: Final = Subject(
    name="aten-tanh-gradient",
    kind=Kind.TANH_GRADIENT,
    function=aten_tanh_gradient,
    stated={
        "float16": Stated(
            Grade.FAITHFUL,
            "computed in binary32, where y*y is exact, and rounded once to binary16: about 1 in "
            "40,000 results is rounded the wrong way by the roundings before, none is an ulp off",
        ),
        # Where |y| >= 1/2, y*y is a multiple of 2^-16, so 1 - y*y has at most 16 bits and its
        # product with the 8 bits of dy at most 24. Where |y| < 1/2 the tests are exhaustive.
        "bfloat16": Stated(
            Grade.CORRECT,
            "computed in binary32 and rounded once to bfloat16: for |y| >= 1/2 the binary32 result "
            "is exact, and below it is never near enough to a tie to round the wrong way",
        ),
        "float32": Stated(Grade.TEXTBOOK, _IN_FORMAT),
        "float64": Stated(Grade.TEXTBOOK, _IN_FORMAT),
    },
)
