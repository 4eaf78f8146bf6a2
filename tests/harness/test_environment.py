"""What a result depends on besides the subject."""

from __future__ import annotations

import platform

import hypothesis
import mpmath
import msgspec
import numpy
import pytest
import torch

from harness import __version__
from harness.environment import describe_environment


def test_versions_and_settings_are_those_in_use() -> None:
    """Asked of the modules themselves."""
    found = describe_environment(seed=7, flush_to_zero=True)
    expected = {
        "neuron_harness": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
        "mpmath": mpmath.__version__,
        "hypothesis": hypothesis.__version__,
        "mpmath_backend": mpmath.libmp.BACKEND,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "flush_to_zero": True,
        "seed": 7,
    }
    assert expected == {name: value for name, value in found.items() if name != "cuda"}
    assert (found["cuda"] is None) == (not torch.cuda.is_available())


def test_it_is_plain_json() -> None:
    """torch.__version__ for one is no plain string; a report must not fail on it."""
    found = describe_environment(seed=0, flush_to_zero=False)
    assert found == msgspec.json.decode(msgspec.json.encode(found))


def test_threads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as torch uses now."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 17)
    assert 17 == describe_environment(seed=0, flush_to_zero=False)["threads"]


def test_a_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the version of CUDA that torch was built for."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Some GPU")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    found = describe_environment(seed=0, flush_to_zero=False)
    assert {"version": "12.8", "device": "Some GPU"} == found["cuda"]
