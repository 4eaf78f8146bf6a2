"""torch's own conversions beside the formats' rounding: where they agree, and the trap."""

from __future__ import annotations

import pytest
import torch

from harness.case import DTYPES, format_of
from harness.tensors import floats, torch_dtype
from reference.dyadic import Dyadic, from_float
from reference.formats import BFLOAT16, BINARY16, BINARY32

NARROW = ("float16", "bfloat16")


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "float64"])
def test_a_binary32_value_rounds_as_torch_casts_it(dtype: str) -> None:
    """Random bit patterns of float32, subnormals and ties with them, each rounded once by both."""
    generator = torch.Generator().manual_seed(7)
    bits = torch.randint(-(2**31), 2**31, (20_000,), generator=generator).to(torch.int32)
    ties = (bits & -(2**16)) | 2**15  # halfway between two bfloat16 numbers
    single = torch.cat([bits, ties, (bits & -(2**13)) | 2**12]).view(torch.float32)
    single = single[single.isfinite()]
    expected = floats(single.to(torch_dtype(dtype)))
    assert expected == [format_of(dtype).round(from_float(value)) for value in floats(single)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_member_comes_back_from_torch(dtype: str) -> None:
    """next_up and the smallest and largest numbers are torch's nextafter and finfo."""
    info, format = torch.finfo(torch_dtype(dtype)), format_of(dtype)
    assert [info.max, info.tiny, info.smallest_normal] == [
        format.round(each)
        for each in (format.largest_finite, format.smallest_normal, format.smallest_normal)
    ]
    assert info.eps == 2 * format.round(format.unit_roundoff)
    assert 1.0 + info.eps == format.next_up(1.0)


@pytest.mark.parametrize("dtype", NARROW)
def test_trap_torch_takes_binary64_to_sixteen_bits_through_binary32(dtype: str) -> None:
    """Just over a tie: torch rounds to the tie in float32 first, and then to even."""
    format = format_of(dtype)
    value = 1.0 + 2.0**-format.precision + 2.0**-40
    through_torch = torch.tensor([value], dtype=torch.float64).to(torch_dtype(dtype)).item()
    assert through_torch == 1.0
    assert format.round(from_float(value)) == format.next_up(1.0)


def test_the_trap_is_in_the_second_rounding() -> None:
    """Rounded to binary32 and then on, the formats fall into it as torch does."""
    for format in (BINARY16, BFLOAT16):
        value = Dyadic(2**40 + 2 ** (40 - format.precision) + 1, -40)
        assert format.round(from_float(BINARY32.round(value))) == 1.0
        assert format.round(value) > 1.0
