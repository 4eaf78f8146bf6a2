"""The figures that a hunt maximises, against those of the contract."""

import numpy as np
import pytest
import torch

from harness.grade import Grade
from harness.hunt import scores
from harness.hunt.judge import CaseJudge, point_case
from harness.hunt.plan import make_plan
from harness.hunt.scores import Objective
from harness.subjects import Kind, Subject, load
from reference import certified
from reference.formats import BINARY64


def _rough_gradient(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """dy * (1 - y*y), a little off."""
    return dy * (1 - y * y) * (1 + 40 * 2.0**-52)


def _judged(subject: Subject, x: float, quantity: str) -> tuple[float, float, float]:
    """|error| in ulps, over the bound, and scaled, from the mpmath oracle."""
    plan = make_plan(subject, dtype="float64")
    figures = CaseJudge(plan)(point_case(plan, x)).figures
    return tuple(  # type: ignore[return-value]
        figures[Objective(quantity, name)].value for name in ("ulps", "bound ratio", "scaled error")
    )


@pytest.mark.parametrize("x", [0.3, -0.9, 1.5, 4.0, -8.5, 17.0, 30.0])
def test_figures_of_an_activation_are_those_of_the_contract(x: float) -> None:
    """The approximate bound is within some percent of the exact one; scaled errors are closer."""
    subject = Subject("drawn", Kind.ACTIVATION, _with_rough_slope)
    ulps, ratio, scaled = _judged(subject, x, "bias_gradient")
    format = BINARY64
    array = np.array([x])
    output = certified.tanh(array, format=format).rounded().values
    slope = certified.sech2(array, format=format).rounded().values
    size = np.array([ulps])
    assert ratio == pytest.approx(
        scores.textbook_ratios(size, output, slope, 2.5, format)[0], rel=0.05
    )
    assert scaled == pytest.approx(scores.scaled_errors(size, slope, format)[0], rel=1e-9)


def _with_rough_slope(x: torch.Tensor) -> torch.Tensor:
    y = torch.tanh(x)
    # The value of tanh with a slope that is not faithful.
    return y + (y - y.detach()) * 1e-3


@pytest.mark.parametrize("y", [0.25, -0.5, 0.9375, 1 - 2.0**-20, 1 - 2.0**-50])
def test_figures_of_a_raw_gradient_are_those_of_the_contract(y: float) -> None:
    """The same for a stored output, whose bound knows no error of tanh."""
    subject = Subject("drawn", Kind.TANH_GRADIENT, _rough_gradient)
    ulps, ratio, scaled = _judged(subject, y, "gradient")
    slope = certified.tanh_gradient(np.array([y]), np.array([1.0]), format=BINARY64)
    rounded = slope.rounded().values
    size = np.array([ulps])
    assert ratio == pytest.approx(
        scores.textbook_ratios(size, np.array([y]), rounded, 0.0, BINARY64)[0], rel=0.05
    )
    assert scaled == pytest.approx(scores.scaled_errors(size, rounded, BINARY64)[0], rel=1e-9)


def test_a_value_just_below_one_has_the_smaller_ulp() -> None:
    """sech^2 of a tiny x rounds to 1 and lies below it: an ulp there is 2^-53."""
    assert [1.0] == scores.scaled_errors(np.array([1.0]), np.array([1.0]), BINARY64).tolist()


def test_subnormal_results_have_the_least_ulp() -> None:
    """Below the normal range an error in ulps is one in smallest subnormals."""
    found = scores.scaled_errors(np.array([3.0]), np.array([5e-324]), BINARY64)
    assert [3 * 2.0 ** (-1074 + 53)] == found.tolist()


def test_errors_without_a_size_have_no_score() -> None:
    """NaN is counted elsewhere; an unbounded error is as large as a float can be."""
    answers = certified.tanh(np.array([0.5, 0.5]), format=BINARY64)
    judgement = answers.judge(np.array([np.nan, np.inf]))
    assert [0.0, True] == [
        scores.sizes(judgement)[0],
        bool(1e300 < scores.sizes(judgement)[1] < np.inf),
    ]


def test_only_what_is_not_faithful_has_a_ratio() -> None:
    """A faithful subject has no figure over the bound, whatever the bound is."""
    plan = make_plan(load("aten-tanh-gradient"), dtype="float64")
    judged = CaseJudge(plan)(point_case(plan, 0.7071))
    assert Grade.FAITHFUL.rank >= (judged.grade or Grade.WRONG).rank
    assert 0.0 == judged.value(Objective("gradient", "bound ratio"))
