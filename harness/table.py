"""Verdicts and subjects as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from harness.subjects import Subject
from harness.terminal import short
from harness.verdict import Verdict, Verification

#: Short heads for the quantities, in the order of a verdict.
_HEADS = {
    "output": "y",
    "input_gradient": "dx",
    "weight_gradient": "dw",
    "bias_gradient": "d",
    "gradient": "d",
}


def verdict_table(verification: Verification) -> Table:
    """One row for each subject, dtype and device. Errors are the worst in ulps of the exact value;
    the ratio is the worst error over the textbook bound."""
    table = Table(title=None, show_edge=False, pad_edge=False)
    for head, justify in (
        ("subject", "left"),
        ("dtype", "left"),
        ("device", "left"),
        ("grade", "left"),
        ("required", "left"),
    ):
        table.add_column(head, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for head in ("y ulps", "dx ulps", "dw ulps", "d ulps", "ratio", "cases", "unjudged", "seconds"):
        table.add_column(head, justify="right", no_wrap=True)
    for verdict in verification.verdicts:
        table.add_row(*_row(verdict))
    return table


def subject_table(subjects: Sequence[Subject]) -> Table:
    """One row for each subject and dtype: the grade it is known to earn, and why."""
    table = Table(show_edge=False, pad_edge=False)
    for head in ("subject", "kind", "dtype", "known to be"):
        table.add_column(head, no_wrap=True)
    table.add_column("because", overflow="fold")
    for subject in subjects:
        name, kind = subject.name, str(subject.kind)
        for dtype, stated in subject.stated.items():
            table.add_row(name, kind, dtype, str(stated.grade), Text(stated.reason))
            name = kind = ""
    return table


def _row(verdict: Verdict) -> list[Text]:
    colour = "green" if verdict.passed else "red"
    ulps = {
        _HEADS[name]: short(quantity.max_ulp) + ("!" if quantity.nonfinite_mismatch else "")
        for name, quantity in verdict.quantities.items()
        if quantity.grade is not None
    }
    ratios = [quantity.max_bound_ratio for quantity in verdict.quantities.values()]
    return [
        Text(verdict.subject),
        Text(verdict.dtype),
        Text(verdict.device),
        Text(str(verdict.grade or "none"), style=colour),
        Text(str(verdict.required)),
        *(Text(ulps.get(head, "-")) for head in ("y", "dx", "dw", "d")),
        Text(short(max(ratios, default=0.0))),
        Text(str(verdict.examples)),
        Text(str(verdict.unjudged)),
        Text(f"{verdict.seconds:.1f}"),
    ]
