"""The values printed in three public documents on tanh neurons, and what to make of them.

- A question on TensorFlow's TanhGrad: is it dy * (1 - y*y) or dy / (1 - y*y)?
- The specification of a tanh neuron, with three worked examples.
- An article that writes tanh as an autograd Function of exponentials and as 2 sigmoid(2x) - 1, and
  compares both with torch.tanh on (r + 1)^2, r = torch.randn(5) after torch.manual_seed(0).
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import pytest
import torch

import reference
from harness.subjects import load, neuron_of
from harness.subjects.aten_tanh_gradient import aten_tanh_gradient
from harness.subjects.exponential import ExponentialTanh, ExponentialTanhModule
from harness.subjects.sigmoid import sigmoid_tanh

Activation = Callable[[torch.Tensor], torch.Tensor]


class TestTanhGrad:
    """The raw gradient multiplies by the slope."""

    @pytest.mark.parametrize("x", [0.25, 1.0, 3.0])
    def test_multiplies_by_the_derivative(self, x: float) -> None:
        """dy * (1 - y*y) is dy * dtanh/dx as mpmath differentiates it; dividing is far off."""
        y, dy = torch.tanh(torch.tensor(x, dtype=torch.float64)), torch.tensor(2.0).double()
        expected = 2.0 * float(mpmath.diff(mpmath.tanh, x))
        assert aten_tanh_gradient(y, dy).item() == pytest.approx(expected, rel=1e-12)
        assert (dy / (1 - y * y)).item() != pytest.approx(expected, rel=0.1)


WORKED_EXAMPLES = {
    "a zero input": (
        ([2.0, 0.0], [-3.0, 1.0], 6.881373587, 1.0),
        ("0.707107", ["-1.50000", "0.50000"], ["1.00000", "0.00000"], "0.50000"),
    ),
    "three inputs": (
        ([-1.0, 2.0, 0.5], [0.25, -0.75, 1.5], -0.2, -2.0),
        (
            "-0.833655",
            ["-0.15251", "0.45753", "-0.91506"],
            ["0.61004", "-1.22008", "-0.30502"],
            "-0.61004",
        ),
    ),
    "no inputs": (([], [], 0.0, 3.0), ("0.000000", [], [], "3.00000")),
}
each_example = pytest.mark.parametrize(
    ("example", "printed"), WORKED_EXAMPLES.values(), ids=WORKED_EXAMPLES.keys()
)
Example = tuple[list[float], list[float], float, float]
Printed = tuple[str, list[str], list[str], str]


def printed_digits(
    output: float, input_gradient: list[float], weight_gradient: list[float], bias_gradient: float
) -> Printed:
    """The results with the digits that the document prints: 6 decimals of y, 5 of a gradient."""
    return (
        f"{output:.6f}",
        [f"{each:.5f}" for each in input_gradient],
        [f"{each:.5f}" for each in weight_gradient],
        f"{bias_gradient:.5f}",
    )


class TestWorkedExamples:
    """The specification's three examples, to the printed digits."""

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
    @pytest.mark.parametrize(
        "name", ["textbook", "autograd", "exponential", "sigmoid", "torch-tanh"]
    )
    @each_example
    def test_subjects(
        self, name: str, dtype: torch.dtype, example: Example, printed: Printed
    ) -> None:
        """Every built-in neuron, and every activation once lifted, gives the printed results."""
        arguments = (torch.tensor(each, dtype=dtype) for each in example)
        results = (each.tolist() for each in neuron_of(load(name))(*arguments))
        assert printed == printed_digits(*results)

    @each_example
    def test_oracle(self, example: Example, printed: Printed) -> None:
        """So does the exact neuron."""
        exact = reference.neuron(*example, format=reference.BINARY64).rounded()
        assert printed == printed_digits(
            exact.output, exact.input_gradient, exact.weight_gradient, exact.bias_gradient
        )

    def test_a_zero_input_has_exactly_no_weight_gradient(self) -> None:
        """The first example's 0.0 is 0 and not merely small."""
        arguments = (torch.tensor(each) for each in WORKED_EXAMPLES["a zero input"][0])
        _, _, weight_gradient, _ = load("textbook").function(*arguments)
        assert weight_gradient[1].item() == 0.0


OUTPUTS = ["1.0000", "0.4615", "0.8831", "0.9855", "0.0071"]
FIRST_CALL = ["1.1121e+00", "-5.1911e-01", "9.0267e-02", "-1.6904e-01"]
SECOND_CALL = ["2.2243e+00", "-1.0382e+00", "1.8053e-01", "-3.3807e-01"]
# The activation, and its gradient at the largest input after the first and second call.
FORMS: dict[str, tuple[Activation, str, str]] = {
    "exponential Function": (ExponentialTanh.apply, "5.0889e-05", "1.0178e-04"),
    "exponential nn.Module": (ExponentialTanhModule(), "5.0889e-05", "1.0178e-04"),
    "sigmoid": (sigmoid_tanh, "5.0889e-05", "1.0178e-04"),
    "torch.tanh": (torch.tanh, "5.0283e-05", "1.0057e-04"),
}


def normal_draws() -> torch.Tensor:
    """r = torch.randn(5) after torch.manual_seed(0), without touching the global generator."""
    return torch.randn(5, generator=torch.Generator().manual_seed(0))


def gradient_digits(gradient: torch.Tensor | None) -> list[str]:
    """A gradient with the five digits that torch prints."""
    assert gradient is not None
    return [f"{each:.4e}" for each in gradient.tolist()]


@pytest.mark.parametrize(("tanh", "first", "second"), FORMS.values(), ids=FORMS.keys())
class TestBackwardCalls:
    """The article's printed outputs and gradients of tanh((r + 1)^2)."""

    def test_outputs(self, tanh: Activation, first: str, second: str) -> None:
        """The three forms of tanh agree in the four decimals printed."""
        assert [f"{each:.4f}" for each in tanh((normal_draws() + 1).pow(2)).tolist()] == OUTPUTS

    def test_gradients_accumulate(self, tanh: Activation, first: str, second: str) -> None:
        """A second backward call doubles `.grad`; zeroing it first restores the first call's."""
        r = normal_draws().requires_grad_()
        output = tanh((r + 1).pow(2))
        output.backward(torch.ones(5), retain_graph=True)
        assert [first, *FIRST_CALL] == gradient_digits(r.grad)
        output.backward(torch.ones(5), retain_graph=True)
        assert [second, *SECOND_CALL] == gradient_digits(r.grad)
        assert r.grad is not None
        r.grad.zero_()
        output.backward(torch.ones(5), retain_graph=True)
        assert [first, *FIRST_CALL] == gradient_digits(r.grad)


class TestTheLargestInput:
    """Does torch "subtract a small value" where the input is large, as the article supposes?

    No. At x = 6.4566612, 1 - tanh(x) is 82.71 steps of 2^-24, the spacing of the binary32 numbers
    below 1. torch.tanh returns 1 - 83 steps, the nearest; the other two forms return 1 - 84 steps.
    All three then compute 1 - y^2, which is 2 (1 - y) to six digits, so a gradient is as large as
    the number of steps: torch's is 83/82.71 = 1.0035 of the exact 5.0108e-05 (printed 5.0283e-05),
    the others' 84/82.71 = 1.0156 of it (printed 5.0889e-05). The smaller gradient comes from the
    *larger*, more accurate output, and is the nearer; no form has more than two digits right.
    """

    STEP = 2.0**-24

    def largest(self) -> tuple[float, float]:
        """r and the binary32 number (r + 1)^2 at the largest of the five inputs."""
        r = normal_draws()
        x = (r + 1).pow(2)
        index = int(x.argmax())
        return r[index].item(), x[index].item()

    def exact_gradient(self, r: float) -> mpmath.mpf:
        """d tanh((r + 1)^2) / dr = 2 (r + 1) sech^2((r + 1)^2), to 50 digits."""
        mpmath.mp.dps = 50
        return 2 * (mpmath.mpf(r) + 1) * mpmath.sech((mpmath.mpf(r) + 1) ** 2) ** 2

    def test_exact_gradient(self) -> None:
        """The exact gradient is 5.0108e-05: below both printed ones, and nearer to torch's."""
        r, _ = self.largest()
        exact = self.exact_gradient(r)
        assert f"{float(exact):.4e}" == "5.0108e-05"
        assert exact < 5.0283e-05 < 5.0889e-05
        ratios = [f"{float(printed / exact):.4f}" for printed in (5.0283e-05, 5.0889e-05)]
        assert ratios == ["1.0035", "1.0156"]

    def test_rounding_the_input_is_not_the_cause(self) -> None:
        """(r + 1)^2 rounded to binary32 moves the gradient in its seventh digit only."""
        r, x = self.largest()
        rounded = 2 * (mpmath.mpf(r) + 1) * mpmath.sech(x) ** 2
        assert abs(rounded / self.exact_gradient(r) - 1) < 1e-6

    @pytest.mark.parametrize(
        ("tanh", "steps"),
        [
            (torch.tanh, 83),
            (sigmoid_tanh, 84),
            (ExponentialTanh.apply, 84),
        ],
        ids=["torch.tanh", "sigmoid", "exponential"],
    )
    def test_the_stored_output_decides(self, tanh: Activation, steps: int) -> None:
        """Each printed gradient is 2 (r + 1) (1 - y^2) of that form's own rounded output y."""
        r, _ = self.largest()
        y = tanh((normal_draws() + 1).pow(2)).max().item()
        assert 1 - steps * self.STEP == y
        explained = 2 * (mpmath.mpf(r) + 1) * (1 - mpmath.mpf(y) ** 2)
        printed = {83: "5.0283e-05", 84: "5.0889e-05"}[steps]
        assert printed == f"{float(explained):.4e}"

    def test_torch_returns_the_nearest_output(self) -> None:
        """1 - tanh is 82.71 steps, so that 83 is the nearest number of them; the oracle agrees."""
        _, x = self.largest()
        mpmath.mp.dps = 50
        assert f"{float((1 - mpmath.tanh(x)) / self.STEP):.2f}" == "82.71"
        exact = reference.neuron([], [], x, 1.0, format=reference.BINARY32).rounded()
        assert exact.output == 1 - 83 * self.STEP
        assert exact.output == torch.tanh(torch.tensor(x)).item()
