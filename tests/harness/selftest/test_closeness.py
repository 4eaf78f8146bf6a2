"""assert_close as a rival: what it objects to, and inputs that plain torch itself fails on."""

from __future__ import annotations

import pytest
import torch

from harness.selftest.closeness import AssertClose, difference
from harness.selftest.contest import judged_by_rival
from harness.selftest.entries import BANK
from harness.selftest.inputs import PLAIN, draw
from harness.subjects import Kind, Subject


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("one-element-output", "shape of output"),
        ("binary32-gradient", "dtype of bias gradient"),
        ("other-device", "device of bias gradient"),
        ("no-bias-gradient", "raised ValueError"),
        ("float-for-a-tensor", "raised TypeError"),
        ("empty-gives-nan", "output"),
        ("ignores-offsets", "gradient"),
        ("zero-times-infinity", "output"),
    ],
)
def test_what_it_objects_to_is_told(name: str, how: str) -> None:
    """The result, and what of it if not its values."""
    outcome = judged_by_rival(AssertClose(), BANK[name].subject, "float64", 0.0, 1)
    assert (how,) == outcome.how


@pytest.mark.parametrize("name", ["one-minus-two", "flushes-outputs", "returns-upstream"])
def test_what_is_within_its_tolerance_passes(name: str) -> None:
    """A relative error near 0 is below its absolute tolerance, and memory it does not look at."""
    outcome = judged_by_rival(AssertClose(), BANK[name].subject, "float64", 0.0, 1)
    assert (False, 44) == (outcome.caught, outcome.rounds)


def test_inputs_that_plain_torch_fails_on_are_drawn_again() -> None:
    """In float16 it fails on nearly all long vectors, and is never flagged for it."""
    generator = torch.Generator().manual_seed(1)
    arguments = draw(Kind.ACTIVATION, 1025, torch.float16, generator)
    x, g = (each.double() for each in arguments)
    exact = torch.tanh(x), g * (1 - torch.tanh(x).square())
    expected = [each.to(torch.float16) for each in exact]
    assert "gradient" == difference(Kind.ACTIVATION, torch.tanh, arguments, expected)
    for seed in range(5):
        plain = Subject("plain", Kind.ACTIVATION, PLAIN[Kind.ACTIVATION])
        assert not judged_by_rival(AssertClose(), plain, "float16", 0.0, seed).caught
