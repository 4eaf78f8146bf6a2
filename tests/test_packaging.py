"""pyproject.toml and the two constraint files say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

_ROOT = Path(__file__).parents[1]
_PINNED = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.]+)")


def requirements(*extras: str) -> list[Requirement]:
    """What the core needs, and each of `extras`, in order."""
    table: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    optional: dict[str, list[str]] = table["optional-dependencies"]
    texts = [*table["dependencies"], *(text for extra in extras for text in optional[extra])]
    return [Requirement(text) for text in texts]


def pins(name: str) -> dict[str, str]:
    """Distribution -> version. Raises ValueError for a line that is no exact pin."""
    found = {}
    for line in (_ROOT / name).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if not (match := _PINNED.fullmatch(line)):
            raise ValueError(f"{name}: {line!r} is not of the form name==version")
        found[match["name"].lower().replace("_", "-")] = match["version"]
    return found


def lower_bound(requirement: Requirement) -> str:
    """The version after >=. Raises ValueError unless that is the only clause."""
    clauses = list(requirement.specifier)
    if [">="] != [clause.operator for clause in clauses]:
        raise ValueError(f"{requirement}: expected one lower bound and nothing else")
    return clauses[0].version


@pytest.mark.parametrize(
    "requirement",
    requirements("cluster", "crosscheck", "report", "test"),
    ids=lambda requirement: requirement.name,
)
def test_lowest_is_the_lower_bound(requirement: Requirement) -> None:
    """constraints-lowest.txt installs exactly what pyproject.toml promises to work with."""
    lowest = pins("constraints-lowest.txt")[requirement.name]
    bound = lower_bound(requirement)
    assert (bound + ".0.0").split(".")[:3] == (lowest + ".0.0").split(".")[:3]


def test_lowest_names_nothing_else() -> None:
    """A dependency that was dropped leaves constraints-lowest.txt too."""
    expected = {
        requirement.name for requirement in requirements("cluster", "crosscheck", "report", "test")
    }
    assert expected == set(pins("constraints-lowest.txt"))


@pytest.mark.parametrize(
    "requirement",
    [
        requirement
        for requirement in requirements("cluster", "crosscheck", "dev", "report", "test")
        if requirement.name != "neuron-harness"
    ],
    ids=lambda requirement: requirement.name,
)
def test_the_tested_set_satisfies_the_requirement(requirement: Requirement) -> None:
    """Each requirement is pinned in constraints.txt, at a version that it admits."""
    assert requirement.specifier.contains(pins("constraints.txt")[requirement.name])


def test_torch_is_pinned_without_a_local_version() -> None:
    """A CPU and a CUDA build of the tested release both satisfy the constraint."""
    assert pins("constraints.txt")["torch"] == "2.13.0"
