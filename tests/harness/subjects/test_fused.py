"""The cheapest textbook neuron: what it allocates, and where it puts its results."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.subjects.fused import fused
from harness.subjects.textbook import textbook

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype)[6:])
each_length = pytest.mark.parametrize("n", [0, 1, 100, 5000], ids=lambda n: f"n={n}")


def arguments(n: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """A neuron that is not saturated."""
    generator = torch.Generator().manual_seed(n)
    x, w = torch.randn(2, n, generator=generator) / max(n, 1) ** 0.25
    return x.to(dtype), w.to(dtype), torch.tensor(0.25, dtype=dtype), torch.tensor(1.5, dtype=dtype)


class Allocations(TorchDispatchMode):
    """Keeps the storages of n or more elements that operations return."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n, self.seen = n, dict[int, torch.UntypedStorage]()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run the operation, and note where its result lies."""
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.numel() >= self.n:
            storage = result.untyped_storage()
            self.seen[storage.data_ptr()] = storage
        return result


@each_length
@each_dtype
def test_out_takes_the_vectors(n: int, dtype: torch.dtype) -> None:
    """The same bits as without it, in the tensors given, whatever was in them."""
    given = arguments(n, dtype)
    out = torch.full_like(given[0], torch.nan), torch.full_like(given[1], torch.nan)
    results = fused(*given, out=out)
    assert (out[0].data_ptr(), out[1].data_ptr()) == (results[1].data_ptr(), results[2].data_ptr())
    for expected, result in zip(fused(*given), results, strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
        assert not result.requires_grad


@pytest.mark.parametrize("n", [100, 5000], ids=lambda n: f"n={n}")
@each_dtype
def test_nothing_long_is_allocated_but_the_results(n: int, dtype: torch.dtype) -> None:
    """Two vectors, and with `out` those of the caller; the textbook neuron makes three."""
    given = arguments(n, dtype)
    counts = []
    for run in (
        lambda: textbook(*given),
        lambda: fused(*given),
        lambda: fused(*given, out=(torch.empty_like(given[0]), torch.empty_like(given[0]))),
    ):
        with Allocations(n) as allocations:
            run()
        counts.append(len(allocations.seen))
    assert [3, 2, 2] == counts


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (torch.empty(4), r"float32 of shape \(4,\) on cpu; expected float32 of shape \(3,\)"),
        (torch.empty(3, dtype=torch.float64), "a tensor of float64 of shape"),
        (torch.empty(3, device="meta"), "on meta; expected float32"),
    ],
    ids=["shape", "dtype", "device"],
)
def test_out_must_fit(bad: torch.Tensor, message: str) -> None:
    """torch would resize or convert it."""
    for out in ((bad, torch.empty(3)), (torch.empty(3), bad)):
        with pytest.raises(ValueError, match=message):
            fused(*arguments(3, torch.float32), out=out)
