"""The preactivation is as near as it says, in one piece and in many, alone and in a batch."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from harness.subjects.precise import dot
from harness.subjects.precise.dot import preactivation
from harness.subjects.precise.numbers import FLOATS, TENSORS

TOLERANCES = {
    torch.float16: 2.0**-27,
    torch.bfloat16: 2.0**-27,
    torch.float32: 2.0**-27,
    torch.float64: 2.0**-57,
}
each_dtype = pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: str(dtype)[6:])


def drawn(n: int, dtype: torch.dtype, seed: int) -> tuple[torch.Tensor, ...]:
    """Terms of both signs, a bias that cancels all but a little of them, and the exact sum's."""
    generator = torch.Generator().manual_seed(seed)
    x, w = torch.randn(2, n, generator=generator, dtype=torch.float64)
    x, w = x.to(dtype), (w * 8 / max(n, 1) ** 0.5).to(dtype)
    return x, w, -(x.double() * w.double()).sum().to(dtype)


def exact(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Fraction:
    """The sum without an error."""
    products = zip(x.tolist(), w.tolist(), strict=True)
    return sum((Fraction(p) * Fraction(q) for p, q in products), Fraction(b.item()))


@pytest.mark.parametrize("n", [0, 1, 2, 255, 512, 513, 700, 2048, 5000], ids=lambda n: f"n={n}")
@each_dtype
def test_within_the_tolerance(n: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole rows and a rest, whole chunks and a rest; no exact sum stands in for a wrong one."""
    monkeypatch.setattr(dot, "_CHUNK", 1536)
    x, w, b = drawn(n, dtype, n)
    for bias in (b, b + 0.25):
        hi, lo = preactivation(FLOATS, x, w, bias)
        expected = exact(x, w, bias)
        bound = Fraction(TOLERANCES[dtype]) * min(abs(expected), 1)
        assert abs(Fraction(hi) + Fraction(lo) - expected) <= bound


@each_dtype
def test_most_sums_need_no_exact_arithmetic(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a sum that cancels to a part in ten thousand, or not at all, the bound is good enough."""
    monkeypatch.setattr(dot, "exact_preactivation", lambda *_: pytest.fail("exact"))
    for seed in range(20):
        x, w, b = drawn(300, dtype, seed)
        preactivation(FLOATS, x, w, torch.full_like(b, 0.5))
        preactivation(FLOATS, x, w, b + 0.03125)


@each_dtype
def test_what_cancels_altogether_is_worked_out(dtype: torch.dtype) -> None:
    """Terms far above, or that overflow, leave exactly what they leave."""
    huge = torch.finfo(dtype).max
    x = torch.tensor([huge, huge, huge], dtype=dtype)
    w = torch.tensor([huge, -huge, 0.0], dtype=dtype)
    b = torch.tensor(0.375, dtype=dtype)
    assert (0.375, 0.0) == preactivation(FLOATS, x, w, b)
    least = torch.tensor([torch.finfo(dtype).smallest_normal] * 3, dtype=dtype)
    hi, _ = preactivation(FLOATS, least, least, torch.zeros((), dtype=dtype))
    assert float(3 * Fraction(least[0].item()) ** 2) == hi


@each_dtype
def test_a_batch_is_its_neurons(dtype: torch.dtype) -> None:
    """Each row within the tolerance, those included that are worked out exactly."""
    rows = [drawn(40, dtype, seed) for seed in range(12)]
    rows[5][0][:2], rows[5][1][:2] = torch.finfo(dtype).max, torch.tensor([1.0, -1.0])
    x, w, b = (torch.stack(each) for each in zip(*rows, strict=True))
    hi, lo = preactivation(TENSORS, x.view(3, 4, 40), w.view(3, 4, 40), b.view(3, 4))
    assert (3, 4) == hi.shape == lo.shape
    for row, high, low in zip(rows, hi.flatten().tolist(), lo.flatten().tolist(), strict=True):
        expected = exact(*row)
        bound = Fraction(TOLERANCES[dtype]) * min(abs(expected), 1)
        assert abs(Fraction(high) + Fraction(low) - expected) <= bound
