"""torch's own tanh."""

from __future__ import annotations

import torch

from harness.subjects.torch_tanh import SUBJECT


def test_the_function_is_torch_tanh() -> None:
    """Nothing stands between the harness and torch."""
    assert SUBJECT.function is torch.tanh
