"""Verdicts as records: what passes, what is said of a failure, the exit status, the JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.case import Case
from harness.direction import Direction
from harness.grade import Grade
from harness.verdict import (
    Counterexample,
    LawVerdict,
    QuantityVerdict,
    SecondOrderVerdict,
    Verdict,
    Verification,
    VerificationError,
    worst_grade,
)

CASE = Case("float32", (1.0,), (-0.5,), 0.0, 2.0)
CASE_ALONG = replace(CASE, direction=Direction((1.0,), (0.0,), 0.5))


def verdict(grade: Grade | None = Grade.STABLE, **changes: Any) -> Verdict:
    """A verdict that passes, but for what is changed."""
    fields: dict[str, Any] = {
        "subject": "given",
        "kind": "neuron",
        "dtype": "float32",
        "device": "cpu",
        "required": Grade.TEXTBOOK,
        "expected_wrong": False,
        "reason": "",
        "grade": grade,
        "examples": 13,
        "unjudged": 2,
        "hazards": 1,
        "regimes": {"empty": 13},
        "quantities": {"output": QuantityVerdict(grade, 0.75, 0.5, 3, CASE)},
        "laws": (LawVerdict("structure", True),),
        "counterexample": None,
        "error": None,
        "seconds": 0.5,
    }
    return Verdict(**{**fields, **changes})


def broken(name: str, *, required: bool = True) -> LawVerdict:
    """A law that did not hold."""
    return LawVerdict(
        name, False, Counterexample(CASE, f"{name} is broken"), required=required, checked=5
    )


PASSING = verdict()
WRONG = verdict(Grade.WRONG, counterexample=Counterexample(CASE, "output is wrong"))
UNJUDGED = verdict(None)
RAISED = verdict(None, error="raised ValueError: no")


@pytest.mark.parametrize(
    ("given", "failure"),
    [
        pytest.param(PASSING, None, id="better than required passes"),
        pytest.param(verdict(Grade.TEXTBOOK), None, id="as required passes"),
        pytest.param(WRONG, "graded wrong, required textbook", id="worse fails"),
        pytest.param(
            verdict(required=Grade.FAITHFUL), "graded stable, required faithful", id="a step fails"
        ),
        pytest.param(RAISED, "raised ValueError: no", id="raising fails"),
        pytest.param(
            UNJUDGED,
            "nothing was judged in 13 cases: every bound is vacuous",
            id="nothing judged does not pass",
        ),
        pytest.param(
            verdict(laws=(broken("structure"), LawVerdict("repeatable", True))),
            "breaks the law structure",
            id="a broken law fails",
        ),
        pytest.param(
            verdict(laws=(broken("lanes", required=False),)),
            None,
            id="an observed law that is broken is no failure",
        ),
        pytest.param(
            verdict(laws=(broken("lanes", required=False), broken("layout"))),
            "breaks the law layout",
            id="nor is it named beside one that is",
        ),
        pytest.param(
            verdict(Grade.WRONG, laws=(broken("structure"), broken("repeatable"))),
            "breaks the law structure, repeatable; graded wrong, required textbook",
            id="all faults are named",
        ),
        pytest.param(
            verdict(None, laws=(broken("structure"),)),
            "breaks the law structure",
            id="a law broken in every case explains why nothing was judged",
        ),
        pytest.param(
            verdict(Grade.WRONG, required=Grade.WRONG, expected_wrong=True),
            None,
            id="stated wrong and caught passes",
        ),
        pytest.param(
            verdict(Grade.WRONG, required=Grade.WRONG, expected_wrong=True, laws=(broken("x"),)),
            "breaks the law x",
            id="stated wrong does not excuse a broken law",
        ),
        pytest.param(
            verdict(required=Grade.WRONG, expected_wrong=True, reason="it cancels"),
            "stated wrong (it cancels), but graded stable in 13 cases: the search has become "
            "weaker; raise --examples",
            id="stated wrong and not caught fails",
        ),
        pytest.param(verdict(required=Grade.WRONG), None, id="required wrong, all passes"),
    ],
)
def test_failure(given: Verdict, failure: str | None) -> None:
    """Why a verdict fails, in a line; none if it passes."""
    assert failure == given.failure
    assert given.passed == (failure is None)


@pytest.mark.parametrize(
    ("verdicts", "interrupted", "status"),
    [
        pytest.param([PASSING, PASSING], False, 0, id="all passed -> 0"),
        pytest.param([PASSING, WRONG], False, 1, id="one failed -> 1"),
        pytest.param([UNJUDGED, WRONG], False, 1, id="failed and nothing judged -> 1"),
        pytest.param([RAISED], False, 1, id="raised -> 1"),
        pytest.param([verdict(None, laws=(broken("x"),))], False, 1, id="law broken -> 1"),
        pytest.param([UNJUDGED], False, 3, id="nothing judged -> 3"),
        pytest.param([PASSING, UNJUDGED], False, 3, id="one not judged -> 3"),
        pytest.param([], False, 3, id="no verdict -> 3"),
        pytest.param([PASSING], True, 5, id="interrupted -> 5"),
        pytest.param([], True, 5, id="interrupted at once -> 5"),
        pytest.param([PASSING, WRONG], True, 1, id="failed, then interrupted -> 1"),
    ],
)
def test_exit_status(verdicts: list[Verdict], interrupted: bool, status: int) -> None:
    """Only 0 is a pass, and only 0 raises nothing."""
    verification = Verification({}, tuple(verdicts), interrupted)
    assert status == verification.exit_status
    assert verification.passed == (status == 0)
    if verification.passed:
        verification.raise_for_failure()
    else:
        with pytest.raises(VerificationError):
            verification.raise_for_failure()


def test_raise_for_failure_says_what_failed() -> None:
    """Every failed verdict, its case included; an interruption; or that there was nothing."""
    with pytest.raises(AssertionError) as failed:
        Verification({}, (PASSING, WRONG, RAISED)).raise_for_failure()
    assert "given float32 cpu: graded wrong, required textbook" in str(failed.value)
    assert "given float32 cpu: raised ValueError: no" in str(failed.value)
    assert CASE.to_json() in str(failed.value)
    assert "as required" not in str(failed.value)
    with pytest.raises(VerificationError, match=r"^nothing was verified; expected at least one"):
        Verification({}, ()).raise_for_failure()
    with pytest.raises(VerificationError, match=r"^the verification was interrupted after 1 verd"):
        Verification({}, (PASSING,), interrupted=True).raise_for_failure()


def test_json_of_a_verdict() -> None:
    """Every field as it is published, and no other."""
    text = Verification({"seed": 7}, (verdict(Grade.WRONG, laws=(broken("x"),)),), True).to_json()
    assert text.endswith(b"}\n")
    case = json.loads(CASE.to_json())
    assert json.loads(text) == {
        "schema": "neuron-harness/verification/1",
        "environment": {"seed": 7},
        "interrupted": True,
        "verdicts": [
            {
                "subject": "given",
                "kind": "neuron",
                "dtype": "float32",
                "device": "cpu",
                "required": "textbook",
                "grade": "wrong",
                "passed": False,
                "examples": 13,
                "unjudged": 2,
                "hazards": 1,
                "regimes": {"empty": 13},
                "quantities": {
                    "output": {
                        "grade": "wrong",
                        "max_ulp": 0.75,
                        "max_bound_ratio": 0.5,
                        "nonfinite_mismatch": 3,
                        "worst_case": case,
                    }
                },
                "laws": [
                    {
                        "name": "x",
                        "passed": False,
                        "applies": True,
                        "required": True,
                        "checked": 5,
                        "counterexample": {"case": case, "message": "x is broken"},
                    }
                ],
                "second_order": None,
                "counterexample": None,
                "failure": "breaks the law x; graded wrong, required textbook",
                "error": None,
            }
        ],
    }


TWICE = SecondOrderVerdict(
    required=Grade.TEXTBOOK,
    asked_for=False,
    unsupported=None,
    grade=Grade.WRONG,
    examples=5,
    unjudged=1,
    hazards=0,
    quantities={"bias_hessian_product": QuantityVerdict(Grade.WRONG, 9.5, 4.0, 1, CASE_ALONG)},
    counterexample=Counterexample(CASE_ALONG, "it is wrong"),
)
UNSUPPORTED = replace(TWICE, grade=None, unsupported="it raises", counterexample=None)


@pytest.mark.parametrize(
    ("given", "failure"),
    [
        pytest.param(TWICE, "the second order is graded wrong, required textbook", id="wrong"),
        pytest.param(replace(TWICE, grade=Grade.STABLE), None, id="better than required"),
        pytest.param(replace(TWICE, required=None), None, id="only reported"),
        pytest.param(UNSUPPORTED, None, id="has none, and nobody asked"),
        pytest.param(
            replace(UNSUPPORTED, asked_for=True),
            "has no second order: it raises",
            id="has none, and somebody asked",
        ),
        pytest.param(
            replace(TWICE, error="raised ValueError: no"),
            "differentiated twice, it raised ValueError: no",
            id="raised",
        ),
        pytest.param(replace(TWICE, grade=None), None, id="nothing judged, and nobody asked"),
        pytest.param(
            replace(TWICE, grade=None, asked_for=True),
            "nothing of the second order was judged",
            id="nothing judged, and somebody asked",
        ),
    ],
)
def test_failure_of_the_second_order(given: SecondOrderVerdict, failure: str | None) -> None:
    """It fails the verdict, which says so unless the first order is at fault already."""
    assert failure == given.failure
    assert given.passed == (failure is None)
    assert failure == verdict(second_order=given).failure
    wrong = verdict(Grade.WRONG, second_order=given)
    assert "graded wrong, required textbook" == wrong.failure
    nothing = verdict(None, second_order=given)
    assert nothing.nothing_judged == (failure is None)
    assert not nothing.passed


def test_json_of_a_second_order() -> None:
    """Its own figures and case, with the direction."""
    text = Verification({}, (verdict(second_order=TWICE),)).to_json()
    case = json.loads(CASE_ALONG.to_json())
    assert {"inputs", "weights", "bias"} == set(case["direction"])
    assert {
        "required": "textbook",
        "grade": "wrong",
        "passed": False,
        "unsupported": None,
        "examples": 5,
        "unjudged": 1,
        "hazards": 0,
        "quantities": {
            "bias_hessian_product": {
                "grade": "wrong",
                "max_ulp": 9.5,
                "max_bound_ratio": 4.0,
                "nonfinite_mismatch": 1,
                "worst_case": case,
            }
        },
        "counterexample": {"case": case, "message": "it is wrong"},
        "failure": "the second order is graded wrong, required textbook",
        "error": None,
    } == json.loads(text)["verdicts"][0]["second_order"]


def test_wall_time_is_not_in_the_json() -> None:
    """Equal runs print equal JSON."""
    texts = {Verification({}, (verdict(seconds=time),)).to_json() for time in (0.1, 2.0)}
    assert 1 == len(texts)


def test_worst_grade() -> None:
    """Of the grades there are; None of none."""
    assert worst_grade([]) is worst_grade([None]) is None
    assert Grade.STABLE is worst_grade([Grade.CORRECT, None, Grade.STABLE, Grade.FAITHFUL])
