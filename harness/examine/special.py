"""The results at zeros, infinities, NaN, and the ends of the format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.examine.points import Judged, Points
from harness.hexfloat import hex_text
from harness.landmarks import landmarks
from harness.subjects import Kind
from reference.formats import Format


def special_values(kind: Kind, format: Format) -> Iterator[tuple[str, float]]:
    """Special values by name, positive ones before their negatives."""
    raw = kind is Kind.TANH_GRADIENT
    named = {
        "zero": 0.0,
        "least subnormal": format.round(format.smallest_subnormal),
        "least normal": format.round(format.smallest_normal),
        "one": 1.0,
    }
    if raw:
        named["just below one"] = format.next_down(1.0)
        named["beyond one"] = format.next_up(1.0)
    else:
        named["tanh rounds to 1"] = format.from_ordinal(landmarks(format).one_from)
    named["largest"] = format.round(format.largest_finite)
    named["infinity"] = float("inf")
    for name, value in named.items():
        yield name, value
        yield f"-{name}", -value
    yield "NaN", float("nan")


def specials(points: Points) -> list[dict[str, Any]]:
    """The result of every quantity at each special value (see `harness.report.record.Special`)."""
    named = list(special_values(points.plan.kind, points.format))
    found = points(points.bits_of(np.array([value for _, value in named])))
    return [
        {
            "what": what,
            "x": hex_text(value),
            "quantity": name,
            "computed": hex_text(float(judged.computed[index])),
            "rounded": hex_text(float(judged.rounded[index])),
            "grade": _grade(judged, index),
        }
        for index, (what, value) in enumerate(named)
        for name, judged in found.items()
    ]


def _grade(judged: Judged, index: int) -> str | None:
    if not judged.misrounded[index]:
        return "correct"
    return None if judged.unfaithful[index] else "faithful"
