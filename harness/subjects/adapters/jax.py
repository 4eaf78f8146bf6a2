"""JAX's `lax.tanh` and its derivative, compiled, on the CPU.

The derivative is a rule on the output: JAX traces it to g*(1-y) + (g*(1-y))*y. For the raw
operation, which is given y and no x, the traced rule is evaluated with y in the place of tanh(x).
Importing this switches on JAX's 64-bit types.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from jax import config, default_device, devices, jit, lax, make_jaxpr, vjp
from jax import numpy as jnp
from jax.extend.core import Literal

from harness.grade import Grade
from harness.subjects.adapters.bridge import differentiable, to_array, to_tensor
from harness.subjects.subject import Kind, Stated, Subject

config.update("jax_enable_x64", True)
_CPU: Final = devices("cpu")[0]


def _array(tensor: torch.Tensor) -> Any:
    return jnp.asarray(to_array(tensor, jnp.bfloat16))


def _tanh(x: torch.Tensor) -> torch.Tensor:
    with default_device(_CPU):
        return to_tensor(np.asarray(_compiled_tanh(_array(x))), x)


def _pullback(x: torch.Tensor, _y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    with default_device(_CPU):
        return to_tensor(np.asarray(_compiled_derivative(_array(x), _array(dy))), x)


def _derivative(x: Any, dy: Any) -> Any:
    _, pullback = vjp(lax.tanh, x)
    return pullback(dy)[0]


_compiled_tanh: Final = jit(lax.tanh)
_compiled_derivative: Final = jit(_derivative)


def _gradient(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    with default_device(_CPU):
        return to_tensor(np.asarray(_rule(tuple(y.shape), str(y.dtype))(_array(y), _array(dy))), y)


@cache
def _rule(shape: tuple[int, ...], dtype: str) -> Callable[[Any, Any], Any]:
    """The derivative as JAX traces it for one shape and dtype, as a function of the output."""
    example = jnp.zeros(shape, jnp.dtype(dtype.removeprefix("torch.")))
    jaxpr = make_jaxpr(_derivative)(example, example).jaxpr

    def rule(y: Any, dy: Any) -> Any:
        values: dict[Any, Any] = dict(zip(jaxpr.invars, (y, dy), strict=True))

        def read(variable: Any) -> Any:
            return variable.val if isinstance(variable, Literal) else values[variable]

        for equation in jaxpr.eqns:
            primitive = equation.primitive
            if primitive is lax.tanh_p:
                values[equation.outvars[0]] = y
                continue
            results = primitive.bind(*map(read, equation.invars), **equation.params)
            results = results if primitive.multiple_results else [results]
            values.update(zip(equation.outvars, results, strict=True))
        return read(jaxpr.outvars[0])

    compiled: Callable[[Any, Any], Any] = jit(rule)
    return compiled


_DTYPES: Final = ("float16", "bfloat16", "float32", "float64")
_REASON: Final = (
    "g*(1-y) + (g*(1-y))*y is inf - inf, or inf * 0, where g is infinite; and XLA rounds y to 1 "
    "early, so that the gradient is exactly 0 where it should be a good part of an ulp of 1"
)

TANH: Final = Subject(
    name="jax-tanh",
    kind=Kind.ACTIVATION,
    function=differentiable(_tanh, _pullback),
    stated={dtype: Stated(Grade.WRONG, _REASON) for dtype in _DTYPES},
    devices=("cpu",),
    flush_to_zero=True,  # XLA's compiled code does, in results
)

TANH_GRADIENT: Final = Subject(
    name="jax-tanh-gradient",
    kind=Kind.TANH_GRADIENT,
    function=_gradient,
    stated={dtype: Stated(Grade.WRONG, _REASON) for dtype in _DTYPES},
    devices=("cpu",),
    flush_to_zero=True,
)
