"""TensorFlow's `tf.tanh` with its tape's gradient, and the raw operation TanhGrad, on the CPU."""

from __future__ import annotations

import os
from typing import Any, Final

import torch

from harness.grade import Grade
from harness.subjects.adapters.bridge import differentiable, to_array, to_tensor
from harness.subjects.subject import Kind, Stated, Subject

# What it would say of its build at every import.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf


def _on_cpu() -> Any:
    return tf.device("/CPU:0")


def _array(tensor: torch.Tensor) -> Any:
    return tf.constant(to_array(tensor, tf.bfloat16.as_numpy_dtype))


def _tanh(x: torch.Tensor) -> torch.Tensor:
    with _on_cpu():
        return to_tensor(tf.tanh(_array(x)).numpy(), x)


def _pullback(x: torch.Tensor, _y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    with _on_cpu():
        argument = _array(x)
        with tf.GradientTape() as tape:
            tape.watch(argument)
            output = tf.tanh(argument)
        gradient = tape.gradient(output, argument, output_gradients=_array(dy))
        return to_tensor(gradient.numpy(), x)


def _gradient(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    with _on_cpu():
        return to_tensor(tf.raw_ops.TanhGrad(y=_array(y), dy=_array(dy)).numpy(), y)


_DTYPES: Final = ("float16", "bfloat16", "float32", "float64")
_REASON: Final = (
    "TanhGrad is dy * (1 - y*y) of the stored output, which is 1 early: there it is exactly 0"
)
_EARLY: Final = (
    "tanh is 1 from 7.9 on, where it should be 9.01, and the gradient of that output exactly 0"
)

TANH: Final = Subject(
    name="tensorflow-tanh",
    kind=Kind.ACTIVATION,
    function=differentiable(_tanh, _pullback),
    stated={dtype: Stated(Grade.TEXTBOOK, _REASON) for dtype in ("float16", "bfloat16", "float64")}
    | {"float32": Stated(Grade.WRONG, _EARLY)},
    devices=("cpu",),
    flush_to_zero=True,  # its threads do, in arguments and results
)

TANH_GRADIENT: Final = Subject(
    name="tensorflow-tanh-gradient",
    kind=Kind.TANH_GRADIENT,
    function=_gradient,
    stated={dtype: Stated(Grade.TEXTBOOK, _REASON) for dtype in _DTYPES},
    devices=("cpu",),
    flush_to_zero=True,
)
