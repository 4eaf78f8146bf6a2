"""The drop-in for torch.tanh: values, derivatives of both orders and modes, and transforms."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch

from harness.subjects.accurate_tanh import accurate_tanh

DTYPES = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
each_dtype = pytest.mark.parametrize(
    ("dtype", "precision"), [(getattr(torch, name), p) for name, p in DTYPES.items()], ids=DTYPES
)


def points(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Small, curved and saturated, of both signs."""
    return torch.tensor([0.0, 1e-6, -0.25, 0.75, -2.0, 5.0, -9.5, 21.0], dtype=dtype)


@each_dtype
def test_value_and_slope_are_faithful(dtype: torch.dtype, precision: int) -> None:
    """Off by less than an ulp each, as a vector and as a 0-dim tensor."""
    for x in (points(dtype), *points(dtype)):
        x = x.clone().requires_grad_()
        y = accurate_tanh(x)
        (d,) = torch.autograd.grad(y, x, torch.full_like(y, 1.5))
        assert (dtype, x.shape) == (y.dtype, y.shape) == (d.dtype, d.shape)
        for at, value, slope in zip(*(t.flatten().tolist() for t in (x, y, d)), strict=True):
            with mpmath.workprec(200):
                for found, exact in (
                    (value, mpmath.tanh(at)),
                    (slope, 1.5 / mpmath.cosh(mpmath.mpf(at)) ** 2),
                ):
                    ulp = max(2.0 ** (math.frexp(float(exact))[1] - precision), 2.0**-1074)
                    if dtype is torch.float16:
                        ulp = max(ulp, 2.0**-24)
                    assert abs(found - exact) < ulp


@each_dtype
def test_the_slope_outlives_the_output(dtype: torch.dtype, precision: int) -> None:
    """Where tanh has rounded to 1, torch's gradient is 0; this one is 4 exp(-2x)."""
    x = torch.tensor(0.4 * precision + 0.5, dtype=dtype, requires_grad=True)
    y = accurate_tanh(x)
    (slope,) = torch.autograd.grad(y, x)
    (torchs,) = torch.autograd.grad(torch.tanh(x), x)
    assert (1.0, 0.0) == (y.item(), torchs.item())
    eps = torch.finfo(dtype).eps
    assert slope.item() == pytest.approx(4 * math.exp(-2 * x.item()), rel=2 * eps + 1e-3)


def test_derivatives_of_both_orders_and_modes() -> None:
    """torch's own checks, finite differences and all."""
    x = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(accurate_tanh, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(accurate_tanh, x, check_fwd_over_rev=True)
    zero_dim = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(accurate_tanh, zero_dim)


FIRST = {
    "grad": torch.func.grad,
    "jacrev": torch.func.jacrev,
    "jacfwd": torch.func.jacfwd,
}


@pytest.mark.parametrize("name", FIRST)
def test_transforms_of_the_first_order(name: str) -> None:
    """Within vmap, and around it."""
    x, expected = points(), 1 / torch.cosh(points()).square()
    slope = FIRST[name](accurate_tanh)
    torch.testing.assert_close(torch.func.vmap(slope)(x), expected)

    def total(v: torch.Tensor) -> torch.Tensor:
        return torch.func.vmap(accurate_tanh)(v).sum()

    torch.testing.assert_close(FIRST[name](total)(x), expected)


@pytest.mark.parametrize("outer", FIRST)
@pytest.mark.parametrize("inner", FIRST)
def test_transforms_of_the_second_order(outer: str, inner: str) -> None:
    """-2 tanh sech^2, whichever way, under vmap."""
    x = points()
    expected = -2 * torch.tanh(x) / torch.cosh(x).square()
    found = torch.func.vmap(FIRST[outer](FIRST[inner](accurate_tanh)))(x)
    torch.testing.assert_close(found, expected)


def test_batched_along_another_dimension() -> None:
    """vmap's in_dims and out_dims, and an upstream gradient that is not batched."""
    x = torch.linspace(-3, 3, 12, dtype=torch.float64).view(3, 4)
    torch.testing.assert_close(
        torch.func.vmap(accurate_tanh, in_dims=1, out_dims=1)(x), torch.tanh(x)
    )

    def pulled(v: torch.Tensor) -> torch.Tensor:
        return torch.func.vjp(accurate_tanh, v)[1](torch.ones(3, dtype=torch.float64))[0]

    torch.testing.assert_close(
        torch.func.vmap(pulled, in_dims=1, out_dims=1)(x), 1 / torch.cosh(x).square()
    )


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3)], ids=str)
@each_dtype
def test_any_shape_and_layout(dtype: torch.dtype, precision: int, shape: tuple[int, ...]) -> None:
    """Empty ones, and a transposed one, included."""
    x = torch.full(shape, 0.5, dtype=dtype)
    for each in (x, x.mT if x.ndim > 1 else x):
        assert accurate_tanh(each).shape == each.shape
        torch.testing.assert_close(accurate_tanh(each), torch.tanh(each))


def test_other_dtypes_are_an_error() -> None:
    """An integer is not promoted."""
    with pytest.raises(TypeError, match="x has dtype int64; expected float16"):
        accurate_tanh(torch.ones(3, dtype=torch.int64))
