"""Cases as torch tensors: every value by its bit pattern, every memory layout for real.

Around each view lies poison (NaN, and a huge number where NaN might pass unnoticed), so that a
subject which ignores strides or offsets reads garbage and is seen to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from harness.case import Case, Layout, format_of
from harness.hexfloat import hex_text
from harness.patterns import decode, encode
from reference.dyadic import Dyadic
from reference.formats import Format

_TORCH_DTYPES: Final[Mapping[str, torch.dtype]] = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
_NAMES: Final = {dtype: name for name, dtype in _TORCH_DTYPES.items()}
#: Integers of the same width: numpy's to write patterns, torch's to view them.
_INTEGERS: Final = {
    16: (np.int16, torch.int16),
    32: (np.int32, torch.int32),
    64: (np.int64, torch.int64),
}
#: Elements before and after an offset view: odd, so that the view breaks vector alignment.
_MARGIN: Final = 3
_MATRIX_WIDTH: Final = 3


class Arguments(NamedTuple):
    """The arguments of a neuron: vectors of shape (n,) and 0-dim scalars, one dtype and device."""

    inputs: torch.Tensor
    weights: torch.Tensor
    bias: torch.Tensor
    upstream_gradient: torch.Tensor


class TanhGradientArguments(NamedTuple):
    """The arguments of a raw tanh gradient: y and dy, both of shape (n,)."""

    output: torch.Tensor
    upstream_gradient: torch.Tensor


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype called `name`. Raises ValueError for a name not in `harness.case.DTYPES`."""
    format_of(name)
    return _TORCH_DTYPES[name]


def dtype_name(dtype: torch.dtype) -> str:
    """The inverse of `torch_dtype`. Raises ValueError for a dtype that no case has."""
    try:
        return _NAMES[dtype]
    except KeyError:
        raise ValueError(f"{dtype} is not one of {', '.join(_TORCH_DTYPES)}") from None


def arguments(case: Case, device: str | torch.device = "cpu") -> Arguments:
    """The four tensors of a neuron case, laid out as `case.layout` says, on `device`.

    Layouts concern the vectors; `scalar-view` concerns the 0-dim scalars and vectors of length 1,
    `requires-grad` all four. Each tensor has a storage of its own.

    Raises ValueError for an expanded vector whose elements differ, for a value that is not a
    member of the dtype, and for a case without weights for its inputs.
    """
    if len(case.weights) != len(case.inputs):
        raise ValueError(f"a neuron case needs {len(case.inputs)} weights, got {len(case.weights)}")
    n = len(case.inputs)
    values = (*case.inputs, *case.weights, case.bias, case.upstream_gradient)
    patterns = encode(values, case.format)
    build = _Builder(case, torch.device(device))
    return Arguments(
        build.vector(patterns[:n], "inputs", step=3),
        build.vector(patterns[n : 2 * n], "weights", step=2),
        build.scalar(patterns[2 * n]),
        build.scalar(patterns[2 * n + 1]),
    )


def tanh_gradient_arguments(
    case: Case, device: str | torch.device = "cpu"
) -> TanhGradientArguments:
    """y and dy of a tanh-gradient case on `device`, both laid out as `case.layout` says.

    dy repeats `case.upstream_gradient` to the shape of y. Raises ValueError as `arguments` does.
    """
    patterns = encode((*case.inputs, case.upstream_gradient), case.format)
    build = _Builder(case, torch.device(device))
    upstream = np.full(len(case.inputs), patterns[-1], dtype=np.uint64)
    return TanhGradientArguments(
        build.vector(patterns[:-1], "inputs", step=3),
        build.vector(upstream, "upstream_gradient", step=2),
    )


def bit_patterns(tensor: torch.Tensor) -> list[int]:
    """The elements of `tensor` in row-major order as unsigned bit patterns.

    Only integers are read, so a NaN keeps its payload and a subnormal survives flush-to-zero.
    Raises ValueError for a dtype that no case has.
    """
    width = format_of(dtype_name(tensor.dtype)).width
    integers = tensor.detach().view(_INTEGERS[width][1])
    mask = (1 << width) - 1
    return [pattern & mask for pattern in integers.reshape(-1).tolist()]


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors of one dtype, shape and device hold the same bit patterns."""
    integer = _INTEGERS[format_of(dtype_name(left.dtype)).width][1]
    return torch.equal(left.detach().view(integer), right.detach().view(integer))


def floats(tensor: torch.Tensor) -> list[float]:
    """The elements of `tensor` in row-major order as Python floats, exactly."""
    patterns = np.array(bit_patterns(tensor), dtype=np.uint64)
    values: list[float] = decode(patterns, format_of(dtype_name(tensor.dtype))).tolist()
    return values


class _Builder:
    """Tensors of one case on one device."""

    def __init__(self, case: Case, device: torch.device) -> None:
        self._dtype = _TORCH_DTYPES[case.dtype]
        self._format = case.format
        self._layout = case.layout
        self._device = device

    def vector(self, patterns: NDArray[np.uint64], name: str, step: int) -> torch.Tensor:
        """A tensor of shape (n,); `step` is the stride of a strided one."""
        n = len(patterns)
        match self._layout:
            case Layout.STRIDED:
                return self._view(patterns, start=1, step=step)
            case Layout.OFFSET:
                return self._view(patterns, start=_MARGIN, step=1)
            case Layout.COLUMN:
                rows = self._poison(n * _MATRIX_WIDTH)
                rows[1::_MATRIX_WIDTH] = patterns
                return self._tensor(rows).reshape(n, _MATRIX_WIDTH)[:, 1]
            case Layout.EXPANDED:
                return self._expanded(patterns, name)
            case Layout.SCALAR_VIEW if n == 1:
                return self._view(patterns, start=2, step=7)
            case Layout.REQUIRES_GRAD:
                return self._tensor(patterns).requires_grad_()
            case _:
                return self._tensor(patterns)

    def scalar(self, pattern: np.uint64) -> torch.Tensor:
        """A 0-dim tensor."""
        if self._layout is Layout.SCALAR_VIEW:
            return self._view(np.array([pattern]), start=_MARGIN, step=1)[0]
        tensor = self._tensor(np.array([pattern])).reshape(())
        return tensor.requires_grad_() if self._layout is Layout.REQUIRES_GRAD else tensor

    def _expanded(self, patterns: NDArray[np.uint64], name: str) -> torch.Tensor:
        if (patterns != patterns[:1]).any():
            value = decode(patterns[patterns != patterns[:1]], self._format)[0]
            raise ValueError(
                f"{name}: an expanded vector repeats one element, "
                f"but {hex_text(value)} differs from the first"
            )
        single = self._poison(3)
        single[1 : 1 + min(1, len(patterns))] = patterns[:1]
        # as_strided, because expand() gives one element the stride 1 where 0 is wanted.
        return self._tensor(single).as_strided((len(patterns),), (0,), 1)

    def _view(self, patterns: NDArray[np.uint64], start: int, step: int) -> torch.Tensor:
        n = len(patterns)
        storage = self._poison(start + n * step + _MARGIN)
        storage[start : start + n * step : step] = patterns
        return self._tensor(storage)[start : start + n * step : step]

    def _poison(self, size: int) -> NDArray[np.uint64]:
        poison = np.empty(size, dtype=np.uint64)
        poison[0::2], poison[1::2] = _poison_patterns(self._format)
        return poison

    def _tensor(self, patterns: NDArray[np.uint64]) -> torch.Tensor:
        integers = patterns.astype(_INTEGERS[self._format.width][0])
        # clone() gives the tensor memory of torch's own; the copies move integers only.
        tensor = torch.from_numpy(integers).clone().to(self._device)
        return tensor.view(self._dtype)


def _poison_patterns(format: Format) -> tuple[int, int]:
    """NaN, and 1.25 * 2^(emax-1): not so large that its first product overflows unseen."""
    return format.to_bits(float("nan")), format.to_bits(format.round(Dyadic(5, format.emax - 3)))
