"""By what name the command line finds an object."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.locate import locator
from harness.subjects import Kind, Subject, builtin_subjects, load
from harness.subjects.registry import from_object
from tests.harness import faulty


def test_built_ins_are_found_by_name() -> None:
    """All of them."""
    for subject in builtin_subjects():
        assert subject.name == locator(subject)


def test_a_function_of_a_module_is_found() -> None:
    """By module:function, and what is found is that function."""
    name = locator(from_object(faulty.dot))
    assert "tests.harness.faulty:dot" == name
    assert load(name).function is faulty.dot


def _local() -> Any:
    def neuron(*_: Any) -> None: ...

    return neuron


def _renamed() -> Any:
    """A function that says it is another."""

    @functools.wraps(faulty.dot)
    def neuron(*_: Any) -> None: ...

    return neuron


class _Neuron:
    def method(self, *_: Any) -> None: ...

    def __call__(self, *_: Any) -> None: ...


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(lambda *_: None, id="a lambda has no name"),
        pytest.param(_local(), id="a local function has no name"),
        pytest.param(_renamed(), id="a wrapper is not what it wraps"),
        pytest.param(functools.partial(faulty.dot), id="a partial has no name"),
        pytest.param(_Neuron(), id="an instance has no name"),
        pytest.param(_Neuron().method, id="a bound method has no name"),
        pytest.param(torch.nn.Tanh(), id="a module has a state of its own"),
        pytest.param(torch.tanh, id="a function of C has no module"),
        pytest.param(Subject("mine", Kind.NEURON, faulty.dot), id="a Subject says any name"),
        pytest.param(
            Subject("textbook", Kind.NEURON, faulty.dot), id="a Subject says a built-in's name"
        ),
    ],
)
def test_not_found(found: Any) -> None:
    """Rather no name than one that stands for something else."""
    assert locator(from_object(found)) is None


def test_what_only_this_process_has_is_not_found(tmp_path: Path) -> None:
    """A file loaded by its path, and a script."""
    path = tmp_path / "given.py"
    path.write_text("def neuron(x, w, b, g): ...\n")
    assert locator(from_object(load(f"{path}:neuron").function)) is None
    script = tmp_path / "script.py"
    script.write_text(
        "from harness.locate import locator\n"
        "from harness.subjects.registry import from_object\n"
        "def neuron(x, w, b, g): ...\n"
        "print(locator(from_object(neuron)))\n"
    )
    import subprocess

    from tests.harness.command import environment

    done = subprocess.run(
        [sys.executable, script], env=environment(), capture_output=True, text=True, check=True
    )
    assert "None" == done.stdout.strip()
