"""The least and the greatest signed error along the ordinals of x.

The ordinals number a format's floats in order, so that a binade of tiny numbers takes as much room
as one of large ones. They are cut into steps of equal length. In 16 bits every number of a step is
tried; in wider formats numbers at equal distances are, and the known worst ones besides.
"""

from __future__ import annotations

from itertools import pairwise
from math import log2
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.examine.points import Points
from harness.landmarks import landmarks
from harness.subjects import Kind
from reference.dyadic import Dyadic
from reference.formats import Format

_STEPS: Final = 256
#: Numbers tried in a step of a format too wide to try all; the oracle of float64 takes longer.
_SAMPLES: Final = {16: 0, 32: 48, 64: 12}
_TICKS: Final = 7


class Region(NamedTuple):
    """Ordinals from `start` to `stop`, both included, and the marks of their axis: ordinals with
    what they say."""

    name: str
    start: int
    stop: int
    ticks: tuple[tuple[int, str], ...]


def regions(kind: Kind, format: Format) -> tuple[Region, Region]:
    """The whole format, and the part of the positive numbers where tanh is neither x nor 1 (for a
    stored output y: where 1 - y^2 is not 1)."""
    raw = kind is Kind.TANH_GRADIENT
    last = format.to_bits(1.0 if raw else float("inf"))
    middle = format.emin // 2
    powers = [middle, 0] + ([] if raw else [-middle])
    marks = [(_power(format, k), _label(k)) for k in powers] + ([] if raw else [(last, "inf")])
    ticks = (
        *((-ordinal, f"-{label}") for ordinal, label in reversed(marks)),
        (0, "0"),
        *marks,
    )
    whole = Region("every float" if not raw else "every y in [-1, 1]", -last, last, ticks)
    if raw:
        exponents = (-(format.precision // 2) - 1, 0)
        stop = last
    else:
        found = landmarks(format)
        start = format.from_ordinal(found.linear_below)
        exponents = (
            int(np.floor(log2(start))),
            int(np.ceil(log2(format.from_ordinal(found.vanished_from)))),
        )
        stop = min(found.vanished_from, _power(format, exponents[1]))
    first = _power(format, exponents[0])
    step = max(1, -(-(exponents[1] - exponents[0]) // _TICKS))
    inner = [k for k in range(exponents[0], exponents[1] + 1, step) if _power(format, k) <= stop]
    curved = Region(
        "1 - y^2 is not 1" if raw else "between x and 1",
        first,
        stop,
        tuple((_power(format, k), _label(k)) for k in inner),
    )
    return whole, curved


def envelopes(points: Points, region: Region, known: NDArray[np.int64]) -> list[dict[str, Any]]:
    """The envelope of each quantity in a region, as JSON values (see
    `harness.report.record.Envelope`). `known` are ordinals to try besides."""
    samples = _SAMPLES[points.format.width]
    span = region.stop - region.start
    steps = min(_STEPS, span)
    # On integers: the ordinals of float64 do not fit into a float.
    edges = [region.start + span * i // steps for i in range(steps + 1)]
    edges[-1] = region.stop + 1
    tried = []
    for low, high in pairwise(edges):
        inside = known[(known >= low) & (known < high)]
        if samples and high - low > samples:
            width = high - low
            own = np.array([low + width * j // samples for j in range(samples)], np.int64)
            own = np.append(own, np.int64(high - 1))
        else:
            own = np.arange(low, high, dtype=np.int64)
        tried.append(np.unique(np.concatenate([own, inside])))
    ordinals = np.concatenate(tried)
    starts = np.cumsum([0, *(part.size for part in tried[:-1])])
    sampled = ordinals.size < region.stop - region.start + 1
    return [
        {
            "quantity": name,
            "region": region.name,
            "sampled": bool(sampled),
            "points": int(ordinals.size),
            "lowest": _sizes(np.fmin.reduceat(judged.ulps, starts)),
            "highest": _sizes(np.fmax.reduceat(judged.ulps, starts)),
            "ticks": [
                {"at": (ordinal - region.start) / span, "label": label}
                for ordinal, label in region.ticks
            ],
        }
        for name, judged in points(points.bits_of_ordinals(ordinals)).items()
    ]


def _sizes(ulps: NDArray[np.float64]) -> list[float | None]:
    # Five digits are more than a plot can show.
    return [None if each != each else float(f"{each:.5g}") for each in ulps.tolist()]


def _power(format: Format, exponent: int) -> int:
    return format.to_bits(format.round(Dyadic(1, exponent)))


def _label(exponent: int) -> str:
    return str(2**exponent) if 0 <= exponent <= 4 else f"2^{exponent}"
