"""Layout and zero padding: what may change a result, and how much."""

from __future__ import annotations

import math
from typing import Any

import torch

from harness.case import Case, Layout
from harness.grade import Grade
from harness.subjects import Kind
from tests.harness import faulty
from tests.harness.laws.looking import breach

CASE = Case("float32", (1.5, 0.25), (0.5, -1.0), 0.25, 2.0)
STRIDED = Case("float32", (1.5, 0.25), (0.5, -1.0), 0.25, 2.0, Layout.STRIDED)


def when(condition: Any, factor: float) -> Any:
    """The textbook's neuron, whose output is multiplied by a factor where the inputs say so."""

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        return (y * factor if condition(x) else y), dx, dw, d

    return neuron


def strided(x: torch.Tensor) -> bool:
    """Whether a vector is not contiguous."""
    return not x.is_contiguous()


def test_a_layout_that_costs_the_grade() -> None:
    """In either direction; the message says which layouts."""
    for case in (CASE, STRIDED):
        text = breach("layout", when(strided, 0.5), case)
        assert text is not None
        assert text.startswith("laid out ")
        assert text.endswith("; one falls short of the grade")


def test_a_layout_that_changes_bits_alone() -> None:
    """An ulp is within the grade; unless the grade required is the correct one."""
    an_ulp = when(strided, 1 + 2.0**-23)
    assert breach("layout", an_ulp, CASE) is None
    exact = Case("float32", (0.5, 0.25), (0.5, -1.0), 0.25, 2.0)
    assert breach("layout", an_ulp, exact, require=Grade.CORRECT) is not None


def test_wrong_in_every_layout_is_no_matter_of_layout() -> None:
    """The grade says it."""
    assert breach("layout", when(lambda _: True, 0.5), CASE) is None


def test_padding_that_costs_the_grade() -> None:
    """A sum that is another at more than eight terms."""
    assert "one falls short of the grade" in str(
        breach("zero-padding", when(lambda x: len(x) > 8, 0.5), CASE)
    )
    assert breach("zero-padding", when(lambda x: len(x) > 8, 1 + 2.0**-23), CASE) is None


def test_padding_with_a_gradient() -> None:
    """The gradients of zeros are zeros, whatever is required; not where d is not finite."""

    def one(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        return y, dx, torch.where(x == 0, d, dw), d

    text = breach("zero-padding", one, CASE, require=Grade.WRONG)
    assert "with 9 terms of zeros added, weight_gradient[2] is 0x1" in str(text)
    for g in (math.inf, math.nan):
        case = Case("float32", (1.5,), (0.5,), 0.25, g)
        assert breach("zero-padding", faulty.right, case) is None


def test_an_activation_that_refuses_a_layout() -> None:
    """A view needs a contiguous vector: what can be called on one must be on the other."""

    def flat(x: Any) -> Any:
        return torch.tanh(x.view(1, -1).view(x.shape)) if x.is_contiguous() else x.view(-1, 17, 3)

    assert "raised RuntimeError" in str(breach("layout", flat, CASE, Kind.ACTIVATION))


def test_an_activation_in_two_layouts() -> None:
    """It is called on a vector; only a lane that costs the grade is a breach."""

    def off(by: float) -> Any:
        def activation(x: Any) -> Any:
            y = torch.tanh(x)
            return y * by if x.ndim and not x.is_contiguous() else y

        return activation

    text = breach("layout", off(0.5), CASE, Kind.ACTIVATION)
    assert "in lane 0 of 17, at 0x1." in str(text)
    assert breach("layout", off(1 + 2.0**-23), CASE, Kind.ACTIVATION) is None
    for layout in Layout:
        vector = (0.5, 0.5)
        case = Case("float32", vector, vector, 0.25, 3.0, layout)
        assert breach("layout", torch.tanh, case, Kind.ACTIVATION) is None
