"""Breaches of observed laws in words: they fail nothing, and may still be news."""

from __future__ import annotations

from collections.abc import Sequence

from harness.failure import replay
from harness.verdict import LawVerdict, Verdict


def describe_observed(verdicts: Sequence[Verdict]) -> str:
    """Which observed laws each subject breaks, in which dtypes, and the smallest case of the first
    of them; "" if none breaks any."""
    found: dict[tuple[str, str], list[tuple[Verdict, LawVerdict]]] = {}
    for verdict in verdicts:
        for law in verdict.observed_breaches:
            found.setdefault((verdict.subject, law.name), []).append((verdict, law))
    lines = []
    for (subject, name), broken in found.items():
        verdict, law = broken[0]
        counterexample = law.counterexample
        assert counterexample is not None
        dtypes = ", ".join(dict.fromkeys(verdict.dtype for verdict, _ in broken))
        lines += [
            f"{subject} {dtypes}: observed law {name}: {counterexample.message}",
            f"    again    {replay(verdict, counterexample.case)}",
        ]
    return "\n".join(lines)
