"""Grades of many multiples at a time against exact arithmetic, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, ldexp
from random import Random

import pytest

from harness.contract import judge_neuron
from harness.grade import Grade
from harness.judgement import Element, Judgement
from harness.multiples import judge_multiples
from reference.bounds import default_arithmetic, neuron_bounds
from reference.dyadic import from_float
from reference.formats import FORMATS, Format
from reference.neuron import ExactNeuron, neuron
from tests.rationals import fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def drawn_neuron(random: Random, format: Format) -> ExactNeuron:
    """A neuron of 1 to 40 terms, from linear to vanished, with the odd zero or infinity."""
    n = random.choice([1, 2, 7, 40])
    scale = random.choice([-4, 0, 2, 6, format.emax // 2])

    def member() -> float:
        if random.random() < 0.05:
            return random.choice([0.0, -0.0, ldexp(1, format.least_ulp_exponent), inf])
        return format.round(from_float(ldexp(random.uniform(-1, 1), scale)))

    weights = [member() for _ in range(n)]
    inputs = [format.round(from_float(random.uniform(-1, 1) / n)) for _ in range(n)]
    g = random.choice([1.0, -1.0, member(), ldexp(1, format.emin + 3)])
    return neuron(inputs, weights, member() if random.random() < 0.5 else 0.0, g, format=format)


def spoiled(random: Random, exact_neuron: ExactNeuron, name: str) -> list[float]:
    """Results of every worth: correct, some ulps off, about a bound off, or nonsense."""
    format = exact_neuron.format
    bounds = neuron_bounds(exact_neuron, default_arithmetic(format))
    multipliers = exact_neuron.weights if name == "input_gradient" else exact_neuron.inputs
    results = []
    for real, m in zip(getattr(exact_neuron, name), multipliers, strict=True):
        rounded = real.rounded(format)
        kind = random.random()
        if kind < 0.3 or abs(rounded) == inf or rounded != rounded:
            results.append(rounded)
        elif kind < 0.5:
            largest = (1 << format.width - 1) - (1 << format.precision - 1)
            step = format.ordinal(rounded) + random.randint(-4, 4)
            results.append(format.from_ordinal(max(-largest, min(largest, step))))
        elif kind < 0.95 and bounds is not None and not isinstance(m, float):
            gradient = random.choice([bounds.stable, bounds.textbook])
            share = random.choice([0.5, 0.999, 1.001, 2.0]) * random.choice([-1, 1])
            value = fraction(rounded) + fraction(gradient.multiple(m)) * fraction(share)
            limit = fraction(format.largest_finite)
            value = max(-limit, min(limit, value))
            results.append(format.round(from_float(float(value))))
        else:
            results.append(random.choice([0.0, -rounded, inf, float("nan")]))
    return results


def facts(element: Element) -> tuple[object, ...]:
    """What the verifier uses of an element."""
    bound = element.bound
    return (
        element.grade,
        element.hazard,
        str(element.exact.special),
        bound.textbook and fraction(bound.textbook),
        bound.stable and fraction(bound.stable),
    )


def same(mine: float | None, exactly: float | None) -> bool:
    """Whether two figures agree to 2^-40, or neither is there."""
    if mine is None or exactly is None:
        return mine is exactly
    return mine == pytest.approx(exactly, rel=2**-40, abs=2**-40)


@each_format
@pytest.mark.parametrize("seed", range(3))
def test_the_grades_are_those_of_exact_arithmetic(
    format: Format, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every rung of the ladder, and without exact arithmetic for a good part of them."""
    random = Random(f"{format.name} {seed}")
    decided = [0, 0]
    grades = set()

    def nothing(_d: object, _l: object, multipliers: Sequence[object], *_: object) -> list[None]:
        return [None] * len(multipliers)

    for _ in range(60):
        exact_neuron = drawn_neuron(random, format)
        computed: dict[str, Sequence[float]] = {
            "output": [0.0],
            "input_gradient": spoiled(random, exact_neuron, "input_gradient"),
            "weight_gradient": spoiled(random, exact_neuron, "weight_gradient"),
            "bias_gradient": [0.0],
        }
        arithmetic = default_arithmetic(format)
        here: Judgement = judge_neuron(exact_neuron, computed, arithmetic)
        monkeypatch.setattr("harness.contract.judge_multiples", nothing)
        there: Judgement = judge_neuron(exact_neuron, computed, arithmetic)
        monkeypatch.setattr("harness.contract.judge_multiples", judge_multiples)
        for name in ("input_gradient", "weight_gradient"):
            for mine, exactly in zip(here.quantities[name], there.quantities[name], strict=True):
                assert facts(mine) == facts(exactly)
                assert same(mine.ulps, exactly.ulps)
                assert same(mine.bound_ratio, exactly.bound_ratio)
                grades.add(mine.grade)
                decided[mine.multiplier is not None] += 1
    assert {Grade.CORRECT, Grade.FAITHFUL, Grade.STABLE, Grade.TEXTBOOK, Grade.WRONG} <= grades
    assert decided[True] > 0.5 * decided[False]


@each_format
def test_a_bound_beyond_the_largest_number_judges_nothing(format: Format) -> None:
    """Any error is within it, and no grade is earned by that."""
    # The bound of sech^2 is about u where sech^2 itself is far below, and g w lifts it to the top.
    a = {16: 12.0, 32: 40.0, 64: 80.0}[format.width if format.precision != 8 else 32]
    large = ldexp(1, format.emax - 1)
    g = ldexp(1, format.precision + 4)
    exact_neuron = neuron([0.0], [large], a, g, format=format)
    bounds = neuron_bounds(exact_neuron, default_arithmetic(format))
    assert bounds is not None
    bound = bounds.textbook.multiple(from_float(large))
    assert fraction(bound) > fraction(format.largest_finite)
    right = exact_neuron.rounded()
    wrong = large / 4
    computed = {
        "output": [right.output],
        "input_gradient": [wrong],
        "weight_gradient": right.weight_gradient,
        "bias_gradient": [right.bias_gradient],
    }
    judged = judge_neuron(exact_neuron, computed, default_arithmetic(format))
    assert judged.quantities["input_gradient"][0].grade is None
