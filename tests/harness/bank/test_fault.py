"""The record of a fault, and how one is declared."""

from __future__ import annotations

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.sound import Sound, earns, sound, sound_in
from harness.bank.witness import at
from harness.case import DTYPES
from harness.grade import Grade
from harness.subjects import Kind, Stated, Subject
from reference.formats import BINARY32

WITNESSES = at(0.5, "float32", "float64")


def test_declaration() -> None:
    """A function becomes a fault: its name the subject's, its first line what is wrong."""

    def no_good(x: torch.Tensor) -> torch.Tensor:
        """0 everywhere.

        And more.
        """
        return 0 * x

    declare = fault(
        Group.NUMERICS,
        Kind.ACTIVATION,
        "tests",
        WITNESSES,
        shows_as=["grade", "lanes"],
        elsewhere="why not",
        accumulation=BINARY32,
    )
    expected = Fault(
        Subject("no-good", Kind.ACTIVATION, no_good, accumulation=BINARY32),
        Group.NUMERICS,
        "0 everywhere.",
        "tests",
        WITNESSES,
        frozenset({"grade", "lanes"}),
        "why not",
    )
    assert expected == declare(no_good)
    assert ("no-good", ("float32", "float64")) == (expected.name, expected.dtypes)


def test_sound_declaration() -> None:
    """The same for a sound subject, which lacks nothing unless it says so."""

    def all_right(x: torch.Tensor) -> torch.Tensor:
        """torch's own."""
        return torch.tanh(x)

    stated = earns(Grade.TEXTBOOK, "the formula")
    declared = sound(Kind.ACTIVATION, stated, activation_ulps=4.0)(all_right)
    assert ("all-right", "torch's own.", None) == (
        declared.name,
        declared.what,
        declared.missing(),
    )
    assert (stated, 4.0) == (declared.subject.stated, declared.subject.activation_ulps)


def test_earns() -> None:
    """A grade is earned in the named dtypes, in all if none are named."""
    assert DTYPES == tuple(earns(Grade.STABLE, "why"))
    assert {"float16": Stated(Grade.STABLE, "why")} == earns(Grade.STABLE, "why", "float16")


def test_collected_in_order() -> None:
    """A module's entries are found among its globals, in their order, and nothing else."""
    first, second = (
        Fault(Subject(name, Kind.NEURON, max), Group.STRUCTURE, "", "", {}) for name in "ba"
    )
    good = Sound(Subject("c", Kind.NEURON, max), "", lambda: None)
    module = {"x": first, "y": 1, "z": second, "g": good}
    assert (first, second) == faults_in(module)
    assert (good,) == sound_in(module)
