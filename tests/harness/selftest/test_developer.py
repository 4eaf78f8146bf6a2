"""The developer's test as a rival: twice the error of eager code, and what that lets pass."""

from __future__ import annotations

import pytest
import torch

from harness.selftest.contest import judged_by_rival
from harness.selftest.developer import DevelopersTest, excess
from harness.selftest.entries import BANK
from harness.subjects import Kind

NARROW = ("float16", "bfloat16", "float32")


@pytest.mark.parametrize("dtype", NARROW)
def test_twice_the_error_of_eager_code_is_the_limit(dtype: str) -> None:
    """A relative error of half an epsilon passes, one of sixteen does not."""
    epsilon = torch.finfo(getattr(torch, dtype)).eps

    def off_by(epsilons: float) -> str | None:
        def activation(x: torch.Tensor) -> torch.Tensor:
            # In float64, so that the error is what it is said to be.
            return (torch.tanh(x.double()) * (1 + epsilons * epsilon)).to(x.dtype)

        return excess(Kind.ACTIVATION, activation, 64, dtype, torch.Generator().manual_seed(1))

    assert None is off_by(0.5)
    assert "output" == off_by(16)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("first-block-only", ("output",)),
        ("where-of-two-branches", ("gradient",)),
        ("no-bias-gradient", ("raised ValueError",)),
        ("one-element-output", ()),
        ("zero-far-above", ()),
        ("empty-raises", ()),
    ],
)
def test_randn_sees_what_lies_near_zero(name: str, how: tuple[str, ...]) -> None:
    """Not what is far out, empty, or broadcast."""
    dtype = "float16" if name == "where-of-two-branches" else "bfloat16"
    outcome = judged_by_rival(DevelopersTest(), BANK[name].subject, dtype, 0.0, 1)
    assert how == outcome.how


def test_nan_is_too_large_an_error() -> None:
    """Though it compares as neither larger nor smaller."""
    found = excess(
        Kind.TANH_GRADIENT, lambda y, dy: dy * torch.nan, 7, "float32", torch.Generator()
    )
    assert "gradient" == found


def test_float64_is_not_judged() -> None:
    """It has no wider reference."""
    outcome = judged_by_rival(DevelopersTest(), BANK["wrong-sign"].subject, "float64", 0.0, 1)
    assert (None, "float64 has no wider reference") == (outcome.caught, outcome.reason)
