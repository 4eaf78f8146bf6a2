"""Cases as tensors: exact bits, real layouts, poison around every view."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.case import DTYPES, Case, Layout
from harness.strategies import cases, tanh_gradient_cases
from harness.tensors import (
    arguments,
    bit_patterns,
    dtype_name,
    floats,
    tanh_gradient_arguments,
    torch_dtype,
)
from tests.flushed import in_flushing_thread

NAN, INF = float("nan"), float("inf")
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
by_dtype = pytest.mark.parametrize("dtype", DTYPES)
by_layout = pytest.mark.parametrize("layout", Layout)


def a_case(dtype: str, layout: Layout, n: int = 5) -> Case:
    """Distinct elements, a signed zero and a subnormal; equal elements where they must be."""
    inputs = (1.5, -0.0, TINY[dtype], -2.0, 0.25)[:n]
    weights = (3.0, -1.0, 0.5, 1.0, -0.0)[:n]
    if layout is Layout.EXPANDED:
        inputs, weights = inputs[:1] * n, weights[:1] * n
    return Case(dtype, inputs, weights, -0.75, 2.0, layout)


def patterns(case: Case, values: tuple[float, ...]) -> list[int]:
    return [case.format.to_bits(value) for value in values]


def storage_patterns(tensor: torch.Tensor) -> list[int]:
    """The bits of the whole storage that `tensor` is a view of."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return bit_patterns(tensor.detach().as_strided((size,), (1,), 0))


@by_dtype
@by_layout
@pytest.mark.parametrize("n", [0, 1, 2, 5], ids=lambda n: f"n={n}")
def test_every_value_arrives_with_its_bits(dtype: str, layout: Layout, n: int) -> None:
    """In every layout and length, with the shapes and dtype of a neuron's arguments."""
    case = a_case(dtype, layout, n)
    tensors = arguments(case)
    assert patterns(case, case.inputs) == bit_patterns(tensors.inputs)
    assert patterns(case, case.weights) == bit_patterns(tensors.weights)
    assert patterns(case, (case.bias,)) == bit_patterns(tensors.bias)
    assert patterns(case, (case.upstream_gradient,)) == bit_patterns(tensors.upstream_gradient)
    assert [(n,), (n,), (), ()] == [tuple(tensor.shape) for tensor in tensors]
    assert {torch_dtype(dtype)} == {tensor.dtype for tensor in tensors}
    assert {torch.device("cpu")} == {tensor.device for tensor in tensors}


@by_dtype
def test_drawn_cases_arrive_with_their_bits(dtype: str) -> None:
    """NaN, infinities and subnormals included."""

    @given(cases(dtype))
    def check(case: Case) -> None:
        tensors = arguments(case)
        assert patterns(case, case.inputs) == bit_patterns(tensors.inputs)
        assert patterns(case, case.weights) == bit_patterns(tensors.weights)
        assert case == Case(
            dtype,
            tuple(floats(tensors.inputs)),
            tuple(floats(tensors.weights)),
            *floats(tensors.bias),
            *floats(tensors.upstream_gradient),
            case.layout,
        )

    check()


@by_dtype
def test_drawn_stored_outputs_arrive_with_their_bits(dtype: str) -> None:
    """dy takes the shape of y, and repeats one value."""

    @given(tanh_gradient_cases(dtype))
    def check(case: Case) -> None:
        n = len(case.inputs)
        output, upstream = tanh_gradient_arguments(case)
        assert patterns(case, case.inputs) == bit_patterns(output)
        assert patterns(case, (case.upstream_gradient,) * n) == bit_patterns(upstream)
        assert (n,) == output.shape == upstream.shape
        assert torch_dtype(dtype) == output.dtype == upstream.dtype

    check()


STRIDES = {
    Layout.CONTIGUOUS: (1, 1),
    Layout.STRIDED: (3, 2),
    Layout.OFFSET: (1, 1),
    Layout.EXPANDED: (0, 0),
    Layout.COLUMN: (3, 3),
    Layout.SCALAR_VIEW: (1, 1),
    Layout.REQUIRES_GRAD: (1, 1),
}


@by_layout
@pytest.mark.parametrize("n", [2, 5], ids=lambda n: f"n={n}")
def test_strides_are_those_of_the_layout(layout: Layout, n: int) -> None:
    """A strided view has gaps, a column the stride of its matrix, an expanded one none."""
    tensors = arguments(a_case("float32", layout, n))
    assert STRIDES[layout] == (tensors.inputs.stride(0), tensors.weights.stride(0))
    output, upstream = tanh_gradient_arguments(a_case("float32", layout, n))
    assert STRIDES[layout] == (output.stride(0), upstream.stride(0))


OFFSETS = {Layout.STRIDED: 1, Layout.OFFSET: 3, Layout.EXPANDED: 1, Layout.COLUMN: 1}


@by_layout
def test_offsets_are_those_of_the_layout(layout: Layout) -> None:
    """An offset view starts at an odd element, which breaks the alignment of vector loads."""
    tensors = arguments(a_case("float32", layout))
    assert OFFSETS.get(layout, 0) == tensors.inputs.storage_offset()
    scalar_offset = 3 if layout is Layout.SCALAR_VIEW else 0
    assert scalar_offset == tensors.bias.storage_offset()
    assert scalar_offset == tensors.upstream_gradient.storage_offset()


def test_one_element_vectors_of_a_scalar_view_come_from_larger_storages() -> None:
    """Also where a stride of 1 would do."""
    tensors = arguments(a_case("float32", Layout.SCALAR_VIEW, 1))
    assert (7, 2) == (tensors.inputs.stride(0), tensors.inputs.storage_offset())
    assert 1 < len(storage_patterns(tensors.inputs))


@by_layout
def test_only_requires_grad_requires_grad(layout: Layout) -> None:
    """There, all four are leaves."""
    tensors = (
        *arguments(a_case("float32", layout)),
        *tanh_gradient_arguments(a_case("float32", layout)),
    )
    assert {layout is Layout.REQUIRES_GRAD} == {tensor.requires_grad for tensor in tensors}
    assert all(tensor.is_leaf for tensor in tensors)


VIEWS = [Layout.STRIDED, Layout.OFFSET, Layout.EXPANDED, Layout.COLUMN]


@by_dtype
@pytest.mark.parametrize("layout", VIEWS)
def test_poison_lies_around_every_view(dtype: str, layout: Layout) -> None:
    """All elements of a storage outside its view are NaN or huge, and both occur."""
    tensors = arguments(a_case(dtype, layout))
    for tensor in tensors[:2]:
        inside = {tensor.storage_offset() + index * tensor.stride(0) for index in range(5)}
        outside = [
            pattern for index, pattern in enumerate(storage_patterns(tensor)) if index not in inside
        ]
        values = [a_case(dtype, layout).format.from_bits(pattern) for pattern in outside]
        huge = 2.0 ** (a_case(dtype, layout).format.emax - 1)
        assert all(math.isnan(value) or value > huge for value in values)
        assert any(math.isnan(value) for value in values)
        assert layout is Layout.EXPANDED or any(value > huge for value in values)


@by_dtype
@pytest.mark.parametrize("layout", [Layout.STRIDED, Layout.EXPANDED, Layout.COLUMN])
def test_ignoring_the_strides_reads_garbage(dtype: str, layout: Layout) -> None:
    """What a kernel would compute from consecutive elements is nothing like the values."""
    case = a_case(dtype, layout)
    inputs = arguments(case).inputs
    size = min(5, inputs.untyped_storage().nbytes() // inputs.element_size() - 1)
    naive = inputs.as_strided((size,), (1,), inputs.storage_offset())
    assert not torch.isfinite(naive.sum()) or naive.abs().max() > 2.0 ** (case.format.emax - 1)


def test_tensors_share_no_storage() -> None:
    """Nor does a second call reuse the first one's."""
    case = a_case("float32", Layout.STRIDED)
    tensors = (*arguments(case), *arguments(case), *tanh_gradient_arguments(case))
    assert len(tensors) == len({tensor.untyped_storage().data_ptr() for tensor in tensors})


def test_an_expanded_vector_of_different_elements_is_refused() -> None:
    """It cannot be laid out, and is not quietly laid out otherwise."""
    case = Case("float32", (1.0, 1.0), (0.0, -0.0), 0.0, 1.0, Layout.EXPANDED)
    with pytest.raises(ValueError, match=r"weights: .* but -0x0.0p\+0 differs from the first"):
        arguments(case)
    same = Case("float32", (NAN, -NAN), (INF, INF), 0.0, 1.0, Layout.EXPANDED)
    assert [0x7FC00000] * 2 == bit_patterns(arguments(same).inputs)


def test_a_value_outside_the_dtype_is_refused() -> None:
    """It is not rounded."""
    with pytest.raises(ValueError, match="is not a bfloat16 number; round it first"):
        arguments(Case("bfloat16", (), (), 1.001, 1.0))


def test_a_case_without_weights_is_no_neuron() -> None:
    """A tanh-gradient case has other arguments."""
    with pytest.raises(ValueError, match="a neuron case needs 1 weights, got 0"):
        arguments(Case("float32", (1.0,), (), 0.0, 1.0))


@pytest.mark.parametrize(
    ("dtype", "integers", "payloads"),
    [
        (torch.float16, torch.int16, [0x7C01, 0xFE00, 0x0001, 0x8000]),
        (torch.bfloat16, torch.int16, [0x7F81, 0xFFC0, 0x0001, 0x8000]),
        (torch.float32, torch.int32, [0x7F800001, 0xFFC00000, 0x00000001, 0x80000000]),
        (torch.float64, torch.int64, [0x7FF0000000000001, 0xFFF8000000000000, 1, 1 << 63]),
    ],
    ids=str,
)
def test_bit_patterns_keep_every_payload(
    dtype: torch.dtype, integers: torch.dtype, payloads: list[int]
) -> None:
    """Signalling NaN stay so: nothing is computed with them."""
    width = torch.iinfo(integers).bits
    signed = [value - (value >> (width - 1) << width) for value in payloads]
    tensor = torch.tensor(signed, dtype=integers).view(dtype)
    assert payloads == bit_patterns(tensor)
    assert payloads[::2] == bit_patterns(tensor[::2])
    assert payloads == bit_patterns(tensor.reshape(2, 2).clone())
    assert payloads[:1] == bit_patterns(tensor[0])


@by_dtype
def test_names_and_dtypes_correspond(dtype: str) -> None:
    """One name a dtype."""
    assert dtype == dtype_name(torch_dtype(dtype))
    assert f"torch.{dtype}" == str(torch_dtype(dtype))


def test_dtypes_without_cases_are_refused() -> None:
    """Complex, integer and 8-bit ones."""
    with pytest.raises(ValueError, match=r"torch.int32 is not one of float16, bfloat16"):
        bit_patterns(torch.zeros(2, dtype=torch.int32))
    with pytest.raises(ValueError, match="unknown dtype 'float8'"):
        torch_dtype("float8")


@by_dtype
def test_flush_to_zero_changes_no_bit(dtype: str) -> None:
    """A thread that flushes subnormals builds and reads the same tensors."""
    case = a_case(dtype, Layout.STRIDED)

    def visit() -> tuple[list[int], list[str]]:
        inputs = arguments(case).inputs
        return bit_patterns(inputs), [value.hex() for value in floats(inputs)[:2]]

    assert (patterns(case, case.inputs), [(1.5).hex(), (-0.0).hex()]) == in_flushing_thread(visit)


@pytest.mark.cuda
@by_dtype
@by_layout
def test_a_device_gets_the_same_bits_and_strides(dtype: str, layout: Layout) -> None:
    """Only the device differs."""
    case = a_case(dtype, layout)
    for here, there in zip(arguments(case, "cpu"), arguments(case, "cuda"), strict=True):
        assert "cuda" == there.device.type
        assert bit_patterns(here) == bit_patterns(there)
        assert (here.stride(), here.storage_offset()) == (there.stride(), there.storage_offset())
        assert (here.requires_grad, here.is_leaf) == (there.requires_grad, there.is_leaf)


@given(st.lists(st.floats(width=32), max_size=20))
def test_floats_reads_what_torch_stores(values: list[float]) -> None:
    """Against torch's own conversion, which is exact from binary32."""
    tensor = torch.tensor(values, dtype=torch.float32)
    assert [value.hex() for value in tensor.tolist()] == [value.hex() for value in floats(tensor)]
