"""The curves of tanh and of its derivative, exact and as the subject draws them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.examine.points import Points
from harness.subjects import Kind
from reference.dyadic import from_float

_POINTS: Final = 121
_RANGE: Final = 6.0


def curves(points: Points) -> list[dict[str, Any]]:
    """Each quantity at equal distances (see `harness.report.record.Curve`): for -6 <= x <= 6, or
    of a tanh-gradient for -1 <= y <= 1."""
    end = 1.0 if points.plan.kind is Kind.TANH_GRADIENT else _RANGE
    members = [points.format.round(from_float(float(x))) for x in np.linspace(-end, end, _POINTS)]
    x = np.array(members, np.float64)
    return [
        {
            "quantity": name,
            "x": x.tolist(),
            "computed": _finite(judged.computed),
            "rounded": _finite(judged.rounded),
        }
        for name, judged in points(points.bits_of(x)).items()
    ]


def _finite(values: NDArray[np.floating[Any]]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
