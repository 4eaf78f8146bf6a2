"""Certified arrays against Arb: exhaustively in 16 bits, near ties in the wider formats."""

from __future__ import annotations

import os

import numpy as np
import pytest

from reference import certified
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format

pytest.importorskip("flint", reason="python-flint (Arb) is the judge; install python-flint")

from tests.certified_crosscheck import disagreements, judged_wrong

#: Answers a format and function in the slow comparison.
COUNT = int(os.environ.get("CERTIFIED_CROSSCHECK_COUNT", "1000000"))


@pytest.mark.parametrize("name", ["tanh", "sech2"])
@pytest.mark.parametrize("format", [BINARY16, BFLOAT16], ids=lambda format: format.name)
def test_every_number_of_the_16_bit_formats(format: Format, name: str) -> None:
    """All finite non-zero arguments of both signs, judged by Arb."""
    x = certified.members(format, 0, 1 << 16)
    x = x[np.isfinite(x) & (x != 0)]
    rounded = getattr(certified.rounded_tanh_sech2(x, format=format), name)
    assert [] == list(judged_wrong(x, rounded, name, format))


@pytest.mark.parametrize("format", [BINARY32, BINARY64], ids=lambda format: format.name)
def test_arguments_close_to_ties(format: Format) -> None:
    """The hardest of 400,000 arguments a function."""
    assert [] == list(disagreements(format, 25_000, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_many_arguments_close_to_ties(format: Format) -> None:
    """As many as CERTIFIED_CROSSCHECK_COUNT says, a million by default."""
    assert [] == list(disagreements(format, COUNT, seed=2))


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("name", ["tanh", "sech2"])
def test_the_judge_sees_a_result_that_is_one_float_off(name: str, format: Format) -> None:
    """Every neighbour of a right result is refused."""
    x = np.linspace(0.1, 0.9, 40).astype(np.float32).astype(certified.carrier(format))
    if format == BFLOAT16:
        x = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    rounded = getattr(certified.rounded_tanh_sech2(x, format=format), name)
    for step in (format.next_up, format.next_down):
        wrong = np.array([step(value) for value in rounded.tolist()], rounded.dtype)
        assert x.size == len(list(judged_wrong(x, wrong, name, format)))
