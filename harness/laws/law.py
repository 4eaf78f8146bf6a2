"""What a law is: a statement, whom it binds, and how a case shows it kept or broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import torch

from harness.case import Case
from harness.hexfloat import hex_text
from harness.judgement import SCALARS
from harness.subjects import Kind

#: Ten laws call the subject again. They take turns, so that not every case pays for a call.
EVERY: Final = 16

#: The floats of each quantity.
Values = Mapping[str, Sequence[float]]
#: What they should be; None where the law does not say.
Expected = Mapping[str, Sequence[float | None]]


class CallFailed(Exception):
    """A call that a law made gave nothing to read; the message says what came instead."""


class Seen(NamedTuple):
    """A case, and what the subject returned for it."""

    case: Case
    values: Values


class Look(Protocol):
    """What a law may ask of the subject beyond the case at hand."""

    def values(self, case: Case) -> Values:
        """What the subject returns for another case. Raises CallFailed if that is no result."""

    def elementwise(self, case: Case) -> Values:
        """`output` and `bias_gradient` of an activation called on the vector `case.inputs`, each of
        shape (n,), with the upstream gradient of the case in every lane. Raises as `values`; an
        activation need not take a vector, for a neuron calls it on one number."""

    def falls_short(self, case: Case, values: Values) -> bool:
        """Whether a result is graded worse than what is required of the subject."""

    def refuses(self, arguments: Sequence[torch.Tensor]) -> bool:
        """Whether the subject raises when it is called with these tensors."""

    @property
    def built_in(self) -> bool:
        """Whether the subject is one of the harness's own."""

    @property
    def device(self) -> str:
        """The device on which the subject is verified."""


def always(_seen: Seen) -> bool:
    """The domain of a law that speaks of every case."""
    return True


@dataclass(frozen=True, slots=True)
class Check:
    """How a law is checked of one kind of subject.

    `breach` says in one line how a case breaks the law, None if it keeps it; it is asked only where
    `concerns` holds: of every `every`-th such case of a regime, the first among them.
    """

    breach: Callable[[Seen, Look], str | None]
    concerns: Callable[[Seen], bool] = always
    every: int = 1


@dataclass(frozen=True, slots=True)
class Law:
    """A law. `checks` holds the kinds of subject it applies to, each with its check, or with None
    where the evaluation of a case shows by itself whether the law was kept.

    A breach of a `required` law fails the verdict; that of another is reported, since a sound
    implementation may breach it by an ulp. `binds_built_ins`: required of the harness's own
    subjects, whatever `required` says.
    """

    name: str
    statement: str
    required: bool
    checks: Mapping[Kind, Check | None] = field(hash=False)
    binds_built_ins: bool = False

    def applies(self, kind: Kind) -> bool:
        """Whether a subject of this kind can keep or break it."""
        return kind in self.checks

    def broken(self, kind: Kind, seen: Seen, look: Look) -> str | None:
        """How a case breaks the law; None if it keeps it, or is none of its concern."""
        check = self.checks.get(kind)
        if check is None or not check.concerns(seen):
            return None
        try:
            return check.breach(seen, look)
        except CallFailed as failure:
            return str(failure)


def same(left: float, right: float) -> bool:
    """Whether two floats are one number: zeros of either sign are, and any two NaNs."""
    return left == right or (left != left and right != right)


def place(quantity: str, index: int) -> str:
    """The name of one float of a quantity."""
    return quantity if quantity in SCALARS else f"{quantity}[{index}]"


def difference(expected: Expected, found: Values) -> str | None:
    """The first place where results are not the expected numbers; None if there is none.

    Quantities that are not expected are not compared.
    """
    for name, wanted in expected.items():
        values = found[name]
        if wanted == values:
            continue
        for index, (one, other) in enumerate(zip(wanted, values, strict=True)):
            if one is not None and not same(one, other):
                return f"{place(name, index)} is {hex_text(other)}; expected {hex_text(one)}"
    return None
