"""Every bad argument is one clear error that names it."""

from __future__ import annotations

import re

import pytest
import torch

from harness.subjects.validation import check_gradient, check_neuron

VECTOR, SCALAR = torch.ones(3), torch.tensor(1.0)
GOOD = {
    "inputs": VECTOR,
    "weights": VECTOR.clone(),
    "bias": SCALAR,
    "upstream_gradient": SCALAR.clone(),
}
DTYPE_REMEDY = "expected float16, bfloat16, float32 or float64; convert it with .to"
TENSOR_REMEDY = "expected a torch.Tensor; convert it with torch.tensor"
VECTOR_REMEDY = "expected a vector (1 dimension); batch with torch.func.vmap"
SCALAR_REMEDY = "expected a scalar (0 dimensions); index or reduce it to one element"

BAD = [
    ("inputs", [1.0, 2.0], TypeError, f"inputs is of type list; {TENSOR_REMEDY}"),
    ("inputs", None, TypeError, f"inputs is of type NoneType; {TENSOR_REMEDY}"),
    ("weights", VECTOR.numpy(), TypeError, f"weights is of type ndarray; {TENSOR_REMEDY}"),
    ("bias", 0.5, TypeError, f"bias is of type float; {TENSOR_REMEDY}"),
    ("upstream_gradient", 1, TypeError, f"upstream_gradient is of type int; {TENSOR_REMEDY}"),
    ("inputs", VECTOR.int(), TypeError, f"inputs has dtype int32; {DTYPE_REMEDY}"),
    ("weights", VECTOR.bool(), TypeError, f"weights has dtype bool; {DTYPE_REMEDY}"),
    ("bias", SCALAR.long(), TypeError, f"bias has dtype int64; {DTYPE_REMEDY}"),
    (
        "upstream_gradient",
        SCALAR.to(torch.complex64),
        TypeError,
        f"upstream_gradient has dtype complex64; {DTYPE_REMEDY}",
    ),
    (
        "inputs",
        VECTOR.to(torch.float8_e4m3fn),
        TypeError,
        f"inputs has dtype float8_e4m3fn; {DTYPE_REMEDY}",
    ),
    (
        "weights",
        VECTOR.double(),
        TypeError,
        "weights has dtype float64; expected float32, the dtype of inputs; "
        "convert one of them with .to",
    ),
    (
        "bias",
        SCALAR.half(),
        TypeError,
        "bias has dtype float16; expected float32, the dtype of inputs; "
        "convert one of them with .to",
    ),
    (
        "upstream_gradient",
        SCALAR.bfloat16(),
        TypeError,
        "upstream_gradient has dtype bfloat16; expected float32, the dtype of inputs; "
        "convert one of them with .to",
    ),
    (
        "weights",
        VECTOR.to("meta"),
        ValueError,
        "weights is on meta; expected cpu, the device of inputs; move one of them with .to",
    ),
    (
        "bias",
        SCALAR.to("meta"),
        ValueError,
        "bias is on meta; expected cpu, the device of inputs; move one of them with .to",
    ),
    (
        "upstream_gradient",
        SCALAR.to("meta"),
        ValueError,
        "upstream_gradient is on meta; expected cpu, the device of inputs; "
        "move one of them with .to",
    ),
    ("inputs", SCALAR, ValueError, f"inputs has shape (); {VECTOR_REMEDY}"),
    ("inputs", VECTOR.reshape(1, 3), ValueError, f"inputs has shape (1, 3); {VECTOR_REMEDY}"),
    ("weights", VECTOR.reshape(3, 1), ValueError, f"weights has shape (3, 1); {VECTOR_REMEDY}"),
    ("weights", SCALAR, ValueError, f"weights has shape (); {VECTOR_REMEDY}"),
    (
        "weights",
        VECTOR[:2],
        ValueError,
        "weights has length 2; expected 3, the length of inputs; give one weight an input",
    ),
    (
        "inputs",
        torch.empty(0),
        ValueError,
        "weights has length 3; expected 0, the length of inputs; give one weight an input",
    ),
    ("bias", torch.ones(1), ValueError, f"bias has shape (1,); {SCALAR_REMEDY}"),
    ("bias", VECTOR, ValueError, f"bias has shape (3,); {SCALAR_REMEDY}"),
    (
        "upstream_gradient",
        torch.ones(1, 1),
        ValueError,
        f"upstream_gradient has shape (1, 1); {SCALAR_REMEDY}",
    ),
]


@pytest.mark.parametrize(
    ("argument", "value", "error", "message"), BAD, ids=[message for *_, message in BAD]
)
def test_a_bad_argument_of_a_neuron(
    argument: str, value: object, error: type[Exception], message: str
) -> None:
    """The message names the argument, what it was, what was expected, and the remedy."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        check_neuron(**(GOOD | {argument: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_good_arguments_of_a_neuron(length: int, dtype: torch.dtype) -> None:
    """Every length and floating dtype passes, on any one device."""
    vector, scalar = torch.ones(length, dtype=dtype), torch.ones((), dtype=dtype)
    check_neuron(vector, vector, scalar, scalar)
    check_neuron(*(each.to("meta") for each in (vector, vector, scalar, scalar)))


BAD_GRADIENTS = [
    (0.5, VECTOR, TypeError, f"y is of type float; {TENSOR_REMEDY}"),
    (VECTOR, [1.0], TypeError, f"dy is of type list; {TENSOR_REMEDY}"),
    (VECTOR.int(), VECTOR, TypeError, f"y has dtype int32; {DTYPE_REMEDY}"),
    (
        VECTOR,
        VECTOR.double(),
        TypeError,
        "dy has dtype float64; expected float32, the dtype of y; convert one of them with .to",
    ),
    (
        VECTOR,
        VECTOR.to("meta"),
        ValueError,
        "dy is on meta; expected cpu, the device of y; move one of them with .to",
    ),
    (
        VECTOR,
        SCALAR,
        ValueError,
        "dy has shape (); expected (3,), the shape of y; expand it to that",
    ),
    (
        SCALAR,
        VECTOR,
        ValueError,
        "dy has shape (3,); expected (), the shape of y; expand it to that",
    ),
]


@pytest.mark.parametrize(
    ("y", "dy", "error", "message"), BAD_GRADIENTS, ids=[message for *_, message in BAD_GRADIENTS]
)
def test_a_bad_argument_of_a_tanh_gradient(
    y: torch.Tensor, dy: torch.Tensor, error: type[Exception], message: str
) -> None:
    """The raw gradient neither promotes nor broadcasts."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        check_gradient(y, dy)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)], ids=str)
def test_good_arguments_of_a_tanh_gradient(shape: tuple[int, ...]) -> None:
    """Any one shape passes, the operation being elementwise."""
    check_gradient(torch.zeros(shape), torch.ones(shape))
