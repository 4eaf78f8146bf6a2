"""Neurons with one fault each, and sound ones that look different: what a verification must tell
apart. Subjects by path too: `tests/harness/faulty.py:divides`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor
Neuron = Callable[[Tensor, Tensor, Tensor, Tensor], Any]
_CALLS = [0]


def _output(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.tanh((x * w).sum() + b)


def right(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The textbook's neuron, without its checks."""
    y = _output(x, w, b)
    d = g * (1 - y.square())
    return y, d * w, d * x, d


# Faults of the mathematics.


def divides(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """d = g / (1 - y*y)."""
    y = _output(x, w, b)
    d = g / (1 - y.square())
    return y, d * w, d * x, d


def drops_g(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """d = 1 - y*y."""
    return right(x, w, b, torch.ones_like(g))


def misplaces_g(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """d = 1 - (y*y)*g."""
    y = _output(x, w, b)
    d = 1 - y.square() * g
    return y, d * w, d * x, d


def swaps_gradients(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The input gradient where the weight gradient belongs."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dw, dx, d


def next_lane(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Every weight gradient one lane too far."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw.roll(1), d


def last_lane(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A sum that leaves out the last product of eight or more."""
    n = len(x) - 1 if len(x) >= 8 else len(x)
    y = torch.tanh((x[:n] * w[:n]).sum() + b)
    d = g * (1 - y.square())
    return y, d * w, d * x, d


def nan_for_no_inputs(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """NaN where there is nothing to add up."""
    y, dx, dw, d = right(x, w, b, g)
    return (y if len(x) else y * math.nan), dx, dw, d


def ignores_strides(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Reads memory as if the vectors were contiguous."""
    n = len(x)
    x = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), x.storage_offset(), (n,), (1,))
    return right(x, w, b, g)


# Faults of form.


def one_element_output(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """(1,) where a scalar belongs."""
    y, dx, dw, d = right(x, w, b, g)
    return y.reshape(1), dx, dw, d


def row_gradient(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """(1, n) where (n,) belongs."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx.reshape(1, -1), dw, d


def other_dtype(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """One result in another format."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, d.to(torch.float32 if d.dtype is torch.float64 else torch.float64)


def three_results(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The bias gradient is missing."""
    return right(x, w, b, g)[:3]


def one_result(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Only the output, and not in a tuple."""
    return right(x, w, b, g)[0]


def a_float(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A Python float for the output."""
    y, dx, dw, d = right(x, w, b, g)
    return y.item(), dx, dw, d


def nothing(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """None."""


def sparse(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A sparse gradient."""
    y, dx, dw, d = right(x.detach(), w.detach(), b.detach(), g.detach())
    return y, dx.to_sparse(), dw, d


class Odd(BaseException):
    """Not an Exception."""


def raises(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """An exception, with a message of two lines."""
    raise ArithmeticError(f"no\n  {len(x)} lanes")


def exits(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Ends the process, were it left to."""
    sys.exit(3)


def raises_oddly(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """What `except Exception` lets through."""
    raise Odd


# Faults of conduct.


def writes_inputs(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Uses its weights as scratch memory."""
    results = right(x, w, b, g)
    with torch.no_grad():
        w.mul_(x)
    return results


def returns_inputs(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The caller's own upstream gradient, scaled, when its factor is 1."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, (g if y == 0 else d)


def sets_default_dtype(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Leaves another default dtype behind."""
    torch.set_default_dtype(torch.float64)
    return right(x, w, b, g)


def sets_grad_mode(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Leaves gradients switched off."""
    torch.set_grad_enabled(False)
    return right(x, w, b, g)


def draws_random(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Moves the global random number generator on."""
    torch.rand(1)
    return right(x, w, b, g)


def sets_flush(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Leaves flush-to-zero switched on."""
    results = right(x, w, b, g)
    torch.set_flush_denormal(True)
    return results


def sets_threads(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Leaves another number of threads behind."""
    torch.set_num_threads(torch.get_num_threads() + 1)
    return right(x, w, b, g)


def changes_its_mind(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Negates every other output; not even a zero stays the same."""
    _CALLS[0] += 1
    y, dx, dw, d = right(x, w, b, g)
    return (-y if _CALLS[0] % 2 else y), dx, dw, d


def changes_shape(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Every other output has one more dimension."""
    _CALLS[0] += 1
    y, dx, dw, d = right(x, w, b, g)
    return (y if _CALLS[0] % 2 else y.reshape(1)), dx, dw, d


_BUFFER: dict[torch.dtype, Tensor] = {}


def reuses_a_buffer(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Writes every output into the same memory, under the eyes of who still holds the last one."""
    y, dx, dw, d = right(x, w, b, g)
    buffer = _BUFFER.setdefault(y.dtype, torch.empty((), dtype=y.dtype))
    return buffer.copy_(y), dx, dw, d


MATHEMATICS: tuple[Neuron, ...] = (
    divides,
    drops_g,
    misplaces_g,
    swaps_gradients,
    next_lane,
    last_lane,
    nan_for_no_inputs,
    ignores_strides,
)
#: What is wrong with the form of the results, as the law says it.
FORM: dict[Neuron, str] = {
    one_element_output: "output has shape (1,); expected ()",
    row_gradient: "input_gradient has shape (1, 0); expected (0,)",
    other_dtype: "bias_gradient is torch.float",
    three_results: "returned 3 results; expected 4",
    one_result: "returned 1 result; expected 4",
    a_float: "output is a float; expected a torch.Tensor",
    nothing: "returned None; expected 4 tensors",
    sparse: "input_gradient has layout torch.sparse_coo; expected torch.strided",
}
RAISING: dict[Neuron, str] = {
    raises: "raised ArithmeticError: no 0 lanes",
    exits: "raised SystemExit: 3",
    raises_oddly: "raised Odd",
}
#: The law that is broken, and what the counterexample says.
CONDUCT: dict[Neuron, tuple[str, str]] = {
    writes_inputs: ("inputs-untouched", "weights changed in place"),
    returns_inputs: ("results-own-memory", "bias_gradient shares memory with upstream_gradient"),
    reuses_a_buffer: (
        "results-own-memory",
        "output shares memory with the output of the next call",
    ),
    sets_default_dtype: ("global-state", "default_dtype from torch.float32 to torch.float64"),
    sets_grad_mode: ("global-state", "grad_enabled from True to False"),
    draws_random: ("global-state", "the state of the random number generator"),
    sets_flush: ("global-state", "flush-to-zero to True"),
    sets_threads: ("global-state", "threads from "),
    changes_its_mind: ("repeatable", "a second call gave other bits for output"),
}


# Sound neurons that round differently.


def dot(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """torch.dot for the sum."""
    y = torch.tanh(torch.dot(x, w) + b)
    d = g * (1 - y * y)
    return y, d * w, d * x, d


def einsum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """torch.einsum for the sum."""
    y = torch.tanh(torch.einsum("i,i->", x, w) + b)
    d = g * (1 - y * y)
    return y, d * w, d * x, d


def matmul(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A matrix product for the sum."""
    y = torch.tanh(torch.matmul(x.reshape(1, -1), w.reshape(-1, 1)).reshape(()) + b)
    d = g * (1 - y * y)
    return y, d * w, d * x, d


def wide(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """float64 inside, rounded once at the end."""
    results = right(*(each.double() for each in (x, w, b, g)))
    # Detached copies: float64 arguments would be used as they are.
    return tuple(each.detach().to(x.dtype, copy=True) for each in results)


def factored(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """(1 - y) * (1 + y) for 1 - y*y."""
    y = _output(x, w, b)
    d = g * ((1 - y) * (1 + y))
    return y, d * w, d * x, d


def transposed(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """torch.func.vjp for the gradients."""
    y, back = torch.func.vjp(_output, x.detach(), w.detach(), b.detach())
    dx, dw, d = back(g.detach())
    return y, dx, dw, d


def exact_sum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """math.fsum for the sum of the rounded products."""
    terms = [*(x * w).tolist(), b.item()]
    try:
        total = math.fsum(terms)
    except (OverflowError, ValueError):  # what it makes of infinities, and of a sum beyond them
        total = sum(terms)
    y = torch.tanh(torch.tensor(total, dtype=x.dtype))
    d = g * (1 - y * y)
    return y, d * w, d * x, d


SOUND: tuple[Neuron, ...] = (dot, einsum, matmul, wide, factored, transposed, exact_sum)
