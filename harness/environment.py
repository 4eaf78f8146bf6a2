"""What a result depends on besides the subject: versions, processor, threads, flush-to-zero."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import mpmath
import torch

from harness._version import __version__

_LIBRARIES = ("numpy", "mpmath", "hypothesis")


def describe_environment(*, seed: int, flush_to_zero: bool) -> dict[str, Any]:
    """The environment as JSON values. `flush_to_zero` is the mode the process was found in."""
    return {
        "neuron_harness": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        **{name: metadata.version(name) for name in _LIBRARIES},
        "mpmath_backend": mpmath.libmp.BACKEND,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "cuda": _cuda(),
        "flush_to_zero": flush_to_zero,
        "seed": seed,
    }


def _cuda() -> dict[str, str] | None:
    if not torch.cuda.is_available():
        return None
    return {"version": str(torch.version.cuda), "device": torch.cuda.get_device_name()}
