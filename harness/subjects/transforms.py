"""Whether a call is under a transform of `torch.func`, where a tensor stands for a batch."""

from __future__ import annotations

import torch


def transformed() -> bool:
    """Whether `vmap`, `grad`, `jvp` or another transform is active.

    torch has no public name for what `torch.autograd.Function.apply` asks first. A Function answers
    the same question, and costs as much as a neuron.
    """
    return bool(torch._C._are_functorch_transforms_active())
