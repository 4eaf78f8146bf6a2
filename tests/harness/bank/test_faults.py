"""Every fault is one, and is caught: by its witness, by a search, and by a verification."""

from __future__ import annotations

import pytest

import harness
from harness.bank import FAULTS, Fault
from harness.flush import subnormals_kept
from tests.harness.bank.catching import Witnessed, alarms, caught_in_search

IN_EACH_DTYPE = [
    pytest.param(fault, dtype, id=f"{fault.name} in {dtype}")
    for fault in FAULTS
    for dtype in fault.dtypes
]
#: What a verification does not see: it makes one pass backward.
FOUND_IN_ONE_PASS = [fault for fault in FAULTS if fault.shows_as != {"second-backward"}]
SEARCHED = [
    pytest.param(fault, fault.dtypes[turn % len(fault.dtypes)], id=fault.name)
    for turn, fault in enumerate(FOUND_IN_ONE_PASS)
]
SEEDS = (1, 2, 3)


@pytest.mark.parametrize(("fault", "dtype"), IN_EACH_DTYPE)
def test_witness(fault: Fault, dtype: str) -> None:
    """The witness alone shows the fault, as one of what it is said to show as."""
    witnessed = Witnessed(fault.subject, dtype)
    with subnormals_kept():
        finding = witnessed.finding(fault.witnesses[dtype])
        assert fault.shows_as & witnessed.caught_by(finding)


@pytest.mark.parametrize(("fault", "dtype"), SEARCHED)
def test_search(fault: Fault, dtype: str) -> None:
    """A search as a verification makes finds the fault, here in one of its dtypes."""
    with subnormals_kept():
        assert caught_in_search(fault, dtype, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("fault", "dtype"),
    [each for each in IN_EACH_DTYPE if each.values[0] in FOUND_IN_ONE_PASS],
)
def test_verification(fault: Fault, dtype: str, seed: int) -> None:
    """A verification of 500 cases fails, by what the fault is said to show as."""
    (verdict,) = harness.verify(
        fault.subject, dtypes=[dtype], devices=["cpu"], examples=500, seed=seed
    ).verdicts
    assert not verdict.passed
    assert fault.shows_as & alarms(verdict)
