"""tanh from exponentials, as a Function and as a module."""

from __future__ import annotations

import math

import pytest
import torch

from harness.subjects.exponential import ExponentialTanh, ExponentialTanhModule

FORMS = {"Function": ExponentialTanh.apply, "module": ExponentialTanhModule()}
OVERFLOWS = [
    # The first float of the format whose exponential overflows, and the float before it.
    (torch.float16, 11.09375, 11.0859375),
    (torch.bfloat16, 89.0, 88.5),
    (torch.float32, float.fromhex("0x1.62e430p+6"), float.fromhex("0x1.62e42ep+6")),
    (torch.float64, float.fromhex("0x1.62e42fefa39f0p+9"), float.fromhex("0x1.62e42fefa39efp+9")),
]

each_form = pytest.mark.parametrize("tanh", FORMS.values(), ids=FORMS.keys())


@each_form
def test_values_and_gradient(tanh: torch.nn.Module) -> None:
    """tanh at 0, log 2 and -log 3, and 1 - y^2 times the upstream gradient there."""
    x = torch.tensor([0.0, math.log(2), -math.log(3)], dtype=torch.float64, requires_grad=True)
    y = tanh(x)
    torch.testing.assert_close(
        y.detach(), torch.tensor([0.0, 0.6, -0.8], dtype=torch.float64), rtol=1e-15, atol=0
    )
    (gradient,) = torch.autograd.grad(y, x, torch.tensor([2.0, 3.0, -1.0], dtype=torch.float64))
    torch.testing.assert_close(
        gradient, torch.tensor([2.0, 1.92, -0.36], dtype=torch.float64), rtol=1e-15, atol=0
    )


@each_form
def test_derivatives_agree_with_finite_differences(tanh: torch.nn.Module) -> None:
    """First and second derivatives pass torch's gradcheck and gradgradcheck."""
    x = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(tanh, x)
    assert torch.autograd.gradgradcheck(tanh, x)


@each_form
def test_transforms(tanh: torch.nn.Module) -> None:
    """torch.func.grad under torch.func.vmap gives the elementwise derivative."""
    x = torch.linspace(-2, 2, 9, dtype=torch.float64)
    slopes = torch.func.vmap(torch.func.grad(tanh))(x)
    torch.testing.assert_close(slopes, 1 - torch.tanh(x).square())


@each_form
@pytest.mark.parametrize(
    ("dtype", "overflowing", "last"), OVERFLOWS, ids=[str(row[0])[6:] for row in OVERFLOWS]
)
def test_overflow_is_nan(
    tanh: torch.nn.Module, dtype: torch.dtype, overflowing: float, last: float
) -> None:
    """Beyond ln(max) the quotient is inf/inf, where the last float before it still gives 1."""
    x = torch.tensor([overflowing, -overflowing, last, -last], dtype=dtype)
    assert [overflowing, last] == x.tolist()[::2]
    y = tanh(x).tolist()
    assert [math.isnan(each) for each in y] == [True, True, False, False]
    assert y[2:] == [1.0, -1.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_cancellation_near_zero(dtype: torch.dtype) -> None:
    """At x = u/4 both exponentials round to 1 and nothing of x is left."""
    x = torch.tensor(torch.finfo(dtype).eps / 8, dtype=dtype)
    assert ExponentialTanh.apply(x).item() == 0.0
    assert x.item() == torch.tanh(x).item()
