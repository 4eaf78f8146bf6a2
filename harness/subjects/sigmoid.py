"""tanh from the logistic function: 2 * sigmoid(2x) - 1."""

from __future__ import annotations

from typing import Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject


def sigmoid_tanh(x: torch.Tensor) -> torch.Tensor:
    """y = 2 * sigmoid(2x) - 1, elementwise, differentiable by autograd as 4 s (1 - s)."""
    return torch.sigmoid(x * 2) * 2 - 1


_REASON: Final = (
    "2*sigmoid(2x) is rounded near 1 before 1 is taken away, so the output has an absolute error "
    "of about u however small x is, and is 0 for every |x| below u"
)

SUBJECT: Final = Subject(
    name="sigmoid",
    kind=Kind.ACTIVATION,
    function=sigmoid_tanh,
    stated={
        dtype: Stated(Grade.WRONG, _REASON)
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
)
