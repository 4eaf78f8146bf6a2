"""Verdicts and subjects as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from harness.subjects import Subject
from harness.terminal import short
from harness.verdict import LawVerdict, QuantityVerdict, Verdict, Verification

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
    for head in ("subject", "dtype", "device", "grade", "required"):
        table.add_column(head, no_wrap=True)
    for head in ("y ulps", "dx ulps", "dw ulps", "d ulps", "ratio", "cases", "unjudged", "seconds"):
        table.add_column(head, justify="right", no_wrap=True)
    for verdict in verification.verdicts:
        table.add_row(*_row(verdict))
    return table


def law_table(verification: Verification) -> Table:
    """One row for each law: whether it is required (both: of some subjects only), in how many
    verdicts it held, was broken and did not apply, and what broke it. A verdict in which a law was
    never checked, as where every call raised, is in none of these."""
    table = Table(show_edge=False, pad_edge=False)
    for head in ("law", "is"):
        table.add_column(head, no_wrap=True)
    for head in ("held", "broken", "does not apply", "cases"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("broken by", overflow="fold")
    verdicts = verification.verdicts
    for laws in zip(*(verdict.laws for verdict in verdicts), strict=True):
        broken = [each for each in zip(verdicts, laws, strict=True) if not each[1].passed]
        held = [law for law in laws if law.passed and law.applies and law.checked]
        colour = "red" if any(law.required for _, law in broken) else "yellow" if broken else ""
        table.add_row(
            Text(laws[0].name, style=colour),
            Text(_held_to(laws)),
            Text(str(len(held))),
            Text(str(len(broken)), style=colour),
            Text(str(sum(not law.applies for law in laws))),
            Text(str(sum(law.checked for law in laws))),
            Text(_broken_by([verdict for verdict, _ in broken])),
        )
    return table


def second_order_table(verification: Verification) -> Table:
    """One row for each verdict with a grade of the second order: the worst errors of the
    Hessian-vector product, in ulps, and the worst over the textbook bound."""
    table = Table(title=None, show_edge=False, pad_edge=False)
    for head in ("second order of", "dtype", "device", "grade", "required"):
        table.add_column(head, no_wrap=True)
    for head in ("Hx ulps", "Hw ulps", "Hb ulps", "ratio", "cases", "unjudged"):
        table.add_column(head, justify="right", no_wrap=True)
    for verdict in verification.verdicts:
        second = verdict.second_order
        if second is None or second.grade is None:
            continue
        colour = "green" if second.passed else "red"
        quantities = second.quantities.values()
        table.add_row(
            Text(verdict.subject),
            Text(verdict.dtype),
            Text(verdict.device),
            Text(str(second.grade), style=colour if second.required is not None else ""),
            Text(str(second.required or "-")),
            *(Text(_ulps(quantity)) for quantity in quantities),
            Text(short(max(quantity.max_bound_ratio for quantity in quantities))),
            Text(str(second.examples)),
            Text(str(second.unjudged)),
        )
    return table


def _ulps(quantity: QuantityVerdict) -> str:
    return short(quantity.max_ulp) + ("!" if quantity.nonfinite_mismatch else "")


def _held_to(laws: Sequence[LawVerdict]) -> str:
    required = {law.required for law in laws}
    return "both" if len(required) > 1 else "required" if True in required else "observed"


def _broken_by(verdicts: Sequence[Verdict]) -> str:
    """Each subject once, with the dtypes in which it broke a law."""
    dtypes: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        dtypes.setdefault(verdict.subject, {})[verdict.dtype] = None
    return "; ".join(f"{subject} {', '.join(names)}" for subject, names in dtypes.items())


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
        _HEADS[name]: _ulps(quantity)
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
