"""The record of a subject."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from harness.grade import Grade
from harness.subjects import Kind, Stated, Subject, neuron_of
from reference.formats import BINARY64


def test_kinds_are_written_as_on_the_command_line() -> None:
    """Each kind is its own text."""
    assert [str(kind) for kind in Kind] == ["neuron", "activation", "tanh-gradient"]


def test_a_subject_declares_nothing_unless_told() -> None:
    """A user's subject claims no grade and leaves every choice to the judge."""
    subject = Subject("mine", Kind.NEURON, print)
    assert subject.stated == {}
    assert (
        subject.dtypes,
        subject.devices,
        subject.accumulation,
        subject.activation_ulps,
        subject.flush_to_zero,
    ) == (None, None, None, None, False)


def test_a_subject_keeps_its_declarations() -> None:
    """Every declaration is a field, and replace makes another subject of it."""
    stated = {"float32": Stated(Grade.STABLE, "compensated")}
    subject = Subject(
        "mine",
        Kind.ACTIVATION,
        torch.tanh,
        stated,
        dtypes=("float32",),
        devices=("cpu", "cuda"),
        accumulation=BINARY64,
        activation_ulps=1.0,
        flush_to_zero=True,
    )
    renamed = dataclasses.replace(subject, name="yours")
    assert ("yours", stated, BINARY64) == (renamed.name, renamed.stated, renamed.accumulation)
    assert subject == dataclasses.replace(renamed, name="mine")


def test_a_subject_is_frozen_and_hashable() -> None:
    """Subjects are keys of tables, so none may change."""
    stated = {"float32": Stated(Grade.STABLE, "compensated")}
    subject = Subject("mine", Kind.NEURON, print, stated)
    assert {subject: "found"}[Subject("mine", Kind.NEURON, print, dict(stated))] == "found"
    with pytest.raises(dataclasses.FrozenInstanceError):
        subject.name = "yours"  # type: ignore[misc]


def test_the_neuron_of_a_neuron_is_its_function() -> None:
    """A neuron is called as it is, with nothing in between."""
    assert neuron_of(Subject("mine", Kind.NEURON, print)) is print


def test_the_neuron_of_an_activation_is_lifted() -> None:
    """An activation becomes a five-symbol callable."""
    neuron = neuron_of(Subject("square", Kind.ACTIVATION, torch.square))
    one, three = torch.ones(1), torch.tensor(3.0)
    results = neuron(one, one.clone(), three, three.clone())
    assert [each.tolist() for each in results] == [16.0, [24.0], [24.0], 24.0]


def test_a_tanh_gradient_has_no_neuron() -> None:
    """f(y, dy) has no preactivation; the message says how to call it."""
    with pytest.raises(
        ValueError,
        match=r"^raw is a tanh-gradient, which cannot be lifted into a neuron; expected a neuron "
        r"or an activation; call its function with \(y, dy\)$",
    ):
        neuron_of(Subject("raw", Kind.TANH_GRADIENT, print))
