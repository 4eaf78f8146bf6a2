"""The second pass: the smallest case that breaks a requirement which the first pass saw broken."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from hypothesis import Phase
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.evaluate import Evaluation
from harness.isolate.patience import Patience
from harness.judge import Finding
from harness.seeded import draw
from harness.shrink import Shrinking

#: Cases tried to simplify a counterexample after hypothesis has shrunk it.
_SIMPLIFICATIONS = 500
#: How long processes may be lost for one counterexample.
_LOST_SECONDS = 5.0

Look = Callable[[Case], Finding]
Broken = Callable[[Finding], bool]


class Smallest(NamedTuple):
    """A finding that breaks the requirement; `steady` unless it did not come up again when the same
    cases were run again, and is that of the first pass."""

    finding: Finding
    steady: bool


class _Found(Exception):
    """Tells hypothesis that a case breaks the requirement."""


def smallest(
    first: Finding,
    strategy: SearchStrategy[Case],
    examples: int,
    seed: int,
    look: Look,
    broken: Broken,
    patience: Patience | None = None,
) -> Smallest:
    """The smallest finding that is `broken`, as `look` gives it, among the cases of the regime in
    which the `first` was drawn: the arguments between are those of that draw.

    `patience` is that of an isolated subject. Of its processes only so many are spent.
    """
    if patience is not None:
        sparing = _sparing(look, patience)
        if first.lost:
            return _smallest_loss(first, look, sparing, broken, patience)
        look = sparing
    last: list[Finding] = []

    def run(case: Case) -> None:
        finding = look(case)
        if broken(finding):
            last.append(finding)
            raise _Found

    # Hypothesis ends with the smallest case. A subject that breaks the requirement only now and
    # then is Flaky to it, and the last case that did is as good as there is.
    with suppress(_Found, Flaky):
        draw(strategy, examples, seed, (Phase.generate, Phase.shrink), run)
    if not last:
        return Smallest(first, steady=False)
    return Smallest(_simplest(last[-1], look, broken), steady=True)


def _smallest_loss(
    first: Finding, look: Look, sparing: Look, broken: Broken, patience: Patience
) -> Smallest:
    """For a case in which a process was lost. The cases of the regime are not run again, for each
    that is like it would lose another."""
    again = sparing(first.case)
    if not broken(again):
        return Smallest(first, steady=False)
    kept = _simplest(again, sparing, broken)
    # One that takes long is not one that hangs: what is shown has had the whole timeout.
    with patience.whole():
        last = look(kept.case)
    return Smallest(last if broken(last) else first, steady=True)


def _sparing(look: Look, patience: Patience) -> Look:
    """A look at cases until enough time was lost with processes, then at none."""
    before = patience.lost_seconds

    def sparing(case: Case) -> Finding:
        if patience.lost_seconds - before > _LOST_SECONDS:
            return Finding(case, Evaluation(None, {}), None)
        return look(case)

    return sparing


def _simplest(finding: Finding, look: Look, broken: Broken) -> Finding:
    """What is left when terms are dropped and numbers rounded one by one: hypothesis works on the
    bytes a case was drawn from, and cannot cut out what stands in the middle."""
    kept = finding

    def keeps(case: Case) -> bool:
        nonlocal kept
        candidate = look(case)
        if not broken(candidate):
            return False
        kept = candidate
        return True

    Shrinking(finding.case).run(keeps, _SIMPLIFICATIONS)
    return kept
