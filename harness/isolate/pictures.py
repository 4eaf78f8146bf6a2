"""Tensors as records and back, views of a roomier storage as such."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harness.isolate.records import TensorRecord


def picture(tensor: torch.Tensor) -> TensorRecord:
    """A strided tensor of any dtype, with its whole storage; without one for "meta"."""
    storage = tensor.untyped_storage()
    content = None
    if not tensor.is_meta:
        held = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
        content = held.cpu().numpy().tobytes()
    return TensorRecord(
        str(tensor.dtype).removeprefix("torch."),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        int(tensor.storage_offset()),
        str(tensor.device),
        content,
    )


def pictures(tensors: Sequence[torch.Tensor]) -> tuple[TensorRecord, ...]:
    """The records of several tensors."""
    return tuple(map(picture, tensors))


def tensor_of(record: TensorRecord) -> torch.Tensor:
    """The tensor that a record pictures, in memory of its own."""
    dtype: torch.dtype = getattr(torch, record.dtype)
    if record.storage is None:
        return torch.empty_strided(record.shape, record.stride, dtype=dtype, device=record.device)
    size = len(record.storage)
    held = torch.empty(size, dtype=torch.uint8)
    if size:
        held.copy_(torch.frombuffer(bytearray(record.storage), dtype=torch.uint8))
    held = held.to(record.device)
    whole = torch.empty(0, dtype=dtype, device=record.device)
    whole.set_(held.untyped_storage(), record.offset, record.shape, record.stride)
    return whole
