"""Where errors come from, in words: the stages, the table, and advice a person can act on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.case import Case
from harness.explain import explain_case
from harness.hexfloat import hex_text
from harness.stages import textbook_stages
from harness.subjects import Kind, Subject

SATURATING = Case("float32", (3.0,), (2.25,), float.fromhex("0x1.99999ap-3"), 1.0)


def told(subject: Any, case: Case, **options: Any) -> tuple[str, str]:
    """What is said of the stages and the errors: the stages, and the rest."""
    _, stages, rest = explain_case(subject, case, **options).split("\n\n", 2)
    return stages, rest


def table(rest: str) -> dict[str, list[str]]:
    """The rows of the first table of parts."""
    found = {}
    for line in rest.split("\n\n")[0].splitlines()[2:]:
        cells = [cell for cell in line.split("  ") if cell]
        found[cells[0].strip()] = [cell.strip() for cell in cells[1:]]
    return found


def test_the_stages_of_the_textbook() -> None:
    """All of them, in hexadecimal."""
    stages, _ = told("textbook", SATURATING)
    values = [line.split()[-1] for line in stages.splitlines()]
    assert list(map(hex_text, textbook_stages(SATURATING, "cpu"))) == values


def test_the_columns_are_the_gradients_and_add_up() -> None:
    """d, and the worst element of either vector; the last row is the sum, as the first table has
    it."""
    text = explain_case("textbook", SATURATING)
    _, rest = told("textbook", SATURATING)
    assert ["bias_gradient", "input_gradient[0]", "weight_gradient[0]"] == rest.split("\n")[
        1
    ].split()
    together = table(rest)["together"]
    for name, figure in zip(rest.split("\n")[1].split(), together, strict=True):
        (row,) = (line for line in text.splitlines() if line.startswith(name))
        assert figure == row.split()[4]


@pytest.mark.parametrize(
    ("dtype", "a", "bits"),
    [("float32", 7.75, "20 of 24"), ("float64", 12.0, "33 of 53"), ("float16", 4.0, "10 of 11")],
)
def test_bits_that_1_minus_y_squared_has_lost(dtype: str, a: float, bits: str) -> None:
    """-log2 of 1 - y^2, and the formula that keeps them."""
    _, rest = told("textbook", Case(dtype, (), (), a, 1.0))
    assert f"1 - y*y of it has lost {bits} bits here; compute 4t/(1+t)^2" in rest


def test_beside_what_cannot_be_looked_into_stands_the_textbook() -> None:
    """Its own parts, where one step hides another; a subject that is seen through needs it not."""
    _, hidden = told("torch-tanh", SATURATING)
    assert "1 - y*y and the roundings after it" in table(hidden)
    assert "the same of the textbook formula at this case" in hidden
    _, seen = told("textbook", SATURATING)
    assert "the same of the textbook" not in seen


def test_a_sum_that_cancels() -> None:
    """The condition of the sum, and what to do."""
    inputs, weights = (tuple(map(_single, each)) for each in ((1.1, -1.1), (3.3, 3.29)))
    case = Case("float32", inputs, weights, 0.5, 1.0)

    def narrow(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> Any:
        a = (x.bfloat16() * w.bfloat16()).sum().float() + b
        y = torch.tanh(a)
        d = g * (1 - y * y)
        return y, d * w, d * x, d

    _, rest = told(narrow, case)
    assert "The terms of the sum cancel: together they are" in rest
    assert "accumulate in a wider format, or compensate the sum." in rest


def test_a_faithful_gradient_has_no_step_to_blame() -> None:
    """Small errors are named as such."""
    _, rest = told("textbook", Case("float64", (0.5,), (0.5,), 0.125, 1.0))
    assert rest.endswith("No step is to blame: the error is less than an ulp.")


def spoilt(change: Callable[[torch.Tensor], torch.Tensor], where: str) -> Callable[..., Any]:
    """The textbook's neuron with a stage changed."""

    def neuron(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> Any:
        y = torch.tanh((x * w).sum() + b)
        y = change(y) if where == "tanh" else y
        d = g * (1 - y * y)
        d = change(d) if where == "d" else d
        return y, d * w, d * x, d

    return neuron


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        pytest.param(
            spoilt(lambda y: y * (1 - 2**-12), "tanh"), "tanh is off by", id="a tanh that is off"
        ),
        pytest.param(
            spoilt(lambda d: d.bfloat16().float(), "d"),
            "The roundings of the products are to blame",
            id="a product rounded to another format",
        ),
        pytest.param(
            spoilt(lambda d: d * 1.25, "d"),
            "It is not 1 - y*y of the output, and its own formula is off by",
            id="another formula",
        ),
    ],
)
def test_advice(subject: Callable[..., Any], words: str) -> None:
    """What is planted is what is named."""
    assert words in told(subject, Case("float32", (0.75,), (0.703125,), 0.296875, 1.296875))[1]


def test_below_the_normal_range() -> None:
    """A gradient that underflows is told to be multiplied in a wider format."""
    _, rest = told("textbook", Case("float16", (3000.0,), (2.0**-24,), 0.5, 2.0**-22))
    assert "below the normal range" in rest


def test_what_is_not_finite_has_no_parts() -> None:
    """The first stage that is not is named."""
    _, rest = explain_case("textbook", Case("float16", (256.0,), (256.0,), 0.0, 1.0)).rsplit(
        "\n", 1
    )
    assert "The preactivation is inf: there is no error to split; look before it." == rest


def test_a_raw_gradient() -> None:
    """Its stored output, and its own advice: it has no preactivation to start from."""

    def raw(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
        return dy * (1 - y * y)

    case = Case("float32", (float.fromhex("0x1.fffff0p-1"), 0.25), (), 0.0, 1.1875)
    subject = Subject("raw", Kind.TANH_GRADIENT, raw)
    stages, rest = told(subject, case)
    assert ["stored", "slope", "gradient"] == [line.split()[0] for line in stages.splitlines()]
    assert rest.endswith("1 - y*y has lost 20 of 24 bits here; form (1-y)*(1+y).")
    assert "gradient[0]" in rest


def _single(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float32).item())
