"""torch's raw gradient of tanh against the exact rational dy * (1 - y^2)."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from harness.subjects.aten_tanh_gradient import aten_tanh_gradient

Integers = npt.NDArray[np.int64]


def positive_members(dtype: torch.dtype) -> torch.Tensor:
    """All non-negative finite numbers of a 16-bit dtype, in order."""
    patterns = torch.arange(1 << 15, dtype=torch.int32).to(torch.int16).view(dtype)
    return patterns[torch.isfinite(patterns)]


def bit_lengths(values: Integers) -> Integers:
    """The bit length of each positive integer below 2^63; a longdouble holds it exactly."""
    _, lengths = np.frexp(values.astype(np.longdouble))
    return lengths.astype(np.int64)


def halves_off(exact: Integers, computed: Integers, precision: int, floor: int) -> Integers:
    """|computed - exact| in half ulps of `exact`, rounded up: 0 or 1 is rounded correctly (or a
    tie), 2 faithfully, more is neither. Both arguments are multiples of one scale, on which the
    smallest subnormal is 2^floor."""
    half_ulp = 1 << np.maximum(bit_lengths(exact) - precision, floor) - 1
    return -(-np.abs(computed - exact) // half_ulp)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_values(dtype: torch.dtype) -> None:
    """Exact values, in the order (y, dy): y is squared, dy is not."""
    y = torch.tensor([0.0, 0.5, -0.5, 1.0, -1.0, 0.75], dtype=dtype)
    dy = torch.tensor([3.0, 1.0, 4.0, 5.0, -5.0, 16.0], dtype=dtype)
    expected = torch.tensor([3.0, 0.75, 3.0, 0.0, 0.0, 7.0], dtype=dtype)
    result = aten_tanh_gradient(y, dy)
    assert expected.tolist() == result.tolist()
    assert dtype is result.dtype


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)], ids=str)
def test_shape(shape: tuple[int, ...]) -> None:
    """Elementwise: the result has the shape of y."""
    assert shape == tuple(aten_tanh_gradient(torch.zeros(shape), torch.ones(shape)).shape)


def test_the_slope_multiplies_and_does_not_divide() -> None:
    """The vector-Jacobian product is dy * (1 - y^2); dy / (1 - y^2) would be 4/3 here."""
    y, dy = torch.tensor(0.5), torch.tensor(1.0)
    assert aten_tanh_gradient(y, dy).item() == 0.75


def test_is_the_gradient_of_torch_tanh() -> None:
    """The raw operation is what torch.tanh runs backward, bit for bit."""
    x = torch.linspace(-9, 9, 1001, requires_grad=True)
    dy = torch.linspace(1, 2, 1001)
    y = torch.tanh(x)
    (expected,) = torch.autograd.grad(y, x, dy)
    assert expected.tolist() == aten_tanh_gradient(y.detach(), dy).tolist()


@pytest.mark.parametrize("subnormal", [False, True], ids=["dy in [1, 2)", "dy subnormal or nearly"])
def test_float16_is_faithful_and_not_correct(subnormal: bool) -> None:
    """No result is an ulp off, over every y in [0, 1] and a share of every significand of dy.

    Exactly: with y = Y 2^-24 and dy = D times a power of two, dy (1 - y^2) is (2^48 - Y^2) D, an
    integer of at most 60 bits.
    """
    y = positive_members(torch.float16)
    y = y[y <= 1]
    scaled = (y.double() * 2.0**24).to(torch.int64).numpy()
    significands = range(3, 1 << 12, 17) if subnormal else range(1 << 10, 1 << 11, 9)
    scale = 2.0**-24 if subnormal else 2.0**-10
    worst, misrounded = 0, 0
    for significand in significands:
        dy = torch.tensor(significand * scale, dtype=torch.float16)
        if dy.item() != significand * scale:
            continue
        computed = aten_tanh_gradient(y, dy.expand_as(y)).double() * (2.0**48 / scale)
        off = halves_off(
            ((1 << 48) - scaled * scaled) * significand,
            computed.to(torch.int64).numpy(),
            precision=11,
            floor=48 if subnormal else 34,
        )
        worst, misrounded = max(worst, int(off.max())), misrounded + int((off > 1).sum())
    assert worst == 2, "in half ulps: some result is rounded the wrong way, none is unfaithful"
    assert misrounded > 0


@pytest.mark.parametrize("subnormal", [False, True], ids=["dy in [1, 2)", "dy subnormal or nearly"])
def test_bfloat16_is_correct(subnormal: bool) -> None:
    """Every result is the exact one rounded, over every y in [2^-10, 1] and significand of dy.

    Nearer to 0, 1 - y^2 is so near 1 that dy itself is the answer. With y = Y 2^-17 the exact
    dy (1 - y^2) is (2^34 - Y^2) D, D the significand of dy.
    """
    y = positive_members(torch.bfloat16)
    y = y[(y >= 2.0**-10) & (y <= 1)]
    scaled = (y.double() * 2.0**17).to(torch.int64).numpy()
    significands = range(1, 1 << 10) if subnormal else range(1 << 7, 1 << 8)
    scale = 2.0**-133 if subnormal else 2.0**-7
    checked = 0
    for significand in significands:
        dy = torch.tensor(significand * scale, dtype=torch.float64).to(torch.bfloat16)
        if dy.double().item() != significand * scale:
            continue
        computed = aten_tanh_gradient(y, dy.expand_as(y)).double() * (2.0**34 / scale)
        off = halves_off(
            ((1 << 34) - scaled * scaled) * significand,
            computed.to(torch.int64).numpy(),
            precision=8,
            floor=34 if subnormal else 1,
        )
        checked += 1
        assert int(off.max()) <= 1, f"dy = {significand} * {scale}"
    # 255 subnormal and smallest normal numbers, then 128 in each of the next two binades.
    assert (255 + 2 * 128 if subnormal else 128) == checked


def test_bfloat16_near_zero_is_the_upstream_gradient() -> None:
    """Below 2^-10 the result is dy, which dy (1 - y^2) rounds to."""
    y = positive_members(torch.bfloat16)
    y = y[y < 2.0**-10]
    for significand in range(1 << 7, 1 << 8):
        dy = torch.tensor(significand * 2.0**-7, dtype=torch.bfloat16)
        # Half an ulp below a power of two is 2^-9 of it, the least distance to a boundary.
        assert Fraction(float(y.max())) ** 2 < Fraction(1, 1 << 9)
        assert [dy.item()] == aten_tanh_gradient(y, dy.expand_as(y)).unique().tolist()


def worst_of_slopes(dtype: torch.dtype, precision: int) -> tuple[float, float]:
    """The worst error of 1 - y^2 for y in [0.9, 1): in ulps, and as a share of what rounding y*y
    and 1 - y*y explains."""
    y = torch.linspace(0.9, 1, 2001, dtype=torch.float64).to(dtype)[:-1]
    result = aten_tanh_gradient(y, torch.ones_like(y))
    u = Fraction(1, 1 << precision)
    ulps, share = Fraction(0), Fraction(0)
    for stored, computed in zip(y.tolist(), result.tolist(), strict=True):
        square = Fraction(stored) ** 2
        slope = 1 - square
        error = abs(Fraction(computed) - slope)
        bound = (1 + u) * u * square + u * slope
        ulps = max(ulps, error / Fraction(2) ** (math.frexp(slope)[1] - precision))
        share = max(share, error / bound)
    return float(ulps), float(share)


each_wide_dtype = pytest.mark.parametrize(
    ("dtype", "precision"), [(torch.float32, 24), (torch.float64, 53)], ids=["float32", "float64"]
)


@each_wide_dtype
def test_wide_formats_are_explained_by_the_formula(dtype: torch.dtype, precision: int) -> None:
    """Near |y| = 1 the error is within what two roundings explain, fused or not."""
    _, share = worst_of_slopes(dtype, precision)
    assert 0 < share <= 1


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"),
    reason="the baseline of another architecture may have a fused multiply-add",
)
@each_wide_dtype
def test_wide_formats_lose_many_ulps_without_a_fused_multiply_add(
    dtype: torch.dtype, precision: int
) -> None:
    """torch's baseline x86-64 kernels round y*y first: many ulps, all explained, so `textbook`."""
    program = (
        "import torch; from tests.harness.subjects.test_aten_tanh_gradient import worst_of_slopes;"
        f"print(torch.backends.cpu.get_cpu_capability(), *worst_of_slopes({dtype}, {precision}))"
    )
    environment = os.environ | {"ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=Path(__file__).parents[3],
    )
    capability, ulps, share = done.stdout.split()
    assert capability == "DEFAULT"
    assert float(ulps) > 100
    assert float(share) <= 1
