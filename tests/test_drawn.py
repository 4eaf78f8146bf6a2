"""The helpers that draw cases for tests."""

from fractions import Fraction

import pytest
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck

from harness.case import Case
from harness.flush import flushing
from tests.drawn import absolute_sum, drawn, preactivation
from tests.flushed import in_flushing_thread


def test_the_same_examples_are_drawn_every_time() -> None:
    """Two calls agree, and give as many as asked for."""
    first, second = (drawn(st.integers(0, 10**9), 30) for _ in range(2))
    assert first == second
    assert len(first) == 30


def test_a_strategy_that_rejects_most_draws_is_noticed() -> None:
    """The health checks are on."""
    with pytest.raises(FailedHealthCheck):
        drawn(st.integers(0, 10**9).filter(lambda number: number % 1000 == 0), 30)


def test_sums_are_exact() -> None:
    """2^60 + 2^-60 - 2^60 keeps its small term, which floats would lose."""
    case = Case("float64", (2.0**60, 2.0**-60), (1.0, 1.0), -(2.0**60), 1.0)
    assert Fraction(1, 2**60) == preactivation(case)
    assert Fraction(2**61) + Fraction(1, 2**60) == absolute_sum(case)


def test_the_thread_flushes_and_the_caller_does_not() -> None:
    """The setting stays inside the thread."""
    assert in_flushing_thread(flushing)
    assert not flushing()
