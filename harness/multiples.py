"""Judging the multiples d * m of a gradient, many at a time.

A neuron has thousands of them, and nearly all are within their bounds for sure. Those are graded
here on float64 arrays; the others are left to exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.grade import Grade
from harness.judgement import Element, GradientLimits
from reference.bounds import GradientBound
from reference.certified.doubledouble import Float64
from reference.exact import Exact
from reference.formats import Format
from reference.multiples import Exponents, Scaled, errors, float_and_exponent, scaled
from reference.real import Real

#: A ratio of an error to its bound is off by less than a relative 2^-45.
_BELOW, _ABOVE = 1 - 2.0**-40, 1 + 2.0**-40


@np.errstate(over="ignore", invalid="ignore")  # inf / inf: what is computed may be infinite
def judge_multiples(
    d: Real,
    limits: GradientLimits,
    multipliers: Sequence[Exact],
    computed: Sequence[float],
    format: Format,
) -> list[Element | None]:
    """The element of each computed d * m that is certainly within its textbook bound; else None.

    `d` lies on a curve and `limits` are regular; without flush-to-zero.
    """
    textbook, stable = limits.textbook, limits.stable
    assert textbook is not None and stable is not None
    factors = scaled(multipliers)
    found = errors(d.first_enclosure.lower, factors, np.array(computed, np.float64), format)
    size = np.abs(found.ulps)
    bound = _bound_ulps(textbook, factors, found.ulp_exponents)
    bound_ratio = size / bound
    stable_ratio = size / _bound_ulps(stable, factors, found.ulp_exponents)
    # A bound of 2^emax or more may be vacuous. An infinity here is one.
    bounded = bound < np.ldexp(1.0, format.emax - found.ulp_exponents)
    clear = (stable_ratio < _BELOW) | (stable_ratio > _ABOVE)
    decided = found.decided & (found.faithful | (bounded & clear & (bound_ratio < _BELOW)))
    grades = np.select(
        [found.correct, found.faithful, stable_ratio < 1],
        [Grade.CORRECT.rank, Grade.FAITHFUL.rank, Grade.STABLE.rank],
        Grade.TEXTBOOK.rank,
    )
    return [
        Element(value, _GRADES[grade], ulps, ratio, False, d, limits, m) if certain else None
        for certain, value, grade, ulps, ratio, m in zip(
            decided.tolist(),
            computed,
            grades.tolist(),
            found.ulps.tolist(),
            bound_ratio.tolist(),
            multipliers,
            strict=True,
        )
    ]


_GRADES = tuple(Grade)


def _bound_ulps(bound: GradientBound, factors: Scaled, ulp_exponents: Exponents) -> Float64:
    """`bound.multiple` of each factor in ulps, within a relative 2^-50; never 0, since an ulp is at
    most twice eta or a share of u |d m|."""
    slope, slope_exponent = float_and_exponent(bound.slope)
    floor, floor_exponent = float_and_exponent(bound.absolute)
    proportional = np.abs(factors.significands) * slope
    shift = factors.exponents + np.int32(slope_exponent) - ulp_exponents
    ulps: Float64 = np.ldexp(proportional, shift) + np.ldexp(floor, floor_exponent - ulp_exponents)
    return ulps
