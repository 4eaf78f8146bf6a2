"""The global torch state that a subject must leave as it found it."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class TorchState:
    """Default dtype, grad mode, threads, random state and flush mode."""

    default_dtype: torch.dtype
    grad_enabled: bool
    threads: int
    rng: bytes
    flush: bool

    @staticmethod
    def now(flush: bool) -> TorchState:
        """The state, with the flush mode that the subject was to find, or that it left."""
        return TorchState(
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_num_threads(),
            bytes(torch.get_rng_state().numpy()),
            flush,
        )

    def difference(self, after: TorchState) -> str | None:
        """What `after` has changed, in words."""
        changes = []
        for name in ("default_dtype", "grad_enabled", "threads"):
            if getattr(self, name) != getattr(after, name):
                changes.append(f"{name} from {getattr(self, name)} to {getattr(after, name)}")
        if self.rng != after.rng:
            changes.append("the state of the random number generator")
        if after.flush != self.flush:
            changes.append(f"flush-to-zero to {after.flush}")
        return f"the call changed {', '.join(changes)}" if changes else None

    def restore(self) -> None:
        """Put it back, but for the flush mode, which is the caller's business."""
        torch.set_default_dtype(self.default_dtype)
        torch.set_grad_enabled(self.grad_enabled)
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        torch.set_rng_state(torch.frombuffer(bytearray(self.rng), dtype=torch.uint8))
