"""Arguments that do not fit each other."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.case import DTYPES, Case
from harness.subjects import Kind, builtin_names, load
from tests.harness import faulty
from tests.harness.laws.looking import breach, judge_of

CASE = Case("float32", (1.5, 0.25), (0.5, -1.0), 0.25, 2.0)


def checked(condition: Any) -> Any:
    """The textbook's neuron, which raises unless its arguments are as a condition says."""

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        if not condition(x, w, b, g):
            raise TypeError
        return faulty.right(x, w, b, g)

    return neuron


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        pytest.param(
            lambda x, w, b, g: x.dtype == w.dtype == b.dtype == g.dtype and x.is_floating_point(),
            "a bias of shape (1,): accepted; expected an error",
            id="dtypes alone",
        ),
        pytest.param(
            lambda x, w, b, g: x.shape == w.shape and b.ndim == 0,
            "torch.float64 weights for torch.float32 inputs: accepted; expected an error",
            id="shapes alone",
        ),
        pytest.param(
            lambda x, w, b, g: x.shape == w.shape and b.ndim == 0 and x.dtype == w.dtype,
            "a torch.float64 bias for torch.float32 inputs: accepted; expected an error",
            id="vectors alone",
        ),
        pytest.param(
            lambda x, w, b, g: x.shape == w.shape and b.ndim == 0 and x.dtype == w.dtype == b.dtype,
            "a torch.float64 upstream_gradient for torch.float32 inputs: accepted; expected an "
            "error",
            id="all but g",
        ),
        pytest.param(
            lambda x, w, b, g: (
                x.shape == w.shape and b.ndim == 0 and x.dtype == w.dtype == b.dtype == g.dtype
            ),
            "a neuron of torch.int64: accepted; expected an error",
            id="any dtype",
        ),
    ],
)
def test_what_is_accepted(condition: Any, text: str) -> None:
    """The first mismatch that is not an error."""
    assert text == breach("mismatch-raises", checked(condition), CASE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", builtin_names())
def test_built_ins_refuse(name: str, dtype: str) -> None:
    """Another device too, and without lanes."""
    subject = load(name)
    vector = () if subject.kind is Kind.TANH_GRADIENT else (0.5,)
    assert judge_of(subject, dtype).built_in
    for case in (Case(dtype, (), (), 0.0, 1.0), Case(dtype, (0.5,), vector, 0.0, 1.0)):
        assert breach("mismatch-raises", subject, case) is None


def test_another_device_is_tried_on_built_ins_alone() -> None:
    """It might crash a kernel that reads what a pointer points to."""
    devices: list[str] = []

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        devices.extend(each.device.type for each in (x, w, b, g))
        raise TypeError

    assert breach("mismatch-raises", neuron, CASE) is None
    assert {"cpu"} == set(devices)


def test_a_kernel_that_looks_at_one_length_reads_its_own_storage() -> None:
    """Every argument has room for another lane and a wider dtype."""

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        sizes = [each.untyped_storage().nbytes() for each in (x, w, b, g)]
        assert min(sizes) >= 8 * max(1, len(x), len(w))
        raise TypeError

    with torch.no_grad():
        assert breach("mismatch-raises", neuron, CASE) is None
