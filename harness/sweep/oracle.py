"""The bulk oracle as a sweep asks it: judgements of a piece, and its scaled errors."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.subjects import Kind
from harness.sweep.plan import Plan
from reference import certified
from reference.certified.alike import Plain
from reference.certified.answers import Judgement
from reference.certified.sweep import SWEEP_BLOCK, ActivationSweep, TanhGradientSweep
from reference.formats import BINARY64

#: The most elements a piece may have.
LONGEST = SWEEP_BLOCK

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]


class Oracle(Protocol):
    """Judges pieces: 1-D arrays of one length, at most LONGEST, in the carrier of the format. For
    one thread; a judgement holds until the next."""

    def judge(
        self, x: Floats, g: Floats | None, results: tuple[Floats, ...]
    ) -> tuple[Judgement, ...]:
        """One judgement for each of the results, which are in the order of the plan."""
        ...

    def plain(self, start: int, stop: int) -> Plain | None:
        """What the results for magnitudes from `start` to `stop` - 1 all round to, if `judge` finds
        an error of 0 in results that are just that."""
        ...

    def scaled_errors(self, x: Floats, g: Floats | None, gradient: Floats) -> Float64:
        """|computed - exact| / (u |g|), shape (n,); NaN where either is not finite or g is 0.

        To within 2^-20 for formats up to binary32; in binary64 certified.
        """
        ...


def oracle(plan: Plan) -> Oracle:
    """The oracle of a plan's kind and format."""
    return _Gradient(plan) if plan.kind is Kind.TANH_GRADIENT else _Activation(plan)


class _Activation:
    def __init__(self, plan: Plan) -> None:
        self._format = plan.format
        self._neuron = plan.kind is Kind.NEURON
        self._sweep = ActivationSweep(plan.format, LONGEST)

    def judge(
        self, x: Floats, g: Floats | None, results: tuple[Floats, ...]
    ) -> tuple[Judgement, ...]:
        return tuple(self._sweep.judge(self._argument(x), *results))

    def plain(self, start: int, stop: int) -> Plain | None:
        return self._sweep.plain(start, stop - 1)

    def _argument(self, x: Floats) -> Floats:
        """The preactivations: in a neuron (-0 * 1) + 0 is +0. Magnitudes rise from the first."""
        return x + x.dtype.type(0) if self._neuron and x[0] == 0 else x

    def scaled_errors(self, x: Floats, g: Floats | None, gradient: Floats) -> Float64:
        with np.errstate(all="ignore"):
            if self._format == BINARY64:
                answers = certified.sech2(x, format=self._format)
                return answers.scaled_error(gradient, np.float64(1.0))
            # sech^2 = 4t / (1+t)^2, t = exp(-2|x|), to a relative 2^-42: less than 2^-18 u.
            t = np.exp(np.maximum(-2.0 * np.abs(x.astype(np.float64)), -700.0))
            return _scaled(gradient, 4.0 * t / np.square(1.0 + t), 1.0, self._format.precision)


class _Gradient:
    def __init__(self, plan: Plan) -> None:
        self._format = plan.format
        self._pairs = plan.pairs
        self._sweep = TanhGradientSweep(plan.format, LONGEST)

    def judge(
        self, x: Floats, g: Floats | None, results: tuple[Floats, ...]
    ) -> tuple[Judgement, ...]:
        return (self._sweep.judge(x, results[0], g),)

    def plain(self, start: int, stop: int) -> Plain | None:
        gradient = None if self._pairs else self._sweep.plain(start, stop - 1)
        return None if gradient is None else Plain(identity=False, gradient=gradient)

    def scaled_errors(self, x: Floats, g: Floats | None, gradient: Floats) -> Float64:
        with np.errstate(all="ignore"):
            if self._format == BINARY64:
                answers = certified.tanh_gradient(x, np.float64(1.0), format=self._format)
                return answers.scaled_error(gradient, np.float64(1.0))
            y = x.astype(np.float64)
            factor = 1.0 if g is None else g.astype(np.float64)
            exact = factor * ((1.0 - y) * (1.0 + y))
            return _scaled(gradient, exact, factor, self._format.precision)


def _scaled(computed: Floats, exact: Float64, g: float | Float64, precision: int) -> Float64:
    errors = computed.astype(np.float64)
    errors -= exact
    errors /= g
    np.abs(errors, out=errors)
    errors *= 2.0**precision
    # Infinities (a result that is not finite, or g = 0) have no size either.
    errors[~np.isfinite(errors)] = np.nan
    return errors
