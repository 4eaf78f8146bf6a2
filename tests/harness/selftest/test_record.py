"""A self-test as JSON."""

from __future__ import annotations

import json

from harness.selftest.contest import CONTESTANTS
from harness.selftest.record import SCHEMA, to_json
from tests.harness.selftest.made_up import GOOD


def test_every_outcome_is_there() -> None:
    """By subject, dtype and contestant."""
    record = json.loads(to_json(GOOD))
    assert ("neuron-harness/selftest/1", SCHEMA) == (record["schema"], SCHEMA)
    assert list(CONTESTANTS) == record["contestants"]
    assert {"examples": 500, "seed": 1, "budget": 2.0} == record["settings"]
    wrong_sign, sets_threads = record["faults"]
    (dot,) = record["sound"]
    assert ["wrong-sign", "calculus", "activation"] == [
        wrong_sign[key] for key in ("name", "group", "kind")
    ]
    assert ["float32", "float64"] == list(wrong_sign["dtypes"])
    assert {"caught": True, "how": ["grade"], "rounds": 3, "seconds": 0.5} == wrong_sign["dtypes"][
        "float32"
    ]["harness"]
    assert {"caught": None, "reason": "it cannot"} == sets_threads["dtypes"]["float32"][
        "assert_close"
    ]
    assert dot["dtypes"]["float32"]["gradcheck"]["caught"]
    assert {"caught": 3, "judged": 3} == record["totals"]["all groups"]["harness"]
    assert {"caught": 1, "judged": 2} == record["false_alarms"]["all dtypes"]["gradcheck"]
    assert record["stopped"] is None
