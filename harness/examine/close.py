"""A close look: from a request to its answer, both JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from harness.api import make_plans
from harness.case import Case
from harness.errors import CannotVerify, one_line
from harness.examine.curve import curves
from harness.examine.envelope import envelopes, regions
from harness.examine.points import Points
from harness.examine.special import specials
from harness.examine.speed import speeds
from harness.examine.worst import Cases
from harness.flush import subnormals_kept
from harness.hunt.plan import Plan, make_plan
from harness.subjects import Subject, load


class Request(msgspec.Struct):
    """What to look at: a subject as the command line names it, and cases to judge one by one, each
    with its "look", "quantity" and "case", and whatever else goes back as it came."""

    subject: str
    kind: str
    dtype: str
    device: str
    seed: int
    worst: list[dict[str, Any]]


def look_closely(content: bytes) -> bytes:
    """The answer to a request: envelopes, curves, special values, throughput, and the cases judged;
    "left_out" says in lines what of it cannot be had of this subject.

    Raises ValueError for what is no request, or no subject; CannotVerify for a device that is not
    there.
    """
    request = msgspec.json.decode(content, type=Request)
    subject = load(request.subject, request.kind or None)
    plan = make_plan(
        subject, dtype=request.dtype, device=request.device, seed=request.seed, evaluations=1
    )
    answer: dict[str, Any] = {
        "envelopes": [],
        "curves": [],
        "specials": [],
        "throughput": [],
        "worst": request.worst,
        "left_out": [],
    }
    with subnormals_kept():
        # Throughput last: it may disturb what it measures, and nothing else hangs on it.
        for name, what, find in (
            ("worst", "the worst inputs by themselves", lambda: _worst(subject, request)),
            ("", "envelopes, curves and special values", lambda: _at_points(plan, request)),
            ("throughput", "throughput", lambda: speeds(plan)),
        ):
            _enter(answer, name, what, find)
    return msgspec.json.encode(answer)


def _enter(
    answer: dict[str, Any], name: str, what: str, find: Callable[[], list[Any] | dict[str, Any]]
) -> None:
    """One part of the answer. What a subject does to it is no reason to lose the others."""
    try:
        found = find()
    except CannotVerify as error:
        answer["left_out"].append(f"{what}: {error}")
    except (Exception, SystemExit) as error:
        answer["left_out"].append(f"{what}: raised {one_line(error)}")
    else:
        answer.update(found if isinstance(found, dict) else {name: found})


def _worst(subject: Subject, request: Request) -> list[dict[str, Any]]:
    (plan,) = make_plans(
        [(request.subject, subject)],
        dtypes=[request.dtype],
        devices=[request.device],
        require=None,
        examples=1,
        seed=request.seed,
        activation_ulps=None,
    )
    judged = Cases(plan)
    return [
        {**asked, **judged(asked["quantity"], Case.from_json(asked["case"]))}
        for asked in request.worst
    ]


def _at_points(plan: Plan, request: Request) -> dict[str, Any]:
    points = Points(plan)
    known = np.array(_known_ordinals(plan, request), np.int64)
    found = [envelopes(points, region, known) for region in regions(plan.kind, plan.format)]
    return {
        "envelopes": [each for of_region in found for each in of_region],
        "curves": curves(points),
        "specials": specials(points),
    }


def _known_ordinals(plan: Plan, request: Request) -> list[int]:
    """The ordinals of the numbers among the cases."""
    ordinals = []
    for asked in request.worst:
        case = Case.from_json(asked["case"])
        if asked["look"] in ("sweep", "hunt") and len(case.inputs) == 1:
            (x,) = case.inputs
            if x == x:
                ordinals.append(plan.format.ordinal(x))
    return ordinals
