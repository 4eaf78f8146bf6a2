"""Finds in the store: the next hunt of the same subject, dtype and device starts from them.

A run of the kind "hunt" for each of these, with one part for every find. Versions and sources
are not part of its identity: a find is an input, judged anew by every hunt that starts from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from harness.case import Case
from harness.hunt.plan import Plan
from harness.store import Store
from harness.verdict import case_record

RUN_KIND: Final = "hunt"


class _Part(msgspec.Struct):
    value: float
    cases: list[msgspec.Raw]


def remembered(store: Store, plan: Plan) -> list[Case]:
    """The cases that earlier hunts have found, each once. What cannot be read is left out."""
    run = store.latest(RUN_KIND, _identity(plan))
    if run is None:
        return []
    found: dict[Case, None] = {}
    for _, content in store.parts(run.id):
        for case in _read(content)[1]:
            if case.dtype == plan.dtype:
                found[case] = None
    return list(found)


def remember(
    store: Store, plan: Plan, finds: Iterable[tuple[str, float, tuple[Case, ...]]]
) -> None:
    """Keep the cases of finds, as (name, value, cases). A find that is smaller than the stored
    one of its name is kept only if this hunt has looked at that one too, which a cold hunt
    has not."""
    identity = _identity(plan)
    run = store.latest(RUN_KIND, identity)
    if run is None:
        run = store.begin(RUN_KIND, identity, json.loads(identity))
    stored = {name: _read(content)[0] for name, content in store.parts(run.id)}
    parts = []
    for name, value, cases in finds:
        if plan.cold and stored.get(name, 0.0) > value:
            continue
        parts.append((name, _write(value, cases)))
    if parts:
        store.put(run.id, parts)
        store.finish(run.id)


def _identity(plan: Plan) -> str:
    facts: dict[str, Any] = {
        "subject": plan.subject.name,
        "kind": str(plan.kind),
        "dtype": plan.dtype,
        "device": plan.device,
    }
    return json.dumps(facts, sort_keys=True)


def _write(value: float, cases: Iterable[Case]) -> bytes:
    return msgspec.json.encode(
        {"value": value, "cases": [case_record(case) for case in dict.fromkeys(cases)]}
    )


def _read(content: bytes) -> tuple[float, list[Case]]:
    try:
        part = msgspec.json.decode(content, type=_Part)
        return part.value, [Case.from_json(bytes(raw)) for raw in part.cases]
    except (msgspec.DecodeError, ValueError):
        return 0.0, []
