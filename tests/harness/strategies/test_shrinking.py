"""What is left of a failing case after shrinking can be read and worked through by hand."""

import math
import warnings
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import HypothesisWarning
from hypothesis.strategies import SearchStrategy

from harness.case import DTYPES, Case, Layout
from harness.strategies import Regime, cases, regimes_for, tanh_gradient_cases

QUIET = settings(
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=2000,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
by_dtype = pytest.mark.parametrize("dtype", DTYPES)
#: The least length of a regime that has one.
LEAST = {Regime.LONG: 33, Regime.VERY_LONG: 1025}
FILLED = [regime for regime in regimes_for("neuron") if regime not in (Regime.EMPTY, *LEAST)]
#: Regimes whose edges, or whose means, are no short numbers.
NOT_SHORT = {Regime.THRESHOLD, Regime.LONG, Regime.VERY_LONG}


def smallest(
    strategy: SearchStrategy[Case], fails: Callable[[Case], bool] = lambda case: True
) -> Case:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Generating overly large repr", HypothesisWarning)
        return find(strategy, fails, settings=QUIET)


def significant_bits(value: float) -> int:
    """0 for zeros and non-finite values."""
    if not math.isfinite(value) or not value:
        return 0
    mantissa, _ = value.as_integer_ratio()
    return len(f"{abs(mantissa):b}".rstrip("0"))


def longest_significand(case: Case) -> int:
    return max(map(significant_bits, (*case.inputs, *case.weights, case.bias)))


@by_dtype
@pytest.mark.parametrize("regime", regimes_for("neuron"))
def test_the_simplest_neuron_case_of_a_regime(dtype: str, regime: Regime) -> None:
    """At most one term where the regime allows it, numbers of few bits, g = 1, contiguous."""
    case = smallest(cases(dtype, regime))
    assert LEAST.get(regime, 1) >= len(case.inputs)
    # 3 bits where no power of two lies in the regime: binary16's tail starts at 5.
    assert regime in NOT_SHORT or 3 >= longest_significand(case)
    assert 1.0 == case.upstream_gradient
    assert Layout.CONTIGUOUS == case.layout


@by_dtype
@pytest.mark.parametrize("regime", regimes_for("tanh-gradient"))
def test_the_simplest_stored_outputs_of_a_regime(dtype: str, regime: Regime) -> None:
    """At most one, g = 1, contiguous, and as short as the regime allows."""
    case = smallest(tanh_gradient_cases(dtype, regime))
    assert LEAST.get(regime, 1) >= len(case.inputs)
    # Just below 1 the shortest members are 1 - 2^-k.
    allowed = case.format.precision if regime is Regime.SATURATING else 1
    assert allowed >= longest_significand(case)
    assert 1.0 == case.upstream_gradient
    assert Layout.CONTIGUOUS == case.layout


@pytest.mark.parametrize("regime", FILLED)
def test_a_failure_of_two_terms_shrinks_to_two(regime: Regime) -> None:
    """Operands of one bit, a short bias, g = 1, contiguous."""
    case = smallest(cases("float32", regime), lambda case: len(case.inputs) >= 2)
    assert 2 == len(case.inputs)
    assert 1 >= max(map(significant_bits, case.inputs + case.weights))
    assert regime in NOT_SHORT or 5 >= significant_bits(case.bias)
    assert 1.0 == case.upstream_gradient
    assert Layout.CONTIGUOUS == case.layout


@pytest.mark.parametrize("layout", Layout)
def test_a_failure_of_one_layout_keeps_nothing_else(layout: Layout) -> None:
    """The layout stays, all other parts are the simplest."""
    case = smallest(
        cases("float32", Regime.CURVED), lambda case: case.layout is layout and bool(case.inputs)
    )
    assert 1 == len(case.inputs)
    assert 3 >= longest_significand(case)
    assert 1.0 == case.upstream_gradient


@pytest.mark.parametrize(
    ("fails", "expected"),
    [
        (lambda g: g < 0, -1.0),
        (lambda g: g not in (0, 1, -1), 2.0),
        (lambda g: g == 0, -0.0),
        (lambda g: math.isinf(g), math.inf),
    ],
    ids=["negative", "not a unit", "zero", "infinite"],
)
def test_a_failing_gradient_shrinks_to_the_simplest_that_fails(
    fails: Callable[[float], bool], expected: float
) -> None:
    """And the rest of the case with it."""
    case = smallest(cases("float32", Regime.CURVED), lambda case: fails(case.upstream_gradient))
    assert expected == case.upstream_gradient
    assert ((), 1.0) == (case.inputs, case.bias)


def test_a_failure_of_long_vectors_shrinks_to_the_length_it_needs() -> None:
    """To about the next power of two, 129 where 100 would do, and to equal elements."""
    case = smallest(cases("float32", Regime.LONG), lambda case: len(case.inputs) >= 100)
    assert 100 <= len(case.inputs) <= 129
    assert 1 == len(set(case.inputs)) == len(set(case.weights))


def test_a_failure_that_needs_a_full_significand_keeps_the_rest_short() -> None:
    """One input with its last bit set does not lengthen the others."""
    case = smallest(
        cases("float16", Regime.CURVED),
        lambda case: len(case.inputs) == 2 and case.format.ordinal(case.inputs[0]) & 1 == 1,
    )
    assert 1 == significant_bits(case.inputs[1])
    assert 1.0 == case.upstream_gradient
