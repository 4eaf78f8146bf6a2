"""What the sides of a comparison must have in common; a difference is an error, never a pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from harness.bench.processes import Side
from harness.errors import CannotVerify


def require_workloads(sides: Mapping[str, Side]) -> tuple[str, ...]:
    """The names of the workloads, which all sides have. Raises CannotVerify for one that is on one
    side only, one that is there twice, and for none."""
    names = {name: [each.name for each in side.workloads] for name, side in sides.items()}
    (_, first), *others = names.items()
    if not first:
        raise CannotVerify("no workload is left to time; expected one or more; name a subject")
    for side, found in names.items():
        if len(set(found)) < len(found):
            twice = sorted(name for name in set(found) if found.count(name) > 1)
            raise CannotVerify(
                f"{', '.join(twice)} is there twice on the {side} side; expected once; "
                "leave one out"
            )
    for side, found in others:
        if set(found) != set(first):
            odd = sorted(set(found) ^ set(first))
            raise CannotVerify(
                f"{', '.join(odd)}: not on all sides ({side}); expected the same workloads; "
                "leave it out with --without"
            )
    return tuple(first)


def require_ready(
    sides: Mapping[str, Side],
    answers: Mapping[str, Mapping[str, Any]],
    without: Collection[str],
    *,
    whole_suite: bool,
) -> None:
    """Raises CannotVerify where a side lacks a workload, has a subject the others do not, took its
    harness from elsewhere than its own folder, or is set up in another way."""
    for name, answer in answers.items():
        for workload, error in answer["errors"].items():
            raise CannotVerify(
                f"{workload!r} cannot be timed on the {name} side ({sides[name].label}): {error}; "
                "expected it on both; if it is new, renamed or gone, say --without"
            )
    if whole_suite:
        _require_own_harness(sides, answers)
        _require_same_subjects(answers, without)
    require_same_state({name: answer["state"] for name, answer in answers.items()})


def _require_own_harness(
    sides: Mapping[str, Side], answers: Mapping[str, Mapping[str, Any]]
) -> None:
    for name, answer in answers.items():
        expected = (sides[name].path[0] / "harness").resolve()
        if Path(answer["harness"]).resolve() != expected:
            raise CannotVerify(
                f"the {name} side took its harness from {answer['harness']}; expected {expected}; "
                "run the gate in a clone of neuron-harness, or name a subject of your own"
            )


def _require_same_subjects(
    answers: Mapping[str, Mapping[str, Any]], without: Collection[str]
) -> None:
    subjects = {name: set(answer["subjects"]) - set(without) for name, answer in answers.items()}
    everywhere = set.intersection(*subjects.values())
    for name, found in subjects.items():
        if odd := sorted(found - everywhere):
            lacking = next(side for side, there in subjects.items() if odd[0] not in there)
            raise CannotVerify(
                f"subject {odd[0]!r} is there on the {name} side and not on the {lacking} side; "
                f"expected it on both; if it is new, renamed or gone, say --without {odd[0]}"
            )


def require_same_state(states: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises CannotVerify where a version, a number of threads or a mode of torch differs."""
    (first, expected), *others = states.items()
    for name, found in others:
        for key in expected.keys() | found.keys():
            if expected.get(key) != found.get(key):
                raise CannotVerify(
                    f"{key} is {expected.get(key)} on the {first} side and {found.get(key)} on the "
                    f"{name} side; expected the same; look for code that sets it on import or call"
                )
