"""Wrong numerics: rational functions, polynomials and tables that stand in for tanh."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Tensor, backward, custom
from harness.bank.witness import at
from harness.subjects import Kind

_activation = partial(fault, Group.NUMERICS, Kind.ACTIVATION)
_WIDE: Final = ("float32", "float64")


@_activation("audio and game code, clamped where the fraction reaches 1", at(1.5))
def rational(x: Tensor) -> Tensor:
    """x (27 + x^2) / (27 + 9 x^2) on [-3, 3]: a second-order Pade approximant."""
    x = x.clamp(-3, 3)
    return x * (27 + x * x) / (27 + 9 * x * x)


@_activation("the same without its clamp", at(16.0), shows_as=["grade", "output-bounded"])
def rational_without_clamp(x: Tensor) -> Tensor:
    """x (27 + x^2) / (27 + 9 x^2) everywhere: it grows like x/9, and x*x overflows."""
    return x * (27 + x * x) / (27 + 9 * x * x)


@_activation(
    "Lambert's continued fraction, cut after four levels",
    at(4.0, *_WIDE) | at(2.0, "float16"),
    elsewhere="a bfloat16 ulp hides its error of 1e-4; its coefficients fit bfloat16's range",
)
def continued_fraction(x: Tensor) -> Tensor:
    """Lambert's fraction to x^7, clamped at 4.97; 135135 overflows half precision."""
    x = x.clamp(-4.97, 4.97)
    z = x * x
    above = x * (135135 + z * (17325 + z * (378 + z)))
    return above / (135135 + z * (62370 + z * (3150 + z * 28)))


#: A rational function of degree 13/6 on [-9, 9], fitted for binary32: x P(x^2) / Q(x^2).
_ABOVE: Final = (
    4.89352455891786e-03,
    6.37261928875436e-04,
    1.48572235717979e-05,
    5.12229709037114e-08,
    -8.60467152213735e-11,
    2.00018790482477e-13,
    -2.76076847742355e-16,
)
_BELOW: Final = (
    4.89352518554385e-03,
    2.26843463243900e-03,
    1.18534705686654e-04,
    1.19825839466702e-06,
)


@_activation(
    "Tencent/ncnn#6978: 1.0439453 at 9 in float16",
    at(9.0, "float16") | at(4.0625, "bfloat16") | at(5.84841108, *_WIDE),
    shows_as=["grade", "output-bounded"],
)
def rational_of_degree_13(x: Tensor) -> Tensor:
    """A fraction fitted for binary32, there 6 ulps off, its coefficients cast to any format."""

    def value(x: Tensor) -> Tensor:
        x = x.clamp(-9, 9)
        return x * _polynomial(x * x, _ABOVE) / _polynomial(x * x, _BELOW)

    return custom(x, value, backward)


def _polynomial(z: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """The sum of c_k z^k by Horner's rule, in the format of z."""
    total = torch.zeros_like(z)
    for coefficient in reversed(coefficients):
        total = total * z + torch.tensor(coefficient, dtype=z.dtype, device=z.device)
    return total


@_activation("Taylor's series, taken up to its radius", at(0.875))
def taylor(x: Tensor) -> Tensor:
    """x - x^3/3 + 2x^5/15 for |x| < 1, tanh elsewhere."""
    z = x * x
    series = x * (1 - z * (1 / 3 - z * (2 / 15)))
    return torch.where(x.abs() < 1, series, torch.tanh(x))


@_activation(
    "a binary32 polynomial for |x| < 0.625, used up to 1 by a wrong branch",
    at(0.9375, *_WIDE),
    elsewhere="an error of 5e-4 in 0.76 is at most an ulp of the 16-bit formats",
)
def polynomial_past_its_range(x: Tensor) -> Tensor:
    """x + x^3 P(x^2), a minimax fit on |x| < 0.625, for |x| < 1; tanh elsewhere."""

    def value(x: Tensor) -> Tensor:
        wide = x.float() if x.dtype.itemsize == 2 else x
        z = wide * wide
        near = wide + wide * z * _polynomial(z, _NEAR_ZERO)
        return torch.where(x.abs() < 1, near.to(x.dtype), torch.tanh(x))

    return custom(x, value, backward)


_NEAR_ZERO: Final = (
    -3.33332819422e-1,
    1.33314422036e-1,
    -5.37397155531e-2,
    2.06390887954e-2,
    -5.70498872745e-3,
)


@_activation(
    "a derivative polynomial fitted for bfloat16, 10,531 ulps off in float32",
    at(0.5, *_WIDE),
    elsewhere="6e-3 of the derivative is within the bound of both 16-bit formats",
)
def derivative_fitted_for_bfloat16(x: Tensor) -> Tensor:
    """sech^2 by a polynomial in x^2 of three digits for |x| < 2, by 1 - y*y elsewhere."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        wide = x.float() if x.dtype.itemsize == 2 else x
        fit = _polynomial(wide * wide, _SECH_SQUARED)
        return g * torch.where(x.abs() < 2, fit.to(x.dtype), 1 - y * y)

    return custom(x, torch.tanh, gradient)


_SECH_SQUARED: Final = (0.999, -0.977, 0.58, -0.234, 0.0602, -0.00871, 0.000533)


@_activation("look-up tables of small accelerators", at(0.125))
def table(x: Tensor) -> Tensor:
    """Linear interpolation between 33 points on [-4, 4]."""

    def value(x: Tensor) -> Tensor:
        wide = x.double().clamp(-4, 4)
        left = (wide * 4).floor().clamp(max=15) / 4
        low, high = torch.tanh(left), torch.tanh(left + 0.25)
        return (low + (high - low) * (wide - left) * 4).to(x.dtype)

    return custom(x, value, backward)


@_activation("backends that lower tanh to the nearest function they have", at(0.5))
def hard_tanh(x: Tensor) -> Tensor:
    """x clamped to [-1, 1]."""
    return x.clamp(-1, 1)


@_activation("derivatives by numerical differentiation", at(1.0))
def central_difference(x: Tensor) -> Tensor:
    """(tanh(x + h) - tanh(x - h)) / 2h with h = 0.001: the difference cancels."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return g * ((torch.tanh(x + 1e-3) - torch.tanh(x - 1e-3)) / 2e-3)

    return custom(x, torch.tanh, gradient)


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
