"""Cases drawn once and shared by the tests that look at them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from random import Random
from typing import TypeVar

from hypothesis import Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.strategies import Regime
from harness.strategies.neurons import neuron_case
from harness.strategies.outputs import tanh_gradient_case

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
def neuron_cases(dtype: str, regime: Regime, count: int = 300) -> list[Case]:
    """Neuron cases of one regime, from evenly distributed integers instead of hypothesis's."""
    below = Random(f"{dtype} {regime}").randrange
    return [neuron_case(below, dtype, regime) for _ in range(count)]


@cache
def output_cases(dtype: str, regime: Regime, count: int = 300) -> list[Case]:
    """Tanh-gradient cases of one regime, from evenly distributed integers."""
    below = Random(f"{dtype} {regime}").randrange
    return [tanh_gradient_case(below, dtype, regime) for _ in range(count)]


def products(case: Case) -> list[Fraction]:
    """The exact products of a finite case."""
    return [Fraction(x) * Fraction(w) for x, w in zip(case.inputs, case.weights, strict=True)]


def preactivation(case: Case) -> Fraction:
    """The exact preactivation of a finite case."""
    return sum(products(case), Fraction(case.bias))


def absolute_sum(case: Case) -> Fraction:
    """S = sum|x w| + |b| of a finite case."""
    return sum(map(abs, products(case)), abs(Fraction(case.bias)))
