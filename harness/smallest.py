"""The second pass: the smallest case that breaks a requirement which the first pass saw broken."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

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
_SIMPLIFICATIONS: Final = 500
#: How long processes may be lost for one counterexample, and for all of a verdict; and how many
#: may be lost for one however long they take, for a busy machine shrinks no less.
_LEAST_LOSSES: Final = 24
_LOST_SECONDS: Final = 3.0
_ALL_LOST_SECONDS: Final = 5.0

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
        sparing = _Sparing(look, patience)
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
        return Smallest(first, steady=isinstance(look, _Sparing) and look.spent)
    return Smallest(_simplest(last[-1], look, broken), steady=True)


class _Sparing:
    """A look at cases until shrinking has lost processes for long enough, then at none."""

    def __init__(self, look: Look, patience: Patience) -> None:
        self._look = look
        self._patience = patience
        self._end = min(patience.shrinking + _LOST_SECONDS, _ALL_LOST_SECONDS)
        self._least = 0 if patience.shrinking >= _ALL_LOST_SECONDS else _LEAST_LOSSES

    @property
    def spent(self) -> bool:
        """Whether it looks at nothing any more."""
        return self._patience.shrinking >= self._end and self._least <= 0

    def __call__(self, case: Case) -> Finding:
        if self.spent:
            return Finding(case, Evaluation(None, {}), None)
        before = self._patience.lost_seconds
        finding = self._look(case)
        lost = self._patience.lost_seconds - before
        self._patience.shrinking += lost
        self._least -= lost > 0
        return finding


def _smallest_loss(
    first: Finding, look: Look, sparing: _Sparing, broken: Broken, patience: Patience
) -> Smallest:
    """For a case in which a process was lost. The cases of the regime are not run again, for each
    that is like it would lose another."""
    if sparing.spent:
        return Smallest(first, steady=True)
    again = sparing(first.case)
    if not broken(again):
        return Smallest(first, steady=False)
    kept = _simplest(again, sparing, broken)
    # One that takes long is not one that hangs: what is shown has had the whole timeout.
    with patience.whole():
        last = look(kept.case)
    return Smallest(last if broken(last) else first, steady=True)


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
