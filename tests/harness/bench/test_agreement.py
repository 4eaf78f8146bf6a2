"""What whole-suite sides must agree on: their own harness, and the same subjects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.bench.agreement import require_ready
from harness.bench.processes import Side
from harness.errors import CannotVerify

SIDES = {name: Side(name, Path(f"/{name}"), (Path(f"/{name}"),), ()) for name in ("old", "new")}


def answer(side: str, subjects: list[str], **changed: Any) -> dict[str, Any]:
    """A side's answer that nothing is wrong with."""
    ready = {"harness": f"/{side}/harness", "subjects": subjects, "errors": {}, "state": {}}
    return {**ready, **changed}


def require(old: dict[str, Any], new: dict[str, Any], without: tuple[str, ...] = ()) -> None:
    """Of the whole suite."""
    require_ready(SIDES, {"old": old, "new": new}, without, whole_suite=True)


def test_equal_sides() -> None:
    """Nothing is raised."""
    require(answer("old", ["a", "b"]), answer("new", ["b", "a"]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (["a", "b"], ["a"], "'b' is there on the old side and not on the new side"),
        (["a"], ["a", "b"], "'b' is there on the new side and not on the old side"),
        (["a", "b"], ["a", "c"], "'b' is there on the old side and not on the new side"),
    ],
    ids=["gone", "new", "renamed"],
)
def test_a_subject_on_one_side(old: list[str], new: list[str], message: str) -> None:
    """Though no workload of the other side is missing; unless it is left out by name."""
    with pytest.raises(CannotVerify, match=message):
        require(answer("old", old), answer("new", new))
    require(answer("old", old), answer("new", new), without=("b", "c"))


def test_a_harness_from_elsewhere() -> None:
    """A side that runs another's code would always be the same as it."""
    with pytest.raises(CannotVerify, match="the new side took its harness from /old/harness"):
        require(answer("old", []), answer("new", [], harness="/old/harness"))


def test_a_key_that_one_side_lacks() -> None:
    """A state is compared both ways."""
    with pytest.raises(CannotVerify, match="threads is None on the old side and 2 on the new"):
        require(answer("old", []), answer("new", [], state={"threads": 2}))
