"""The output along a sweep of the bias."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
import torch

from harness.case import DTYPES, Case, format_of
from harness.laws.monotone import _rising
from tests.harness import faulty
from tests.harness.laws.looking import breach


@pytest.mark.parametrize("dtype", DTYPES)
def test_biases_rise(dtype: str) -> None:
    """Members of the format, each above the one before, also from zeros and subnormals."""
    format = format_of(dtype)
    largest = format.from_bits(format.to_bits(math.inf) - 1)
    tiny = format.from_bits(1)
    for bias in (0.0, -0.0, tiny, -tiny, 1.0, -1.0, 0.1875, -largest):
        for inputs in ((), (1.0,), (-4.0,)):
            biases = [bias, *_rising(Case(dtype, inputs, (1.0,) * len(inputs), bias, 1.0))]
            assert 4 == len(biases)
            assert all(one < other for one, other in pairwise(biases))
            assert all(format.contains(each) for each in biases)
    assert [] == list(_rising(Case(dtype, (), (), largest, 1.0)))


def falling(by: float) -> Any:
    """An output that steps down by a factor where the bias is above 1."""

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        return torch.where(b > 1, y * by, y), dx, dw, d

    return neuron


def test_a_step_down() -> None:
    """From one float to the next."""
    case = Case("float32", (), (), 1.0, 1.0)
    text = breach("output-monotone", falling(0.999), case)
    assert text is not None
    assert text.endswith("as bias rises from 0x1.0000000000000p+0 to 0x1.0000020000000p+0")
    assert breach("output-monotone", falling(1.001), case) is None
    assert breach("output-monotone", falling(math.nan), case) is None


def test_no_sweep_from_a_special_bias() -> None:
    """Nor of an output that is NaN."""
    for bias, x in ((math.inf, 1.0), (math.nan, 1.0), (1.0, math.nan)):
        assert (
            breach("output-monotone", falling(0.5), Case("float32", (x,), (1.0,), bias, 1.0))
            is None
        )
