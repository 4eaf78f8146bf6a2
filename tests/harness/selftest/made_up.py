"""A self-test whose outcomes are made up, for what is done with them."""

from __future__ import annotations

from dataclasses import replace

from harness.selftest.contest import CONTESTANTS, Outcome, Settings, Trial
from harness.selftest.entries import BANK
from harness.selftest.run import Selftest

CAUGHT = Outcome(True, ("grade",), rounds=3, seconds=0.5)
PASSED = Outcome(False, rounds=7, seconds=1.0)
UNABLE = Outcome(None, reason="it cannot")


def trial(subject: str, dtype: str, *outcomes: Outcome) -> Trial:
    """A trial; contestants without an outcome cannot judge."""
    missing = len(CONTESTANTS) - len(outcomes)
    return Trial(subject, dtype, (*outcomes, *[UNABLE] * missing))


def selftest(*trials: Trial, stopped: str | None = None) -> Selftest:
    """A self-test of these trials, in the environment of no machine."""
    dtypes: dict[str, tuple[str, ...]] = {}
    for each in trials:
        dtypes[each.subject] = (*dtypes.get(each.subject, ()), each.dtype)
    return Selftest(
        settings=Settings(examples=500, seed=1, budget=2.0),
        environment={"torch": "9.9", "machine": "abacus"},
        entries=tuple(replace(BANK[name], dtypes=each) for name, each in dtypes.items()),
        skipped={},
        trials=trials,
        stopped=stopped,
    )


#: All faults caught, no alarm: by the harness. Of its rivals the first misses one and raises one.
GOOD = selftest(
    trial("wrong-sign", "float32", CAUGHT, CAUGHT),
    trial("wrong-sign", "float64", CAUGHT, CAUGHT),
    trial("sets-threads", "float32", replace(CAUGHT, how=("global-state", "layout")), PASSED),
    trial("dot", "float32", PASSED, replace(CAUGHT, how=("jacobian",))),
    trial("dot", "float64", PASSED, PASSED),
)
