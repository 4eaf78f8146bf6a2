"""A hunt as it is published: what failed, its exit status and its JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.grade import Grade
from harness.hexfloat import hex_text
from harness.hunt.case_search import RegimeFigures
from harness.hunt.engine import Hunt
from harness.hunt.evaluate import Form
from harness.hunt.finds import Find
from harness.hunt.judge import BOUND_RATIO, NEURON_OBJECTIVES, ULPS, Figure
from harness.hunt.scores import Objective
from harness.sweep.engine import environment
from harness.sweep.record import to_json as sweep_json
from harness.verdict import EXIT_INCONCLUSIVE, EXIT_NOTHING, EXIT_OK, EXIT_VIOLATION, case_record


def failures(hunt: Hunt) -> list[str]:
    """What makes a hunt a failure, one line each: a find that nothing explains, a subject that
    raised, a law that was broken, a result that depends on its place in a block."""
    lines = []
    for find in hunt.finds:
        place = _place(find)
        if find.raised is not None:
            lines.append(f"raised {find.raised.removeprefix('raised ')} at {place}")
        if not find.steady:
            lines.append(
                f"{find.objective} is {find.value:.6g} at {place} among other inputs, and another "
                "by itself: the result depends on its place in a block"
            )
    lines += [
        f"{objective} {figure.value:.6g} at {place} is wrong: nothing explains it"
        for objective, figure, place in _wrong(hunt)
    ]
    lines += [
        f"breaks the law {law}: {text}, as in {case.to_json()}"
        for law, (text, case) in hunt.breaches.items()
    ]
    # The finds of several figures may lie at one input.
    return list(dict.fromkeys([*lines, *hunt.sweep.failures]))


def exit_status(hunt: Hunt) -> int:
    """0 reported; 1 a find is wrong, or a law broken; 3 nothing was tried; 5 interrupted."""
    if failures(hunt):
        return EXIT_VIOLATION
    if hunt.stopped is not None:
        return EXIT_INCONCLUSIVE
    return EXIT_OK if hunt.evaluations else EXIT_NOTHING


def to_json(hunt: Hunt) -> bytes:
    """A hunt as JSON (schema neuron-harness/sweep/1 with the entry "hunt"), indented. Equal finds
    of equal searches print equal bytes."""
    plan = hunt.plan
    record = msgspec.json.decode(sweep_json([hunt.sweep], {**environment(), "seed": plan.seed}))
    (entry,) = record["sweeps"]
    # A hunt tries what it chooses: there is no number of points to be complete with.
    entry["planned_points"] = None
    entry["complete"] = hunt.stopped is None
    entry["passed"] = not failures(hunt) and hunt.stopped is None
    entry["failures"] = failures(hunt)
    if hunt.form is not Form.SWEPT:
        del entry["quantities"]["gradient"]
    entry["hunt"] = {
        "seed": plan.seed,
        "budget_seconds": plan.seconds,
        "budget_evaluations": plan.evaluations,
        "evaluations": hunt.evaluations,
        "cold": plan.cold,
        "known": plan.known,
        "started_from": hunt.started_from,
        "exhausted": hunt.exhausted,
        "stopped": hunt.stopped,
        "unreturned": hunt.unreturned,
        "finds": [_find_record(hunt, find) for find in hunt.finds],
    }
    if hunt.cases:
        entry["neurons"] = {
            "cases": hunt.cases,
            "unjudged": hunt.unjudged,
            "quantities": _quantities(hunt),
            "laws": [
                {"name": law, "passed": False, "message": text, "counterexample": case_record(case)}
                for law, (text, case) in hunt.breaches.items()
            ],
        }
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def _wrong(hunt: Hunt) -> list[tuple[Objective, Figure, str]]:
    """What is wrong: of each quantity the first find of which it is the figure, else any that shows
    it beside another."""
    found: dict[tuple[bool, str], tuple[Objective, Figure, str]] = {}
    for own in (True, False):
        for find in hunt.finds:
            for objective, figure in (find.small.figures if find.small else {}).items():
                wrong = figure.element.grade is Grade.WRONG
                if wrong and (not own or objective == find.objective):
                    key = find.point, objective.quantity
                    found.setdefault(key, (objective, figure, _place(find)))
    return list(found.values())


def _find_record(hunt: Hunt, find: Find) -> dict[str, Any]:
    small = None if find.small is None else find.small.figures.get(find.objective)
    return {
        "quantity": find.objective.quantity,
        "figure": find.objective.figure,
        "value": find.value,
        "grade": find.grade,
        "raised": find.raised,
        "judged_again": find.judged is not None,
        "steady": find.steady,
        "origin": find.origin,
        "evaluations": find.evaluations,
        **_element_record(hunt, find.figure),
        "found_case": case_record(find.found),
        "case": case_record(find.case),
        "case_value": None if small is None else small.value,
    }


def _element_record(hunt: Hunt, figure: Figure | None) -> dict[str, Any]:
    if figure is None:
        return {}
    element = figure.element
    return {
        "index": figure.place,
        "ulps": element.ulps,
        "bound_ratio": element.bound_ratio,
        "computed": hex_text(element.computed),
        "rounded": hex_text(element.exact.rounded(hunt.plan.format)),
    }


def _quantities(hunt: Hunt) -> dict[str, Any]:
    names = dict.fromkeys(objective.quantity for objective in NEURON_OBJECTIVES)
    everything = RegimeFigures()
    for figures in hunt.regimes.values():
        everything.cases += figures.cases
        for objective, worst in figures.worst.items():
            if objective not in everything.worst or worst[0] > everything.worst[objective][0]:
                everything.worst[objective] = worst
    return {
        name: {
            **_worst_record(name, everything),
            "segments": [
                {"regime": regime, **_worst_record(name, figures)}
                for regime, figures in sorted(hunt.regimes.items())
            ],
        }
        for name in names
    }


def _worst_record(name: str, figures: RegimeFigures) -> dict[str, Any]:
    ulps, case = figures.worst.get(Objective(name, ULPS), (0.0, None))
    bound_ratio, of_bound = figures.worst.get(Objective(name, BOUND_RATIO), (0.0, None))
    return {
        "points": figures.cases,
        "max_ulp": ulps,
        "worst_case": case_record(case),
        "max_bound_ratio": bound_ratio,
        "worst_bound_case": case_record(of_bound),
    }


def _place(find: Find) -> str:
    return hex_text(find.case.inputs[0]) if find.point else find.case.to_json()
