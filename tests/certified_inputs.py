"""Arrays in the carriers of the formats, for the tests of `reference.certified`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reference.certified.carriers import Carried, bit_patterns, carrier
from reference.formats import BFLOAT16, Format

SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, 2.0)


def from_patterns(patterns: npt.NDArray[np.integer], format: Format) -> Carried:
    """The floats with these bit patterns, modulo 2^width."""
    whole = patterns.astype(np.int64).astype(np.uint64)
    if format == BFLOAT16:
        return (whole.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return whole.astype(f"u{format.width // 8}").view(carrier(format))


def truncated(values: npt.NDArray[np.float64], format: Format) -> Carried:
    """Members of the format next to `values`."""
    with np.errstate(all="ignore"):
        if format == BFLOAT16:
            patterns = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
            return patterns.view(np.float32)
        return values.astype(carrier(format))


def moved(values: Carried, steps: int, format: Format, rng: np.random.Generator) -> Carried:
    """Every value by up to `steps` bit patterns up or down."""
    patterns = bit_patterns(values, format).astype(np.uint64).view(np.int64)
    return from_patterns(patterns + rng.integers(-steps, steps + 1, values.shape), format)


def patterns(count: int, format: Format, rng: np.random.Generator) -> Carried:
    """Uniform bit patterns: every exponent, NaN and infinities included."""
    drawn = rng.integers(0, 1 << format.width, count, dtype=np.uint64)
    return from_patterns(drawn.view(np.int64), format)


def spread(count: int, format: Format, rng: np.random.Generator) -> Carried:
    """Arguments of both signs: uniform patterns, every binade that matters, the tail, specials."""
    part = count // 3
    return np.concatenate(
        [
            patterns(part, format, rng),
            truncated(rng.choice([-1.0, 1.0], part) * 2.0 ** rng.uniform(-14, 9, part), format),
            truncated(rng.uniform(-400, 400, part), format),
            truncated(np.array(SPECIAL), format),
        ]
    )
