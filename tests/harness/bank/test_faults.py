"""Every fault is one, and is caught: by its witness, by a search, and by a verification."""

from __future__ import annotations

import pytest

import harness
from harness.bank import FAULTS, Fault
from harness.flush import subnormals_kept
from harness.second_order import RETAIN_GRAPH
from tests.harness.bank.catching import Witnessed, alarms, caught_in_search

IN_EACH_DTYPE = [
    pytest.param(fault, dtype, id=f"{fault.name} in {dtype}")
    for fault in FAULTS
    for dtype in fault.dtypes
]
#: What is seen in the second order alone, which has cases of its own.
SECOND_ORDER = [fault for fault in FAULTS if fault.shows_as <= {"second-order", RETAIN_GRAPH}]
SEARCHED = [
    pytest.param(fault, fault.dtypes[turn % len(fault.dtypes)], id=fault.name)
    for turn, fault in enumerate(FAULTS)
    if fault not in SECOND_ORDER
]
SEEDS = range(1, 11)


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


@pytest.mark.parametrize("fault", SECOND_ORDER, ids=lambda fault: fault.name)
def test_second_order(fault: Fault) -> None:
    """The second pass backward finds in every dtype what the first does not show."""
    for dtype in fault.dtypes:
        (verdict,) = harness.verify(
            fault.subject, dtypes=[dtype], devices=["cpu"], examples=100, seed=1
        ).verdicts
        assert fault.shows_as == alarms(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("fault", "dtype"), IN_EACH_DTYPE)
def test_verification(fault: Fault, dtype: str, seed: int) -> None:
    """A verification of 500 cases fails, by what the fault is said to show as."""
    (verdict,) = harness.verify(
        fault.subject, dtypes=[dtype], devices=["cpu"], examples=500, seed=seed
    ).verdicts
    assert not verdict.passed
    assert fault.shows_as & alarms(verdict)
