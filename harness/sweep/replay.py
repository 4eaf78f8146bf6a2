"""How to see single inputs of a sweep again: what is worst, and what should not have been."""

from __future__ import annotations

from collections.abc import Iterator

from harness.case import Case
from harness.failure import explain_command
from harness.subjects import Kind
from harness.sweep.laws import REQUIRED
from harness.sweep.plan import Plan
from harness.sweep.record import Sweep


def case_of(plan: Plan, key: int) -> Case:
    """The case that a swept number stands for: weight 1, bias 0 and upstream gradient 1; of a
    tanh-gradient the stored output y, with the upstream gradient swept beside it or 1."""
    x, *gradient = plan.point(key)
    g = gradient[0] if gradient else 1.0
    if plan.kind is Kind.TANH_GRADIENT:
        return Case(plan.dtype, (x,), (), 0.0, g)
    return Case(plan.dtype, (x,), (1.0,), 0.0, g)


def again_lines(sweep: Sweep) -> list[str]:
    """A command for the worst input of each quantity that is not rounded correctly everywhere, for
    the first NaN or infinity that should not be, and for the first breach of a required law that a
    single call can show."""
    plan = sweep.plan
    if plan.locator is None:
        return []
    locator = plan.locator
    cases = (case_of(plan, key) for key in _keys(sweep))
    return [
        f"again: {explain_command(locator, case, str(plan.kind), plan.device)}"
        for case in dict.fromkeys(cases)
    ]


def _keys(sweep: Sweep) -> Iterator[int]:
    for quantity in sweep.quantities:
        if quantity.total.misrounded and quantity.worst:
            yield quantity.worst[0].key
        if quantity.total.first_nonfinite >= 0:
            yield quantity.total.first_nonfinite
    for name, tally in sweep.laws.items():
        if name in REQUIRED - {"lanes"} and tally.breaches:
            yield tally.first_breach
