"""A self-test as JSON (schema neuron-harness/selftest/1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from harness.selftest.contest import CONTESTANTS, RIVALS, Outcome
from harness.selftest.entries import Entry
from harness.selftest.run import Selftest
from harness.selftest.tally import Count, false_alarms, totals

SCHEMA: Final = "neuron-harness/selftest/1"


def to_json(selftest: Selftest) -> bytes:
    """The self-test as JSON, indented. Times are wall seconds."""
    record = {
        "schema": SCHEMA,
        "environment": selftest.environment,
        "stopped": selftest.stopped,
        "settings": {
            "examples": selftest.settings.examples,
            "seed": selftest.settings.seed,
            "budget": selftest.settings.budget,
        },
        "contestants": list(CONTESTANTS),
        "rivals": {rival.name: rival.settings for rival in RIVALS},
        "faults": [_entry_record(selftest, entry) for entry in selftest.faults],
        "sound": [_entry_record(selftest, entry) for entry in selftest.sound],
        "skipped": dict(selftest.skipped),
        "totals": _counts(totals(selftest)),
        "false_alarms": _counts(false_alarms(selftest)),
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def _entry_record(selftest: Selftest, entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "group": entry.group,
        "kind": str(entry.subject.kind),
        "what": entry.what,
        "seen": entry.seen,
        "dtypes": {
            trial.dtype: {
                name: _outcome_record(outcome)
                for name, outcome in zip(CONTESTANTS, trial.outcomes, strict=True)
            }
            for trial in selftest.of(entry)
        },
    }


def _outcome_record(outcome: Outcome) -> dict[str, Any]:
    if outcome.caught is None:
        return {"caught": None, "reason": outcome.reason}
    return {
        "caught": outcome.caught,
        "how": list(outcome.how),
        "rounds": outcome.rounds,
        "seconds": round(outcome.seconds, 3),
    }


def _counts(rows: Mapping[str, Sequence[Count]]) -> dict[str, dict[str, dict[str, int]]]:
    return {
        name: {
            contestant: {"caught": each.caught, "judged": each.judged}
            for contestant, each in zip(CONTESTANTS, counts, strict=True)
        }
        for name, counts in rows.items()
    }
