"""Breaches of observed laws in words."""

from __future__ import annotations

from harness.observed import describe_observed
from tests.harness.test_verdict import CASE, PASSING, broken, verdict

LANES = broken("lanes", required=False)


def test_none() -> None:
    """Nothing to say; nor of a required law, which the failure describes."""
    assert "" == describe_observed([]) == describe_observed([PASSING])
    assert "" == describe_observed([verdict(laws=(broken("layout"),))])


def test_each_subject_and_law_once() -> None:
    """With every dtype, and the case of the first."""
    verdicts = [
        verdict(laws=(LANES, broken("swap", required=False)), locator="mine.py:neuron"),
        verdict(laws=(LANES,), dtype="float64"),
        verdict(laws=(LANES,), dtype="float64", device="cuda"),
        verdict(laws=(LANES,), subject="other"),
    ]
    lines = describe_observed(verdicts).splitlines()
    assert [
        "given float32, float64: observed law lanes: lanes is broken",
        "given float32: observed law swap: swap is broken",
        "other float32: observed law lanes: lanes is broken",
    ] == lines[::2]
    assert all(line.startswith("    again    ") for line in lines[1::2])
    assert f"again    neuron-harness explain mine.py:neuron '{CASE.to_json()}'" in lines[1]
