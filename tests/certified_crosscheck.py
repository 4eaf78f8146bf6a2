"""Certified arrays against Arb, where a disagreement would show.

    python -m tests.certified_crosscheck [--format NAME] [--count N] [--seed N] [--every]

Draws arguments, keeps those whose exact value lies closest to a tie (one in `KEPT_OF`; --every
keeps all), and lets python-flint's balls judge the rounded tanh and sech^2: the exact value must
lie strictly between the midpoints on either side of the certified result. Prints the number of
answers compared and every disagreement; exits 1 if there is one. Some 5 microseconds an answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference import certified
from reference.certified import curves as curves
from reference.certified.carriers import Carried, bit_patterns, widened
from reference.certified.doubledouble import Float64
from reference.certified.enclosures import place
from reference.formats import FORMATS, Format
from tests.certified_inputs import from_patterns, truncated

#: Of this many drawn arguments the one closest to a tie is compared.
KEPT_OF = 16
_DRAWN = 1 << 16


@dataclass(frozen=True)
class Disagreement:
    """An answer that is not the rounded value."""

    quantity: str
    argument: str
    certified: str


def judged_wrong(
    x: Carried, rounded: Carried, name: str, format: Format
) -> Iterator[tuple[float, float]]:
    """The arguments and results that Arb does not confirm, at whatever precision it takes.

    A ball of 120 bits less the result must lie between half the gaps to its neighbours. Results
    whose gaps binary64 does not hold, and those a ball of 120 bits does not decide, take longer.
    """
    import flint

    flint.ctx.prec = 120
    values = rounded.astype(np.float64)
    half_below, half_above = _half_gaps(rounded, format)
    ball, function = flint.arb, {"tanh": flint.arb.tanh, "sech2": _sech2}[name]
    for a, value, below, above in zip(
        x.tolist(), values.tolist(), half_below.tolist(), half_above.tolist(), strict=True
    ):
        off = function(ball(a)) - value
        if not (off < above and off > below) and not _confirmed(name, a, value, format):
            yield a, value


def _sech2(ball: Any) -> Any:
    root = ball.sech()
    return root * root


def _half_gaps(rounded: Carried, format: Format) -> tuple[Float64, Float64]:
    """Half the distances to the floats below (negative) and above; 0 where they may underflow."""
    values = rounded.astype(np.float64)
    patterns = bit_patterns(rounded, format).astype(np.uint64).view(np.int64)
    toward_zero = from_patterns(np.maximum(patterns - 1, 0), format).astype(np.float64)
    away = from_patterns(patterns + 1, format).astype(np.float64)
    usable = (np.abs(values) > 2.0**-960) & np.isfinite(away)
    inner = np.where(usable, (toward_zero - values) / 2, 0.0)
    outer = np.where(usable, (away - values) / 2, 0.0)
    return np.minimum(inner, outer), np.maximum(inner, outer)


def _confirmed(name: str, a: float, value: float, format: Format) -> bool:
    """Whether a ball of some precision lies between the midpoints beside `value`."""
    import flint

    below, above = format.next_down(value), format.next_up(value)
    confirmed = False
    for bits in (400, 1600, 6400):
        flint.ctx.prec = bits
        ball = flint.arb(a)
        exact = ball.tanh() if name == "tanh" else _sech2(ball)
        lower = (flint.arb(below) + flint.arb(value)) / 2
        upper = (flint.arb(value) + flint.arb(above)) / 2
        if exact > lower and exact < upper:
            confirmed = True
            break
    flint.ctx.prec = 120
    return confirmed


def arguments(count: int, format: Format, rng: np.random.Generator) -> Carried:
    """Arguments of both signs over the binades where the functions are not constant."""
    low, high = -(format.precision + 2) / 2, np.log2(format.emax + 40)
    values = rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(low, high, count)
    return truncated(values, format)


def close_to_ties(x: Carried, name: str, format: Format, count: int) -> Carried:
    """The `count` arguments whose exact values lie closest to a midpoint, in ulps."""
    with np.errstate(all="ignore"):
        placed = place(getattr(curves.tanh_sech2(widened(x)), name), format)
        distance = 0.5 - np.abs(placed.residual) / placed.quantum
    return x[np.argpartition(distance, count - 1)[:count]]


def disagreements(
    format: Format, count: int, seed: int, *, every: bool = False
) -> Iterator[Disagreement]:
    """Compare `count` answers of tanh and of sech^2 each."""
    rng = np.random.default_rng(seed)
    for name in ("tanh", "sech2"):
        left = count
        while left:
            drawn = arguments(_DRAWN, format, rng)
            part = min(left, _DRAWN if every else _DRAWN // KEPT_OF)
            x = drawn[:part] if every else close_to_ties(drawn, name, format, part)
            rounded = getattr(certified.rounded_tanh_sech2(x, format=format), name)
            for a, value in judged_wrong(x, rounded, name, format):
                yield Disagreement(name, a.hex(), value.hex())
            left -= part


def main() -> int:
    """Run the comparison for one format or all; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [format.name for format in FORMATS]
    parser.add_argument("--format", choices=names, action="append")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", action="store_true", help="do not pick arguments near ties")
    options = parser.parse_args()
    failed = False
    for format in FORMATS:
        if options.format and format.name not in options.format:
            continue
        start = time.perf_counter()
        found = list(disagreements(format, options.count, options.seed, every=options.every))
        seconds = time.perf_counter() - start
        answers = 2 * options.count
        print(f"{format.name}: {answers} answers, {len(found)} disagreements, {seconds:.0f} s")
        for disagreement in found:
            print("  ", disagreement)
        failed |= bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
