"""What every built-in subject promises, whatever it computes with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch

from harness.subjects import Kind, Subject, builtin_subjects, neuron_of

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
QUANTITIES = ("output", "input_gradient", "weight_gradient", "bias_gradient")
NEURONS = [each for each in builtin_subjects() if each.kind is not Kind.TANH_GRADIENT]
GRAD_MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "grad enabled": nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}

each_neuron = pytest.mark.parametrize("subject", NEURONS, ids=lambda subject: subject.name)
each_dtype = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES.keys())
each_length = pytest.mark.parametrize("length", [0, 1, 2, 7, 300], ids=lambda n: f"n={n}")


def arguments(
    length: int = 3, dtype: torch.dtype = torch.float32, *, requires_grad: bool = False
) -> tuple[torch.Tensor, ...]:
    """A neuron whose preactivation is far from 0 and from saturation."""
    generator = torch.Generator().manual_seed(length)
    drawn = (
        torch.randn(length, generator=generator),
        torch.randn(length, generator=generator) / max(length, 1),
        torch.tensor(0.375),
        torch.tensor(-1.5),
    )
    return tuple(tensor.to(dtype).requires_grad_(requires_grad) for tensor in drawn)


@each_length
@each_dtype
@each_neuron
def test_four_tensors_of_the_right_shape_and_dtype(
    subject: Subject, dtype: torch.dtype, length: int
) -> None:
    """Scalars are 0-dim, gradients have the shape of the vectors, and the dtype stays."""
    results = neuron_of(subject)(*arguments(length, dtype))
    assert [(), (length,), (length,), ()] == [tuple(each.shape) for each in results]
    assert [dtype] * 4 == [each.dtype for each in results]
    assert isinstance(results, tuple)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@each_dtype
@each_neuron
def test_results_stay_on_the_device(subject: Subject, dtype: torch.dtype) -> None:
    """Arguments on a CUDA device give results on that device."""
    on_device = [each.to("cuda") for each in arguments(3, dtype)]
    results = neuron_of(subject)(*on_device)
    assert [on_device[0].device] * 4 == [each.device for each in results]


@each_neuron
def test_results_stay_on_the_meta_device(subject: Subject) -> None:
    """No subject moves a tensor to another device, or reads a value on the way."""
    results = neuron_of(subject)(*(each.to("meta") for each in arguments()))
    assert [each.device.type for each in results] == ["meta"] * 4


@each_dtype
@each_neuron
def test_an_empty_neuron_is_its_bias(subject: Subject, dtype: torch.dtype) -> None:
    """With no inputs the output is tanh(0) = 0 and the bias gradient the upstream gradient."""
    empty = torch.empty(0, dtype=dtype)
    zero, three = torch.tensor(0.0, dtype=dtype), torch.tensor(3.0, dtype=dtype)
    output, input_gradient, weight_gradient, bias_gradient = neuron_of(subject)(
        empty, empty.clone(), zero, three
    )
    assert output.item() == 0.0
    assert bias_gradient.item() == 3.0
    assert (input_gradient.numel(), weight_gradient.numel()) == (0, 0)


@pytest.mark.parametrize("mode", GRAD_MODES.values(), ids=GRAD_MODES.keys())
@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "requires grad"])
@each_neuron
def test_results_do_not_depend_on_the_grad_mode(
    subject: Subject,
    requires_grad: bool,
    mode: Callable[[], AbstractContextManager[object]],
) -> None:
    """The four results are the same bits in every grad mode, whether or not arguments need grad."""
    expected = [each.tolist() for each in neuron_of(subject)(*arguments())]
    given = arguments(requires_grad=requires_grad)
    with mode():
        results = neuron_of(subject)(*given)
        assert expected == [each.tolist() for each in results]
    assert [each.grad for each in given] == [None] * 4


@each_neuron
def test_arguments_made_in_inference_mode_are_accepted(subject: Subject) -> None:
    """Inference tensors, which autograd cannot record, are judged like any other."""
    expected = [each.tolist() for each in neuron_of(subject)(*arguments())]
    with torch.inference_mode():
        given = [each.clone() for each in arguments()]
        assert all(each.is_inference() for each in given)
        inside = [each.tolist() for each in neuron_of(subject)(*given)]
    assert expected == inside


@each_neuron
def test_inference_tensors_are_accepted_outside_inference_mode(subject: Subject) -> None:
    """Inference tensors may outlive the mode they were made in."""
    expected = [each.tolist() for each in neuron_of(subject)(*arguments())]
    with torch.inference_mode():
        given = [each.clone() for each in arguments()]
    assert expected == [each.tolist() for each in neuron_of(subject)(*given)]


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "requires grad"])
@each_neuron
def test_arguments_are_left_as_they_were(subject: Subject, requires_grad: bool) -> None:
    """Values, `requires_grad`, `.grad` and the version counter are untouched."""
    given = arguments(requires_grad=requires_grad)
    gradients = [torch.full_like(each, 7.0) for each in given]
    if requires_grad:
        for each, gradient in zip(given, gradients, strict=True):
            each.grad = gradient
    before = [(each.tolist(), each.requires_grad, each._version) for each in given]
    neuron_of(subject)(*given)
    assert before == [(each.tolist(), each.requires_grad, each._version) for each in given]
    if requires_grad:
        kept = [each.grad.tolist() for each in given if each.grad is not None]
        assert [torch.full_like(each, 7.0).tolist() for each in given] == kept


@each_length
@each_neuron
def test_results_share_no_memory(subject: Subject, length: int) -> None:
    """Writing to a result changes no argument, and no other result."""
    given = arguments(length)
    results = neuron_of(subject)(*given)
    pointers = [each.untyped_storage().data_ptr() for each in (*given, *results) if each.numel()]
    assert sorted(set(pointers)) == sorted(pointers)


@each_dtype
@each_neuron
def test_layout_does_not_change_the_result(subject: Subject, dtype: torch.dtype) -> None:
    """A column, a reversed order of strides and a stride of 0 give what a copy gives."""
    table = torch.linspace(-1, 1, 12, dtype=torch.float64).to(dtype).reshape(4, 3)
    for vector in (table[:, 1], table.flatten()[::3], table[0, 0].expand(4)):
        weights = table[:, 2]
        bias, upstream_gradient = table[3, 0], table[2, 0]
        dense = (vector, weights, bias, upstream_gradient)
        expected = neuron_of(subject)(*(each.clone().contiguous() for each in dense))
        results = neuron_of(subject)(*dense)
        assert [each.tolist() for each in expected] == [each.tolist() for each in results]


@each_dtype
@each_neuron
def test_agrees_with_float64_on_a_tame_neuron(subject: Subject, dtype: torch.dtype) -> None:
    """A neuron away from 0 and from saturation is right to a few units of its precision."""
    given = arguments(7, dtype)
    inputs, weights, bias, upstream_gradient = (each.double() for each in given)
    y = torch.tanh(inputs @ weights + bias)
    d = upstream_gradient * (1 - y * y)
    for name, expected, result in zip(
        QUANTITIES, (y, d * weights, d * inputs, d), neuron_of(subject)(*given), strict=True
    ):
        error = (result.double() - expected).abs().max().item()
        assert error <= 8 * torch.finfo(dtype).eps * expected.abs().max().item(), name


@pytest.mark.parametrize("name", ["textbook", "autograd", "accurate", "fused"])
@each_dtype
def test_neurons_can_be_batched(name: str, dtype: torch.dtype) -> None:
    """torch.func.vmap over a batch gives each neuron's own four results."""
    (subject,) = (each for each in NEURONS if each.name == name)
    neurons = [
        tuple(each * scale for each in arguments(5, dtype)) for scale in (0.25, 0.5, 1.0, -1.0)
    ]
    batch = [torch.stack(each) for each in zip(*neurons, strict=True)]
    results = torch.func.vmap(subject.function)(*batch)
    assert [tuple(each.shape) for each in results] == [(4,), (4, 5), (4, 5), (4,)]
    for index, neuron in enumerate(neurons):
        for single, batched in zip(subject.function(*neuron), results, strict=True):
            torch.testing.assert_close(batched[index], single)


@pytest.mark.parametrize("name", ["textbook", "autograd", "accurate", "fused"])
def test_batched_arguments_are_checked(name: str) -> None:
    """Within vmap a mismatch is still an error, named as that of the single neuron."""
    (subject,) = (each for each in NEURONS if each.name == name)
    batch = (torch.ones(4, 3), torch.ones(4, 2), torch.ones(4), torch.ones(4))
    with pytest.raises(ValueError, match="weights has length 2; expected 3"):
        torch.func.vmap(subject.function)(*batch)


@each_neuron
def test_mismatched_arguments_are_an_error(subject: Subject) -> None:
    """No built-in promotes a dtype or broadcasts a shape in silence."""
    inputs, weights, bias, upstream_gradient = arguments()
    neuron = neuron_of(subject)
    with pytest.raises(TypeError, match="bias has dtype float64; expected float32"):
        neuron(inputs, weights, bias.double(), upstream_gradient)
    with pytest.raises(ValueError, match="weights has length 1; expected 3"):
        neuron(inputs, weights[:1], bias, upstream_gradient)
    with pytest.raises(ValueError, match="upstream_gradient is on meta; expected cpu"):
        neuron(inputs, weights, bias, upstream_gradient.to("meta"))
