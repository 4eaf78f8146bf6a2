"""Sound subjects that get their derivative, or their tanh, in another way."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Final

import numpy as np
import torch

from harness.bank.pieces import (
    Results,
    Tensor,
    Value,
    backward,
    custom,
    preactivation,
    results,
    right,
)
from harness.bank.sound import Sound, earns, sound, sound_in
from harness.grade import Grade
from harness.subjects import Kind

_neuron = partial(sound, Kind.NEURON)
_activation = partial(sound, Kind.ACTIVATION)
_tanh_gradient = partial(sound, Kind.TANH_GRADIENT)

_SAME_FORMULA: Final = earns(
    Grade.TEXTBOOK, "the formula g * (1 - y*y) of the stored output, by another road"
)


def _stable_slope(a: Tensor) -> Tensor:
    """sech^2(a) = 4t / (1 + t)^2 with t = e^-2|a|, which cancels nowhere."""
    t = torch.exp(-2 * a.abs())
    # Not 0 for a finite a, lest an infinite g meet it and give NaN.
    t = torch.where(a.isfinite(), t.clamp(min=torch.finfo(t.dtype).tiny), t)
    return 4 * t / (1 + t).square()


@_neuron(_SAME_FORMULA)
def vector_jacobian_product(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch.func.vjp."""
    arguments = (each.detach() for each in (x, w, b))
    y, pull = torch.func.vjp(lambda *xwb: torch.tanh(preactivation(*xwb)), *arguments)[:2]
    return y, *pull(g.detach())


@_neuron(_SAME_FORMULA)
def jacobian_vector_product(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The derivative of tanh by torch.func.jvp, forward."""
    a = preactivation(x.detach(), w.detach(), b.detach())
    y, derivative = torch.func.jvp(torch.tanh, (a,), (torch.ones_like(a),))[:2]
    return results(y, g * derivative, x, w)


@_neuron(_SAME_FORMULA)
def batch_of_one(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch.func.vmap over a batch of one."""
    batch = torch.func.vmap(right)(*(each.unsqueeze(0) for each in (x, w, b, g)))
    y, dx, dw, d = (each.squeeze(0) for each in batch)
    return y, dx, dw, d


@_neuron(_SAME_FORMULA)
def fused_multiply_add(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """1 - y*y by torch.addcmul, in one operation."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, g * torch.addcmul(torch.ones_like(y), y, y, value=-1), x, w)


@_neuron(
    earns(
        Grade.TEXTBOOK,
        "(1 - y) (1 + y) does not cancel after y is rounded, but y has been: it is 0 where y is 1",
    )
)
def factored(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """(1 - y) (1 + y) for 1 - y*y."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, g * ((1 - y) * (1 + y)), x, w)


@_neuron(
    earns(
        Grade.TEXTBOOK,
        "1 - y*y of a binary64 y loses all bits by 19.06, where the derivative, times a large g or "
        "weight, is still a normal number of every format",
    )
)
def binary64_inside(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The textbook's neuron in binary64, every result rounded once."""
    y, dx, dw, d = right(x.double(), w.double(), b.double(), g.double())
    # Detached copies: binary64 arguments would be used as they are.
    return _rounded(y, x), _rounded(dx, x), _rounded(dw, x), _rounded(d, x)


def _rounded(result: Tensor, x: Tensor) -> Tensor:
    return result.detach().to(x.dtype, copy=True)


@_neuron(
    earns(
        Grade.STABLE,
        "binary64 takes every product and sum of these formats without an overflow, and the "
        "derivative does not cancel; what the sum loses is within the bound of a sum",
        "float16",
        "bfloat16",
        "float32",
    )
    | earns(
        Grade.TEXTBOOK,
        "the derivative is stable, but a product that overflows on the way to a finite "
        "preactivation is not",
        "float64",
    )
)
def stable_in_binary64(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """sech^2 as 4t / (1 + t)^2 with t = e^-2|a|, in binary64, every result rounded once."""
    x64, w64, a = x.double(), w.double(), preactivation(x.double(), w.double(), b.double())
    y, dx, dw, d = results(torch.tanh(a), g.double() * _stable_slope(a), x64, w64)
    return _rounded(y, x), _rounded(dx, x), _rounded(dw, x), _rounded(d, x)


@_neuron(
    earns(
        Grade.TEXTBOOK, "1 - y*y of a binary64 y, rounded once to the format, as in binary64-inside"
    )
)
def numpy_inside(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """numpy in binary64: numpy.dot and numpy.tanh."""
    x64, w64, b64, g64 = (each.detach().double().numpy() for each in (x, w, b, g))
    with np.errstate(all="ignore"):
        y = np.tanh(np.dot(x64, w64) + b64)
        d = g64 * (1 - y * y)
        found = (y, d * w64, d * x64, d)
    y, dx, dw, d = (torch.tensor(each, dtype=x.dtype) for each in found)
    return y, dx, dw, d


_BUT_FOR_OVERFLOW: Final = (
    "the derivative is stable; a product that overflows on the way to a finite preactivation, in "
    "the sum that the harness makes, is not"
)


def _with_slope(x: Tensor, sech_squared: Value) -> Tensor:
    """tanh(x) with a derivative of its own, whose derivative is -2 tanh sech^2: autograd's own of
    these forms would cancel near 0."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return g * custom(x, sech_squared, lambda h, x, s: h * (-2 * torch.tanh(x) * s))

    return custom(x, torch.tanh, gradient)


@_activation(earns(Grade.TEXTBOOK, _BUT_FOR_OVERFLOW))
def stable_derivative(x: Tensor) -> Tensor:
    """g * 4t / (1 + t)^2 with t = e^-2|x|."""
    return _with_slope(x, _stable_slope)


@_activation(earns(Grade.TEXTBOOK, _BUT_FOR_OVERFLOW))
def two_logistics(x: Tensor) -> Tensor:
    """g * 4 sigmoid(2x) sigmoid(-2x)."""
    return _with_slope(x, lambda x: 4 * torch.sigmoid(2 * x) * torch.sigmoid(-2 * x))


@_activation(
    earns(
        Grade.TEXTBOOK,
        "expm1 keeps the bits near 0, 2.4 ulps are the most that was seen in binary32, and the "
        "derivative is 1 - y*y",
    )
)
def by_expm1(x: Tensor) -> Tensor:
    """-t / (2 + t), t = expm1(-2|x|), below 1, and 1 - 2 / (2 + expm1(2|x|)), as fdlibm has it.

    In binary32 at least, with the sign of x.
    """

    def value(x: Tensor) -> Tensor:
        size = (x.float() if x.dtype.itemsize == 2 else x).abs()
        t = torch.expm1(-2 * size)
        # The first form is up to 2.5 ulps off for larger x, the second for smaller.
        y = torch.where(size < 1, -t / (2 + t), 1 - 2 / (2 + torch.expm1(2 * size)))
        return torch.copysign(y, x).to(x.dtype)

    return custom(x, value, backward)


def _compiler() -> str | None:
    """What torch.compile lacks here to make code for the CPU."""
    names = (os.environ.get("CXX", "c++"), "g++", "clang++")
    if not any(shutil.which(name) for name in names):
        return "torch.compile needs a C++ compiler, and finds none"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "torch.compile needs Python's headers, and finds none"
    return None


@cache
def _compiled() -> Callable[[Tensor], Tensor]:
    function: Callable[[Tensor], Tensor] = torch.compile(lambda rows: torch.tanh(rows))
    return function


@_activation(
    earns(Grade.TEXTBOOK, "generated code with a tanh of its own, of an ulp or two, and 1 - y*y"),
    missing=_compiler,
)
def compiled(x: Tensor) -> Tensor:
    """torch.compile of torch.tanh, on blocks of 64 elements."""

    def value(x: Tensor) -> Tensor:
        # One shape, so that it is compiled once for each dtype.
        blocks = torch.nn.functional.pad(x.reshape(-1), (0, -x.numel() % 64)).reshape(-1, 64)
        return torch.cat([_compiled()(block) for block in blocks.unbind()])[: x.numel()].reshape(
            x.shape
        )

    return custom(x, value, backward)


@_tanh_gradient(
    earns(Grade.STABLE, "1 - y is exact where it cancels, and three roundings follow it")
)
def raw_factored(y: Tensor, dy: Tensor) -> Tensor:
    """dy * ((1 - y) (1 + y))."""
    return dy * ((1 - y) * (1 + y))


@_tanh_gradient(
    earns(
        Grade.FAITHFUL,
        "y*y of these formats is exact in binary64, so two roundings of binary64 come before the "
        "last",
        "float16",
        "bfloat16",
        "float32",
    )
    | earns(Grade.TEXTBOOK, "y*y is rounded before it is taken from 1", "float64")
)
def raw_binary64_inside(y: Tensor, dy: Tensor) -> Tensor:
    """dy * (1 - y*y) in binary64, rounded once."""
    return _rounded(dy.double() * (1 - y.double().square()), y)


@_tanh_gradient(
    earns(Grade.TEXTBOOK, "y*y and 1 - y*y are each rounded to the format, as the formula says")
)
def raw_in_storage(y: Tensor, dy: Tensor) -> Tensor:
    """dy * (1 - y*y) with every step rounded to the storage format."""
    return dy * (1 - y * y)


@_tanh_gradient(earns(Grade.TEXTBOOK, "the same three operations, in numpy's order and formats"))
def raw_numpy(y: Tensor, dy: Tensor) -> Tensor:
    """numpy, in binary32 at least."""
    wide = torch.float32 if y.dtype.itemsize == 2 else y.dtype
    stored, upstream = (each.detach().to(wide).numpy() for each in (y, dy))
    with np.errstate(all="ignore"):
        gradient = upstream * (1 - stored * stored)
    return torch.from_numpy(gradient).to(y.dtype)


SOUND: Final[tuple[Sound, ...]] = sound_in(globals())
