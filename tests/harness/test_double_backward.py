"""Whether a subject can be differentiated twice, and what its backward passes give."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from harness.case import DTYPES, Case, Layout, format_of
from harness.direction import Direction
from harness.double_backward import Pass, differentiating, first_pass, second_pass, unsupported
from harness.subjects import Subject, load
from reference.dyadic import Dyadic
from tests.harness.second_order_subjects import FAULTY, SOUND, UNREPEATABLE, WITHOUT, activation

CASE = Case("float64", (0.5, 0.25), (0.5, -0.75), 0.25, 1.5)
DIRECTION = Direction((1.0, 2.0), (0.5, 0.25), 0.75)
EXPECTED = (
    [0.6554965391245603, 0.37930542096468195],
    [1.3367716539503214, 2.712211171452444],
    [-0.05155715140240183],
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["textbook", "autograd", "torch-tanh", "sigmoid", "exponential"])
def test_the_built_in_neurons_support_it(name: str, dtype: str) -> None:
    """Neurons made of torch functions, and activations."""
    assert unsupported(load(name), dtype) is None


@pytest.mark.parametrize("subject", [*SOUND.values(), *FAULTY.values()], ids=[*SOUND, *FAULTY])
def test_whatever_claims_a_second_derivative_supports_it(subject: Subject) -> None:
    """A wrong one among them, and a silent zero: that is for the grade to say."""
    assert unsupported(subject) is None


@pytest.mark.parametrize(("subject", "reason"), WITHOUT.values(), ids=WITHOUT)
def test_what_has_no_second_derivative_says_why(subject: Subject, reason: str) -> None:
    """In one line."""
    found = unsupported(subject)
    assert found is not None and reason in found and "\n" not in found


def test_what_raises_is_unsupported_with_its_message() -> None:
    """The exception's type and its text in one line."""

    def raises(x: torch.Tensor) -> torch.Tensor:
        raise ArithmeticError("no\n  luck")

    assert "differentiated twice, it raises ArithmeticError: no luck" == unsupported(
        activation(raises)
    )
    assert "it raises SystemExit: 3" in (
        unsupported(activation(lambda _: sys.exit(3), "exits")) or ""
    )


def test_an_interrupt_goes_through() -> None:
    """Ctrl-C is no property of the subject."""

    def interrupted(x: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unsupported(activation(interrupted))


@pytest.mark.parametrize("name", ["textbook", "autograd", "torch-tanh"])
@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_the_second_pass_gives_the_product(name: str, layout: Layout, mode: Any) -> None:
    """In every layout and grad mode; to 1e-12, the grades say the rest."""
    case, expected = CASE, EXPECTED
    if layout is Layout.EXPANDED:
        case = Case("float64", (0.5, 0.5), (-0.75, -0.75), 0.25, 1.5)
        expected = None
    with mode(), differentiating():
        found = second_pass(load(name), Case(*_fields(case), layout), DIRECTION, "cpu").run()
    if expected is None:
        with differentiating():
            plain = second_pass(load("textbook"), case, DIRECTION, "cpu").run()
        expected = tuple(each.reshape(-1).tolist() for each in plain)
    for values, wanted in zip(found, expected, strict=True):
        assert pytest.approx(wanted, rel=1e-12) == values.reshape(-1).tolist()
    assert [(2,), (2,), ()] == [tuple(values.shape) for values in found]


def _fields(case: Case) -> tuple[Any, ...]:
    return case.dtype, case.inputs, case.weights, case.bias, case.upstream_gradient


def test_no_terms_leave_the_bias() -> None:
    """n = 0: empty vectors, and -2 g y s r."""
    case, along = Case("float64", (), (), 0.5, 1.0), Direction((), (), 1.0)
    with differentiating():
        x, w, b = second_pass(load("textbook"), case, along, "cpu").run()
    y = torch.tanh(torch.tensor(0.5, dtype=torch.float64))
    assert ((0,), (0,)) == (tuple(x.shape), tuple(w.shape))
    assert pytest.approx((-2 * y * (1 - y * y)).item()) == b.item()


def test_an_activation_has_a_first_pass_and_a_neuron_none() -> None:
    """Autograd makes the gradient of the one; the other returns it."""
    with differentiating():
        assert first_pass(load("textbook"), CASE, "cpu") is None
        first = first_pass(load("torch-tanh"), CASE, "cpu")
        assert first is not None
        gradients = first.run()
        expected = second_pass(load("textbook"), CASE, DIRECTION, "cpu").outputs
    for one, other in zip(expected, gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("subject", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sound_passes_repeat(subject: Subject, dtype: str) -> None:
    """Both passes, NaN and overflow of the sum of two included."""
    largest = format_of(dtype).overflow_value
    huge = format_of(dtype).round(Dyadic(3 * largest.mantissa, largest.exponent - 2))
    cases = [
        Case(dtype, (0.5, 0.25), (0.5, -0.75), 0.25, 1.5),
        Case(dtype, (), (), 0.5, 1.0),
        Case(dtype, (1.0, 0.0), (1.0, 2.0), 0.0, huge),
        Case(dtype, (1.0, 0.0), (1.0, 2.0), 0.0, float("inf")),
        Case(dtype, (float("nan"), 1.0), (1.0, 1.0), 0.0, 1.0),
    ]
    for case in cases:
        n = len(case.inputs)
        along = Direction(DIRECTION.inputs[:n], DIRECTION.weights[:n], 0.75)
        with differentiating():
            first = first_pass(subject, case, "cpu")
            assert first is None or first.repeated() is None
            assert second_pass(subject, case, along, "cpu").repeated() is None


@pytest.mark.parametrize(("function", "message"), UNREPEATABLE.values(), ids=UNREPEATABLE)
def test_a_pass_that_differs_when_repeated_is_seen(function: Any, message: str) -> None:
    """In the first pass; what raises is left to the caller."""
    with differentiating():
        first = first_pass(activation(function), CASE, "cpu")
        assert first is not None
        if "raised" in message:
            with pytest.raises(RuntimeError):
                first.repeated()
        else:
            found = first.repeated()
            assert found is not None and message in found


def test_grad_must_hold_exactly_twice_the_gradient() -> None:
    """An accumulation that is off by an ulp is seen, though each run is right."""
    x = torch.tensor(0.3, requires_grad=True)
    leaves = (x, torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True))

    def nudge(leaf: torch.Tensor) -> None:
        assert leaf.grad is not None
        leaf.grad.copy_(torch.nextafter(leaf.grad, leaf.grad + 1))

    x.register_post_accumulate_grad_hook(nudge)
    found = Pass("gradient", (torch.tanh(x),), (torch.tensor(1.0),), leaves).repeated()
    assert "after two backward passes .grad of the inputs is not twice the gradient" == found


def test_a_modules_own_parameters_are_left_alone() -> None:
    """Repeating a pass accumulates into the case's tensors only."""

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x * self.scale)

    module = Scaled()
    with differentiating():
        subject = activation(module, "scaled")
        first = first_pass(subject, CASE, "cpu")
        assert first is not None and first.repeated() is None
        assert second_pass(subject, CASE, DIRECTION, "cpu").repeated() is None
    assert module.scale.grad is None


def test_the_grad_mode_is_restored() -> None:
    """Also after an exception."""
    with torch.no_grad():
        with pytest.raises(ZeroDivisionError), differentiating():
            assert torch.is_grad_enabled()
            raise ZeroDivisionError
        assert not torch.is_grad_enabled()
