"""Sound neurons that add up their products in another way, and differ in nothing else.

Whatever the order, and in any format at least as wide as the accumulation format, the error of the
sum stays within gamma_n S.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import torch

from harness.bank.pieces import Results, Tensor, results, slope
from harness.bank.sound import Sound, earns, sound, sound_in
from harness.grade import Grade
from harness.subjects import Kind

_neuron = partial(
    sound,
    Kind.NEURON,
    earns(
        Grade.TEXTBOOK,
        "the bound of the sum holds in any order, and 1 - y*y cancels as y nears 1",
    ),
)


def _finished(a: Tensor, x: Tensor, w: Tensor, g: Tensor) -> Results:
    y = torch.tanh(a)
    return results(y, g * slope(y), x, w)


def _accumulated(values: Tensor) -> Tensor:
    """`values` in the format that sums of them are kept in."""
    return values.float() if values.dtype.itemsize == 2 else values


@_neuron()
def dot(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch.dot."""
    return _finished(torch.dot(x, w) + b, x, w, g)


@_neuron()
def einsum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch.einsum."""
    return _finished(torch.einsum("i,i->", x, w) + b, x, w, g)


@_neuron()
def matmul(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """A row times a column."""
    return _finished((x.reshape(1, -1) @ w.reshape(-1, 1)).reshape(()) + b, x, w, g)


@_neuron()
def linear(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch.nn.functional.linear, of one unit."""
    a = torch.nn.functional.linear(x.unsqueeze(0), w.unsqueeze(0), b.reshape(1))
    return _finished(a.reshape(()), x, w, g)


@_neuron()
def addmv(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch.addmv: the bias plus a matrix of one row times a vector."""
    return _finished(torch.addmv(b.reshape(1), x.unsqueeze(0), w).reshape(()), x, w, g)


@_neuron()
def reversed_sum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The products added up from the last to the first, the bias before them."""
    terms = torch.cat([b.reshape(1), (x * w).flip(0)])
    return _finished(terms.sum(), x, w, g)


@_neuron()
def one_by_one(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The products added one by one, in binary32 at least."""
    total = _accumulated(torch.zeros_like(b))
    for product in _accumulated(x * w).unbind():
        total = total + product
    return _finished(total.to(b.dtype) + b, x, w, g)


@_neuron()
def pairwise(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Neighbours added to each other until one number is left, in binary32 at least."""
    terms = _accumulated(x * w)
    while len(terms) > 1:
        terms = torch.nn.functional.pad(terms, (0, len(terms) % 2))
        terms = terms[0::2] + terms[1::2]
    return _finished(terms.sum().to(b.dtype) + b, x, w, g)


@_neuron()
def compensated(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Kahan's compensated summation, in binary32 at least."""
    products = _accumulated(x * w)
    total = lost = torch.zeros_like(_accumulated(b))
    for product in products.unbind():
        term = product - lost
        larger = total + term
        lost = (larger - total) - term
        total = larger
    # An infinity leaves inf - inf behind.
    total = total if total.isfinite() else products.sum()
    return _finished(total.to(b.dtype) + b, x, w, g)


@_neuron()
def exact_sum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """math.fsum of the rounded products and the bias: one rounding for the whole sum."""
    terms = [*(x * w).tolist(), b.item()]
    try:
        total = math.fsum(terms)
    except (OverflowError, ValueError):  # what it makes of infinities, and of sums beyond them
        total = sum(terms)
    return _finished(torch.tensor(total, dtype=x.dtype, device=x.device), x, w, g)


@_neuron()
def products_in_the_accumulator(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Products, sum, bias and tanh in binary32 at least, the output rounded once."""
    a = (_accumulated(x) * _accumulated(w)).sum() + _accumulated(b)
    y = torch.tanh(a).to(x.dtype)
    return results(y, g * slope(y), x, w)


SOUND: Final[tuple[Sound, ...]] = sound_in(globals())
