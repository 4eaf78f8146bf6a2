"""Cases drawn once and shared by the tests that look at them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TypeVar

from hypothesis import Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.strategies import Regime, cases, tanh_gradient_cases

T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], count: int) -> list[T]:
    """`count` examples of `strategy` (fewer if it has fewer), the same in every run.

    Hypothesis's health checks stay on: a strategy that rejects most of its draws fails here.
    """
    examples: list[T] = []

    @seed(2026)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def collect(example: T) -> None:
        examples.append(example)

    collect()
    return examples


@cache
def neuron_cases(dtype: str, regime: Regime, count: int = 80) -> list[Case]:
    """Neuron cases of one regime."""
    return drawn(cases(dtype, regime), count)


@cache
def output_cases(dtype: str, regime: Regime, count: int = 80) -> list[Case]:
    """Tanh-gradient cases of one regime."""
    return drawn(tanh_gradient_cases(dtype, regime), count)


def products(case: Case) -> list[Fraction]:
    """The exact products of a finite case."""
    return [Fraction(x) * Fraction(w) for x, w in zip(case.inputs, case.weights, strict=True)]


def preactivation(case: Case) -> Fraction:
    """The exact preactivation of a finite case."""
    return sum(products(case), Fraction(case.bias))


def absolute_sum(case: Case) -> Fraction:
    """S = sum|x w| + |b| of a finite case."""
    return sum(map(abs, products(case)), abs(Fraction(case.bias)))
