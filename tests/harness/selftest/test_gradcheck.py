"""gradcheck as a rival: what its best settings see beyond its defaults, and what neither sees."""

from __future__ import annotations

import pytest
import torch

from harness.selftest.contest import Outcome, judged_by_rival
from harness.selftest.entries import BANK
from harness.selftest.gradcheck import BestGradcheck, DefaultGradcheck, differentiable
from harness.selftest.rival import Rival


def _judged(rival: Rival, name: str) -> Outcome:
    return judged_by_rival(rival, BANK[name].subject, "float64", 0.0, 1)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("epsilon-in-the-derivative", "jacobian"),
        ("clips-gradient", "jacobian"),
        ("empty-raises", "raised RuntimeError"),
        ("exponential-of-twice", "jacobian"),
        ("constant-derivative", "second order: jacobian"),
    ],
)
def test_the_best_settings_see_more(name: str, how: str) -> None:
    """Small errors, upstream gradients other than 1, chosen inputs and second derivatives."""
    assert () == _judged(DefaultGradcheck(), name).how
    assert (how,) == _judged(BestGradcheck(), name).how


@pytest.mark.parametrize("name", ["saturates-at-three", "replaces-nan", "sets-default-dtype"])
def test_an_output_wrong_along_with_its_gradient_passes(name: str) -> None:
    """gradcheck has nothing to compare the output with, and cannot differentiate NaN."""
    assert [False, False] == [
        _judged(rival, name).caught for rival in (DefaultGradcheck(), BestGradcheck())
    ]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("wrong-sign", "jacobian"),
        ("drops-upstream", "grad_output"),
        ("overwrites-what-it-kept", "not reentrant"),
    ],
)
def test_what_it_found_is_told(name: str, how: str) -> None:
    """In a word or two."""
    assert (how,) == _judged(DefaultGradcheck(), name).how


def test_a_narrower_dtype_is_not_judged() -> None:
    """It needs float64 to take differences."""
    outcome = judged_by_rival(DefaultGradcheck(), BANK["wrong-sign"].subject, "float32", 0.0, 1)
    assert (None, "gradcheck needs float64") == (outcome.caught, outcome.reason)


@pytest.mark.parametrize("name", ["dot", "raw-in-storage"])
def test_a_subject_becomes_a_function_for_autograd(name: str) -> None:
    """Its gradients are those that the subject returns."""
    function = differentiable(BANK[name].subject)
    x = torch.tensor([0.5, -0.25], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([1.0, 2.0], dtype=torch.float64)
    b = torch.tensor(0.25, dtype=torch.float64)
    if name == "dot":
        y = torch.tanh((x * w).sum() + b)
        found = function(x, w, b)
    else:
        y, found = torch.tanh(x), function(x)
    expected = torch.autograd.grad(y.sum(), x)[0]
    assert torch.equal(y, found)
    assert torch.allclose(expected, torch.autograd.grad(found.sum(), x)[0], rtol=1e-15)
