"""An implementation under test: what kind of thing it is, and what is claimed for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.grade import Grade
from reference.formats import Format


class Kind(StrEnum):
    """The signature of a subject's function."""

    NEURON = "neuron"
    """f(inputs, weights, bias, upstream_gradient) -> (output, input_gradient, weight_gradient,
    bias_gradient): vectors of length n, the other four tensors 0-dim."""

    ACTIVATION = "activation"
    """f(x) -> tanh(x), elementwise and differentiable by autograd."""

    TANH_GRADIENT = "tanh-gradient"
    """f(y, dy) -> dy * (1 - y*y), elementwise, where y is a stored output of tanh."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The grade a subject is known to earn in one dtype, and one sentence on why."""

    grade: Grade
    reason: str


@dataclass(frozen=True)
class Subject:
    """An implementation under test.

    `stated` maps a dtype's name to the grade known to be earned there; it is empty for a subject
    nobody has made a claim for. The rest declares what the judge cannot see from outside:

    - `dtypes`, `devices`: the names it supports (`float32`, `cuda`); None for all.
    - `accumulation`: the format its sum of products accumulates in; None for the judge's default
      (binary32 for the 16-bit formats, else the format itself).
    - `activation_ulps`: the error in ulps that its tanh is allowed; None for the judge's default.
    - `flush_to_zero`: it replaces subnormals by zero, in arguments, results or in between.
    """

    name: str
    kind: Kind
    function: Callable[..., Any]
    stated: Mapping[str, Stated] = field(default_factory=dict, hash=False)
    dtypes: tuple[str, ...] | None = None
    devices: tuple[str, ...] | None = None
    accumulation: Format | None = None
    activation_ulps: float | None = None
    flush_to_zero: bool = False


def neuron_of(subject: Subject) -> Callable[..., Any]:
    """The five-symbol callable (see `Kind.NEURON`) of a neuron, or of an activation once lifted.

    Raises ValueError for a `tanh-gradient`, which has no preactivation to make a neuron of.
    """
    match subject.kind:
        case Kind.NEURON:
            return subject.function
        case Kind.ACTIVATION:
            from harness.subjects.lift import lift

            return lift(subject.function)
        case Kind.TANH_GRADIENT:
            raise ValueError(
                f"{subject.name} is a tanh-gradient, which cannot be lifted into a neuron; "
                "expected a neuron or an activation; call its function with (y, dy)"
            )
