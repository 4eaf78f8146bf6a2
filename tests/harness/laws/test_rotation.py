"""Which laws are due: each in the first case that it concerns, then in turns."""

from __future__ import annotations

from collections import Counter

from harness.case import Case
from harness.laws import LAWS
from harness.laws.law import Check, Law, Seen
from harness.laws.rotation import Rotation
from harness.subjects import Kind

NEGATIVE, POSITIVE = (Seen(Case("float32", (), (), b, 1.0), {}) for b in (-1.0, 1.0))


def law_of(every: int, *, negative: bool = False) -> Law:
    """A law for neurons."""
    concerns = (lambda seen: seen.case.bias < 0) if negative else (lambda _: True)
    return Law("given", "", True, {Kind.NEURON: Check(lambda *_: None, concerns, every)})


def test_every_so_many_cases() -> None:
    """The first, and then a share."""
    rotation = Rotation([law_of(4)], Kind.NEURON)
    due = [len(list(rotation.due(POSITIVE))) for _ in range(9)]
    assert [1, 0, 0, 0, 1, 0, 0, 0, 1] == due


def test_laws_take_turns() -> None:
    """After the first case, never two at once."""
    rotation = Rotation([law_of(4) for _ in range(4)], Kind.NEURON)
    due = [len(list(rotation.due(POSITIVE))) for _ in range(9)]
    assert [4, 1, 1, 1, 1, 1, 1, 1, 1] == due


def test_only_what_concerns_counts() -> None:
    """The first case that a law concerns may come late."""
    rotation = Rotation([law_of(4, negative=True)], Kind.NEURON)
    cases = (POSITIVE, POSITIVE, NEGATIVE, POSITIVE, NEGATIVE)
    assert [0, 0, 1, 0, 0] == [len(list(rotation.due(seen))) for seen in cases]


def test_only_laws_of_the_kind() -> None:
    """And none of those that every call shows by itself."""
    assert [] == list(Rotation([law_of(1)], Kind.ACTIVATION).due(POSITIVE))
    values = {name: [0.5] for name in ("output", "bias_gradient")}
    seen = Seen(POSITIVE.case, {**values, "input_gradient": [], "weight_gradient": []})
    due = Counter(law.name for law in Rotation(LAWS, Kind.NEURON).due(seen))
    assert not {"structure", "repeatable", "swap", "lanes"} & set(due)
    assert {"zero-padding", "output-odd", "mismatch-raises", "doubling"} <= set(due)
