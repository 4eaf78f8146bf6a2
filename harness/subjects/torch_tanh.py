"""torch's own tanh and its derivative."""

from __future__ import annotations

from typing import Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject

_REASON: Final = (
    "tanh itself is accurate to an ulp or two, but its derivative is g * (1 - y*y) of the stored "
    "output, which cancels as y nears 1"
)

SUBJECT: Final = Subject(
    name="torch-tanh",
    kind=Kind.ACTIVATION,
    function=torch.tanh,
    stated={
        dtype: Stated(Grade.TEXTBOOK, _REASON)
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
)
