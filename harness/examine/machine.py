"""The machine: what results depend on besides the subject, and the names figures are kept under."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import msgspec
import torch

from harness.environment import describe_environment
from harness.flush import flushing


def describe_machine() -> bytes:
    """The environment, as text by name, and the devices that are there, each with the name of what
    computes there: the processor's architecture and the vector capability that torch uses, or the
    name of the device; and whether subnormals are flushed, for figures differ with it."""
    flush = bool(flushing())
    found = describe_environment(seed=0, flush_to_zero=flush)
    del found["seed"]
    cuda = found.pop("cuda")
    environment = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in found.items()
    }
    environment |= {
        "cpu": _processor(),
        "libc": " ".join(platform.libc_ver()).strip() or "unknown",
        "torch_build": _torch_build(),
        "torch_git": str(torch.version.git_version)[:12],
    }
    suffix = " flush-to-zero" if flush else ""
    devices = {"cpu": f"{found['machine']} {found['cpu_capability']}{suffix}"}
    if cuda is not None:
        devices["cuda"] = f"{cuda['device']}{suffix}"
        environment |= {"cuda": cuda["version"], "cuda_device": cuda["device"]}
    return msgspec.json.encode({"environment": environment, "devices": devices})


def _processor() -> str:
    """The processor's own name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip().lower() in ("model name", "cpu model"):
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def _torch_build() -> str:
    """Compiler and libraries of the torch build, in one line."""
    shown: list[str] = []
    for line in torch.__config__.show().splitlines():
        text: Any = line.strip().removeprefix("- ")
        if text and not text.startswith(("PyTorch built", "Build settings", "CPU capability")):
            shown.append(text)
    return "; ".join(shown[:6])
