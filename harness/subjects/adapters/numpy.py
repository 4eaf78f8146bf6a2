"""NumPy's tanh. NumPy differentiates nothing: the gradient is the textbook's, of the output."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch

from harness.grade import Grade
from harness.subjects.adapters.bridge import differentiable, to_array, to_tensor
from harness.subjects.subject import Kind, Stated, Subject


def _tanh(x: torch.Tensor) -> torch.Tensor:
    with np.errstate(all="ignore"):
        return to_tensor(np.asarray(np.tanh(to_array(x))), x)


def _gradient(_x: torch.Tensor, y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    stored = to_array(y)
    # Overflow, and inf * 0, are for the judge to see; NumPy would warn of them.
    with np.errstate(all="ignore"):
        return to_tensor(np.asarray(to_array(dy) * (1 - stored * stored)), y)


_REASON: Final = (
    "NumPy's tanh is off by an ulp or so, and 1 - y*y of it cancels as y nears 1; NumPy has no "
    "gradient of its own"
)

TANH: Final = Subject(
    name="numpy-tanh",
    kind=Kind.ACTIVATION,
    function=differentiable(_tanh, _gradient),
    stated={dtype: Stated(Grade.TEXTBOOK, _REASON) for dtype in ("float16", "float32", "float64")},
    dtypes=("float16", "float32", "float64"),
    devices=("cpu",),
)
