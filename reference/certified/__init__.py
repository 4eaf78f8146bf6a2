"""The oracle for arrays: correctly rounded results and errors in ulps, proved or escalated.

    tanh(x, format=F)                             -> Answers
    sech2(x, format=F)                            -> Answers
    tanh_gradient(y, dy, format=F)                -> Answers      dy * (1 - y^2) of the stored y
    neurons(inputs, weights, bias, g, format=F)   -> Neurons      (B, n), (B, n), (B,), (B,)

    answers.rounded()                  -> Rounded(values, escalated)
    answers.judge(computed)            -> Judgement(rounded, ulps, misrounded, unfaithful, ...)
    answers.scaled_error(computed, g)  -> |computed - exact| / (u |g|)

    rounded_tanh_sech2(x, format=F)    -> TanhSech2(tanh, sech2, escalated)       the quickest
    ActivationSweep(F).judge(x, y, d)  -> ActivationJudgement(output, gradient)   block by block
    TanhGradientSweep(F).judge(y, d)   -> Judgement

Values travel in a format's *carrier*: float16, float32 and float64 for binary16, binary32 and
binary64; float32 for bfloat16, which numpy lacks, holding members of bfloat16.

Every answer comes from an enclosure of the exact value: double-double with a proven bound, about
2^-68 (`curves`, `gradient`, `preactivation`). In sweeps most elements
are settled before that, by binary64 with a stated bound (`binary32`) or by plain pairs
(`pairs`). Where an enclosure does not decide, the element is *escalated* to exact
integers and mpmath (`real`), and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from reference.certified import curves
from reference.certified import gradient as raw
from reference.certified.answers import BLOCK, ActivationJudgement, Answers, Judgement, Rounded
from reference.certified.carriers import (
    Carried,
    bit_patterns,
    carried,
    carrier,
    members,
    require_ieee,
    widened,
)
from reference.certified.enclosures import (
    Enclosures,
    concatenate,
    enclose,
    sign_or_special,
    significand,
    times,
)
from reference.certified.preactivation import Preactivations, preactivations
from reference.certified.rounding import TanhSech2, rounded_tanh_sech2
from reference.certified.sweep import ActivationSweep, TanhGradientSweep
from reference.exact import exact
from reference.formats import Format
from reference.neuron import ExactNeuron
from reference.neuron import neuron as exact_neuron
from reference.neuron import sech2 as exact_sech2
from reference.neuron import tanh as exact_tanh
from reference.neuron import tanh_gradient as exact_tanh_gradient
from reference.real import Real

__all__ = [
    "ActivationJudgement",
    "ActivationSweep",
    "Answers",
    "Judgement",
    "Neurons",
    "Rounded",
    "TanhGradientSweep",
    "TanhSech2",
    "bit_patterns",
    "carrier",
    "members",
    "neurons",
    "rounded_tanh_sech2",
    "sech2",
    "tanh",
    "tanh_gradient",
]


#: The least distance from `head` that enclosures of preactivations resolve.
_FINEST = 2.0**-1000


def tanh(x: npt.ArrayLike, *, format: Format) -> Answers:
    """tanh of every element of an array in the carrier of `format`.

    tanh(+-0) = +-0, tanh(+-inf) = +-1. Raises TypeError or ValueError for values of another format,
    RuntimeError in a thread that flushes subnormals or does not round to nearest.
    """
    array, flat = _arguments(x, format, "x")
    return Answers(
        format,
        array.shape,
        lambda start, stop: curves.tanh_sech2(widened(flat[start:stop])).tanh,
        lambda i: exact_tanh(exact(float(flat[i]))),
    )


def sech2(x: npt.ArrayLike, *, format: Format) -> Answers:
    """sech^2, the derivative of tanh, of every element; raises as `tanh` does.

    sech^2(+-inf) = 0.
    """
    array, flat = _arguments(x, format, "x")
    return Answers(
        format,
        array.shape,
        lambda start, stop: curves.tanh_sech2(widened(flat[start:stop])).sech2,
        lambda i: exact_sech2(exact(float(flat[i]))),
    )


def tanh_gradient(y: npt.ArrayLike, upstream_gradient: npt.ArrayLike, *, format: Format) -> Answers:
    """dy * (1 - y^2) of stored outputs y and upstream gradients dy, which broadcast.

    Non-finite values follow IEEE 754 on the exact values: the factor is -inf for y = +-inf and +0
    for y = +-1. Raises as `tanh` does.
    """
    outputs, gradients = np.broadcast_arrays(
        carried(y, format, "y"), carried(upstream_gradient, format, "upstream_gradient")
    )
    require_ieee()
    shape = outputs.shape
    flat_y, flat_dy = outputs.reshape(-1), gradients.reshape(-1)
    return Answers(
        format,
        shape,
        lambda start, stop: raw.tanh_gradient(
            widened(flat_y[start:stop]), widened(flat_dy[start:stop])
        ),
        lambda i: exact_tanh_gradient(float(flat_y[i]), float(flat_dy[i])),
    )


@dataclass(frozen=True, slots=True)
class Neurons:
    """The exact values of B neurons with n inputs: (B,) each, the last two (B, n)."""

    preactivation: Answers
    output: Answers
    bias_gradient: Answers
    input_gradient: Answers
    weight_gradient: Answers


def neurons(
    inputs: npt.ArrayLike,
    weights: npt.ArrayLike,
    bias: npt.ArrayLike,
    upstream_gradient: npt.ArrayLike,
    *,
    format: Format,
) -> Neurons:
    """B neurons: inputs and weights of shape (B, n), bias and upstream gradient of shape (B,).

    n = 0 is legal. Raises ValueError for other shapes, and as `tanh` does.
    """
    require_ieee()
    x = carried(inputs, format, "inputs")
    w = carried(weights, format, "weights")
    b = carried(bias, format, "bias")
    g = carried(upstream_gradient, format, "upstream_gradient")
    if x.ndim != 2 or w.shape != x.shape or not b.shape == g.shape == x.shape[:1]:
        raise ValueError(
            f"inputs {x.shape}, weights {w.shape}, bias {b.shape} and upstream_gradient {g.shape} "
            "are not a batch of neurons; expected (B, n), (B, n), (B,) and (B,)"
        )
    batch, width = x.shape
    with np.errstate(all="ignore"):
        sums, outputs, slopes = _activations(x, w, b, format)
        gradients = times(slopes, widened(g))
    flat_x, flat_w = x.reshape(-1), w.reshape(-1)

    # A neuron of n inputs has n elements in each gradient, which may all be escalated in turn.
    @lru_cache(maxsize=64)
    def neuron(row: int) -> ExactNeuron:
        return exact_neuron(
            x[row].tolist(), w[row].tolist(), float(b[row]), float(g[row]), format=format
        )

    def per_neuron(values: Enclosures, real: Callable[[ExactNeuron], Real]) -> Answers:
        return Answers(
            format,
            (batch,),
            lambda start, stop: values.take(slice(start, stop)),
            lambda i: real(neuron(i)),
        )

    def per_input(factors: Carried) -> Answers:
        return Answers(
            format,
            (batch, width),
            lambda start, stop: times(
                gradients.take(np.arange(start, stop) // width), widened(factors[start:stop])
            ),
            lambda i: neuron(i // width).bias_gradient.times(exact(float(factors[i]))),
        )

    return Neurons(
        preactivation=per_neuron(sums, lambda row: Real(row.preactivation)),
        output=per_neuron(outputs, lambda row: row.output),
        bias_gradient=per_neuron(gradients, lambda row: row.bias_gradient),
        input_gradient=per_input(flat_w),
        weight_gradient=per_input(flat_x),
    )


def _activations(
    x: Carried, w: Carried, b: Carried, format: Format
) -> tuple[Enclosures, Enclosures, Enclosures]:
    """Enclosures of a, tanh(a) and sech^2(a), computed in blocks of about `BLOCK` products."""
    batch, width = x.shape
    rows = max(1, BLOCK // (width + 1))
    parts = []
    for start in range(0, batch, rows):
        block = slice(start, start + rows)
        sums = preactivations(
            x[block].astype(np.float64), w[block].astype(np.float64), widened(b[block]), format
        )
        if sums.unknown.any():
            sums = sums._replace(
                high=np.where(sums.unknown, 1.0, sums.high),
                low=np.where(sums.unknown, 0.0, sums.low),
                uncertainty=np.where(sums.unknown, np.inf, sums.uncertainty),
            )
        tanh, sech2 = curves.tanh_sech2(*sums[:3])
        parts.append((_sums(sums), tanh, sech2))
    if not parts:
        none = np.empty(0)
        nothing = Enclosures(none, none, none, np.empty(0, np.int64), none)
        return nothing, nothing, nothing
    first, second, third = (concatenate(pieces) for pieces in zip(*parts, strict=True))
    return first, second, third


def _sums(sums: Preactivations) -> Enclosures:
    """The preactivations themselves as enclosures."""
    kind = sign_or_special(sums.high)
    ordinary = np.abs(kind) == 1.0
    m, exponent = significand(np.where(ordinary, sums.high, 1.0))
    shift = -exponent.astype(np.intc)
    low = np.where(ordinary, np.ldexp(sums.low, shift), 0.0)
    radius = np.where(ordinary, np.ldexp(sums.uncertainty, shift), 0.0)
    # What would underflow in these units becomes an open interval on its side of `high`.
    lost = ordinary & (np.abs(low) < _FINEST) & (sums.low != 0.0)
    low = np.where(lost, np.copysign(_FINEST, sums.low), low)
    radius = np.where(lost | (ordinary & (sums.uncertainty > 0.0)), radius + _FINEST, radius)
    return enclose(m, np.where(sums.high < 0.0, -low, low), radius, exponent, kind)


def _arguments(x: npt.ArrayLike, format: Format, name: str) -> tuple[Carried, Carried]:
    require_ieee()
    array = carried(x, format, name)
    return array, array.reshape(-1)
