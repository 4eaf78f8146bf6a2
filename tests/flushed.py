"""Run code in a thread of its own in which subnormals are flushed to zero."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
import torch

from harness.flush import flushing

T = TypeVar("T")


def in_flushing_thread(function: Callable[[], T]) -> T:
    """What `function` returns there; the calling thread's setting is not touched."""

    def run() -> T:
        if not torch.set_flush_denormal(True):
            pytest.skip("torch cannot set flush-to-zero on this processor")
        assert flushing()
        return function()

    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(run).result()
