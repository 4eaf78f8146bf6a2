"""Other frameworks' tanh as subjects: what they compute arrives bit for bit, and is what is stated.

Each framework is tested where it is installed: tox run -e numpy, jax, tensorflow.
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
import torch

import harness
from harness.grade import Grade
from harness.subjects import Kind, SubjectImportError, load
from harness.subjects.adapters.bridge import to_array, to_tensor
from harness.subjects.registry import adapter_names

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
FRAMEWORK = {name: name.partition("-")[0] for name in adapter_names()}
#: Saturated to 1 by XLA and Eigen, and not yet by tanh in binary32, which is 1 from 9.01 on.
EARLY = 8.5


def installed(framework: str) -> bool:
    """Whether a framework can be imported."""
    return importlib.util.find_spec(framework) is not None


def needs(framework: str) -> pytest.MarkDecorator:
    """A test of a framework."""
    reason = f"{framework} is not installed: tox run -e {framework}"
    return pytest.mark.skipif(not installed(framework), reason=reason)


HERE = [pytest.param(name, marks=needs(framework)) for name, framework in FRAMEWORK.items()]


def test_the_names() -> None:
    """One of NumPy, and of each other framework tanh and its raw gradient."""
    expected = (
        "numpy-tanh",
        "jax-tanh",
        "jax-tanh-gradient",
        "tensorflow-tanh",
        "tensorflow-tanh-gradient",
    )
    assert expected == adapter_names()


@pytest.mark.parametrize("name", HERE)
def test_the_kind_is_that_of_the_name(name: str) -> None:
    """A raw gradient takes stored outputs."""
    kind = Kind.TANH_GRADIENT if name.endswith("gradient") else Kind.ACTIVATION
    subject = load(name)
    assert (name, kind) == (subject.name, subject.kind)
    assert subject == load(name, kind)


@pytest.mark.parametrize("name", [name for name in FRAMEWORK if name != "numpy-tanh"])
def test_one_line_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the framework is not installed."""
    framework = FRAMEWORK[name]
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"harness.subjects.adapters.{framework}", raising=False)
    with pytest.raises(SubjectImportError) as caught:
        load(name)
    expected = (
        f"{name!r} needs {framework}, which is not installed; expected the extra `{framework}`; "
        f"pip install 'neuron-harness[{framework}]'"
    )
    assert expected == str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (5,)], ids=str)
def test_bits_survive_both_ways(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """NaN, signed zero and subnormals among them, from a strided tensor too."""
    values = torch.tensor([-0.0, float("nan"), 1e-45, 6e-8, -1.5] * 2, dtype=dtype)[::2]
    tensor = values[:1].reshape(()) if shape == () else values[: shape[0]]
    bfloat16 = None
    if dtype is torch.bfloat16:
        bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    back = to_tensor(to_array(tensor, bfloat16), tensor)
    assert (tensor.dtype, tensor.shape) == (back.dtype, back.shape)
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    assert torch.equal(tensor.contiguous().view(integer), back.view(integer))


def test_numpy_has_no_bfloat16() -> None:
    """Which is said, not guessed at; and a result of another dtype is no result."""
    with pytest.raises(TypeError, match="NumPy has no bfloat16"):
        to_array(torch.ones(1, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match=r"the result is of float64; expected torch\.float32"):
        to_tensor(np.ones(1), torch.ones(1))


@pytest.mark.parametrize("name", [each for each in HERE if "gradient" not in str(each.values[0])])
def test_an_activation_is_the_frameworks_own(name: str) -> None:
    """y is near tanh(x), and its gradient near 1 - y*y, as a vector and as a number."""
    tanh = load(name).function
    for x in (torch.linspace(-1, 1, 13), torch.tensor(0.5)):
        leaf = x.clone().requires_grad_()
        y = tanh(leaf)
        (gradient,) = torch.autograd.grad(y.sum(), leaf)
        torch.testing.assert_close(y.detach(), torch.tanh(x), rtol=1e-6, atol=0)
        torch.testing.assert_close(gradient, 1 - torch.tanh(x) ** 2, rtol=1e-5, atol=0)


@pytest.mark.parametrize("name", [each for each in HERE if "gradient" in str(each.values[0])])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_raw_gradient_takes_the_stored_output(name: str, dtype: torch.dtype) -> None:
    """Of any y, whether or not it is the tanh of anything."""
    y = torch.tensor([0.0, 0.5, -0.75, 1.0, -1.0], dtype=dtype)
    found = load(name).function(y, torch.full_like(y, 2.0))
    assert dtype is found.dtype
    assert [2.0, 1.5, 0.875, 0.0, 0.0] == found.tolist()


@pytest.mark.parametrize(
    "name",
    [pytest.param(f"{name}-tanh", marks=needs(name)) for name in ("jax", "tensorflow")],
)
def test_the_gradient_is_exactly_zero_near_saturation(name: str) -> None:
    """Where y is rounded to 1 early, 1 - y is nothing, and sech^2 is 1.66e-7."""
    x = torch.tensor(EARLY, requires_grad=True)
    y = load(name).function(x)
    (gradient,) = torch.autograd.grad(y, x)
    assert (1.0, 0.0) == (y.item(), gradient.item())
    assert torch.tanh(x).item() < 1.0


@pytest.mark.parametrize("name", HERE)
def test_it_earns_what_it_states(name: str) -> None:
    """In every dtype it supports; one that is stated to be wrong is caught."""
    subject = load(name)
    verification = harness.verify(name, examples=60, seed=1)
    assert set(subject.stated) == {verdict.dtype for verdict in verification.verdicts}
    for verdict in verification.verdicts:
        assert verdict.passed, verdict.failure
        wrong = subject.stated[verdict.dtype].grade is Grade.WRONG
        assert wrong == (verdict.grade is Grade.WRONG)
