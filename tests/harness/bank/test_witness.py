"""Witnesses: the numbers of a case rounded to each format."""

from __future__ import annotations

from math import copysign, inf, isnan, nan

import pytest

from harness.bank.witness import HUGE, SUBNORMAL, at, by_dtype, stored, terms
from harness.case import DTYPES, Case, Layout
from harness.tensors import arguments


def test_all_dtypes_unless_some_are_named() -> None:
    """No dtypes means all of them."""
    assert DTYPES == tuple(at(0.5))
    assert ("float64",) == tuple(at(0.5, "float64"))


def test_numbers_are_rounded_to_the_format() -> None:
    """Every number becomes the nearest member of the dtype's format, ties to even."""
    case = terms([0.1], [1 + 2.0**-8], -0.1, "bfloat16", g=2.0**-140)["bfloat16"]
    assert Case("bfloat16", (0.10009765625,), (1.0,), -0.10009765625, 0.0) == case


@pytest.mark.parametrize("dtype", DTYPES)
def test_members_of_the_format(dtype: str) -> None:
    """What was rounded can be stored."""
    (case,) = terms([1 / 3, -1e-3], [0.7, 123.456], 0.1, dtype, g=1 / 7).values()
    assert case == Case.from_json(case.to_json())
    arguments(case)


def test_specials_and_zeros_stay() -> None:
    """Infinities, NaN and signed zeros are not rounded."""
    (case,) = terms([inf, -0.0], [-inf, 0.0], nan, "float16", g=-0.0).values()
    assert ((inf, -0.0), (-inf, 0.0)) == (case.inputs, case.weights)
    assert isnan(case.bias)
    assert (-1.0, -1.0) == (copysign(1, case.inputs[1]), copysign(1, case.upstream_gradient))


def test_stored_outputs_have_no_weights() -> None:
    """A case of a raw gradient keeps its outputs in the inputs."""
    (case,) = stored([0.5, -1.0], "float32", g=2.0, layout=Layout.STRIDED).values()
    assert Case("float32", (0.5, -1.0), (), 0.0, 2.0, Layout.STRIDED) == case


def test_a_number_for_each_dtype() -> None:
    """Witnesses may differ by more than a rounding."""
    witnesses = by_dtype({"float16": 2.0, "float64": 3.0}, at)
    assert [("float16", 2.0), ("float64", 3.0)] == [
        (dtype, case.bias) for dtype, case in witnesses.items()
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_landmarks(dtype: str) -> None:
    """A huge number is finite and its double is not; a subnormal one is no normal number."""
    format = at(0.0)[dtype].format
    assert 2.0**format.emax == HUGE[dtype]
    assert 0 < SUBNORMAL[dtype] < 2.0**format.emin
