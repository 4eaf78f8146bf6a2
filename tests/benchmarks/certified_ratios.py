"""Points a second of the certified arrays, as ratios to python-flint's balls and gmpy2's MPFR.

    python -m tests.benchmarks.certified_ratios [--rounds N] [--points N]

tanh and sech^2 of the same points on one core, in one run: the contestants take turns, and each
one's best round counts, in CPU seconds of the thread. The other libraries work at 120 bits.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib import metadata

import numpy as np

from reference import certified
from reference.certified.carriers import Carried
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format

#: Bits of the arbitrary-precision libraries.
BITS = 120

#: What the certified arrays are held to: points a second, and ratios to flint and MPFR.
TARGETS = {BINARY32: (60e6, 80.0, 300.0), BINARY64: (None, 15.0, None)}


def points(format: Format, count: int) -> Carried:
    """Random arguments over the binades in which tanh and sech^2 are neither trivial nor over."""
    rng = np.random.default_rng(1)
    values = rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(-12, 5, count)
    if format == BFLOAT16:
        return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return values.astype(certified.carrier(format))


def with_flint(values: list[float]) -> Callable[[], None]:
    """tanh and sech^2 as Arb's balls: sech squared is its quickest sech^2 of full accuracy."""
    import flint

    def run() -> None:
        flint.ctx.prec = BITS
        for value in values:
            ball = flint.arb(value)
            ball.tanh()
            slope = ball.sech()
            slope * slope

    return run


def with_mpfr(values: list[float]) -> Callable[[], None]:
    """tanh and sech^2 by MPFR."""
    import gmpy2

    def run() -> None:
        with gmpy2.context(precision=BITS):
            for value in values:
                number = gmpy2.mpfr(value)
                gmpy2.tanh(number)
                gmpy2.square(gmpy2.sech(number))

    return run


def best_seconds(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least CPU time of each, taking turns."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.thread_time()
            run()
            best[name] = min(best[name], time.thread_time() - start)
    return best


def main() -> None:
    """Print one line a format, with the targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--points", type=int, default=1 << 18)
    arguments = parser.parse_args()
    names = ", ".join(
        f"{name} {metadata.version(name)}" for name in ("numpy", "python-flint", "gmpy2")
    )
    print(f"{names}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {BITS} bits")
    for format in (BINARY16, BFLOAT16, BINARY32, BINARY64):
        x = points(format, arguments.points)
        few = x[:1500].tolist()
        escalated = certified.rounded_tanh_sech2(x, format=format).escalated
        seconds = best_seconds(
            {
                "certified": lambda x=x, format=format: certified.rounded_tanh_sech2(
                    x, format=format
                ),
                "flint": with_flint(few),
                "mpfr": with_mpfr(few),
            },
            arguments.rounds,
        )
        rate = x.size / seconds["certified"]
        ratios = [rate * seconds[name] / len(few) for name in ("flint", "mpfr")]
        line = (
            f"{format.name:9} {rate / 1e6:7.1f} M points/s, {ratios[0]:6.1f} x flint, "
            f"{ratios[1]:6.1f} x MPFR, {escalated} of {x.size} escalated"
        )
        if format in TARGETS:
            wanted = zip((rate, *ratios), TARGETS[format], strict=True)
            met = all(target is None or found >= target for found, target in wanted)
            line += "; target " + ("met" if met else f"missed: {TARGETS[format]}")
        print(line)


if __name__ == "__main__":
    main()
