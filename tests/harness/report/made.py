"""Nights for tests, made up: runs with rows and details, as many as are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from harness.report.nights import Night, nights_of
from harness.report.record import (
    Curve,
    Details,
    Envelope,
    Figure,
    Histogram,
    LawRow,
    LeftOut,
    Row,
    Run,
    Segment,
    Special,
    Throughput,
    Tick,
    WorstInput,
)

MACHINE = "x86_64 AVX2"
ENVIRONMENT = {"torch": "2.13.0", "numpy": "2.4.6", "commit": "0" * 40}
CASE = (
    '{"dtype":"float16","inputs":["0x1.0000000000000p+0"],"weights":["0x1.0000000000000p+0"],'
    '"bias":"0x0.0p+0","upstream_gradient":"0x1.0000000000000p+0","layout":"contiguous"}'
)


def figure(quantity: str = "output", **others: Any) -> Figure:
    return Figure(**{"quantity": quantity, "grade": "faithful", "max_ulp": 0.75, **others})


def row(figures: Sequence[Figure] = (), **others: Any) -> Row:
    found = {
        "subject": "torch-tanh",
        "kind": "activation",
        "dtype": "float16",
        "device": "cpu",
        "machine": MACHINE,
        "look": "verify",
        "sample": "100 cases (seed 1)",
        "exhaustive": False,
        "points": 100,
        "passed": True,
        "required": "textbook",
        "grade": "faithful",
        "figures": tuple(figures) or (figure(),),
        **others,
    }
    return Row(**found)


def run(
    rows: Sequence[Row] = (), night: str = "2026-01-01", started: float = 0.0, **others: Any
) -> Run:
    found = {
        "night": night,
        "machine": MACHINE,
        "started": started,
        "seconds": 1.0,
        "environment": ENVIRONMENT,
        "rows": tuple(rows) or (row(),),
        **others,
    }
    # As lists they would be equal to nothing that was read back.
    return Run(**found | {name: tuple(found.get(name, ())) for name in ("details", "left_out")})


def night(*rows: Row, **others: Any) -> Night:
    (only,) = nights_of([run(rows, **others)])
    return only


def with_ulps(found: Row, ulps: float) -> Row:
    """The row with its first figure's worst error another."""
    first, *rest = found.figures
    return msgspec.structs.replace(
        found, figures=(msgspec.structs.replace(first, max_ulp=ulps), *rest)
    )


def details(subject: str = "torch-tanh", dtype: str = "float16", **others: Any) -> Details:
    """Details with something in every section."""
    found = {
        "subject": subject,
        "kind": "activation",
        "dtype": dtype,
        "device": "cpu",
        "machine": MACHINE,
        "segments": tuple(segment(k) for k in range(-6, 3)),
        "histograms": (
            Histogram(
                quantity="output",
                look="sweep",
                edges=(-1.0, -0.5, 0.5, 1.0),
                counts=(0, 3, 90, 4, 1),
            ),
        ),
        "envelopes": (
            Envelope(
                quantity="output",
                region="every float",
                sampled=True,
                points=512,
                lowest=(-0.5, None, -0.25, -2.0),
                highest=(0.5, None, 0.25, 7.5),
                ticks=(Tick(0.0, "-inf"), Tick(0.5, "0"), Tick(1.0, "inf")),
            ),
        ),
        "curves": (
            Curve(
                quantity="output",
                x=(-1.0, 0.0, 1.0),
                computed=(-0.76, 0.0, None),
                rounded=(-0.76, 0.0, 0.76),
            ),
        ),
        "specials": (
            Special(
                what="infinity",
                x="inf",
                quantity="output",
                computed="nan",
                rounded="0x1p+0",
                grade=None,
            ),
        ),
        "worst": (
            WorstInput(
                look="sweep",
                quantity="output",
                case=CASE,
                computed="0x1.8600000000000p-1",
                rounded="0x1.8600000000000p-1",
                exact="0.76159415595576488812",
                ulps=-0.32,
                bound_ulps=1.0,
                grade="correct",
            ),
        ),
        "laws": (
            LawRow(
                look="verify",
                name="swap",
                required=False,
                passed=False,
                applies=True,
                checked=9,
                message="they differ",
                case=CASE,
            ),
            LawRow(
                look="verify",
                name="structure",
                required=True,
                passed=True,
                applies=True,
                checked=100,
            ),
        ),
        "throughput": (Throughput(what="y = f(x)", elements=1000, calls=9, seconds=0.001),),
        **others,
    }
    return Details(**found)


def segment(k: int, **others: Any) -> Segment:
    found = {
        "quantity": "output",
        "start": f"0x1.0000000000000p{k:+d}",
        "stop": f"0x1.ffc0000000000p{k:+d}",
        "landmark": None,
        "points": 2048,
        "max_ulp": 0.5 + max(k, 0),
        "mean_ulp": 0.25,
        "misrounded": 2 * max(k, 0),
        "unfaithful": 0,
        "nonfinite": 0,
        "within": (0.5, 1.0, 1.0),
        "worst_x": f"0x1.8000000000000p{k:+d}",
        **others,
    }
    return Segment(**found)


def year(nights: int = 365, verdicts: int = 40) -> list[Run]:
    """A year of nights: subjects that hold still, that change now and then, and one that changes
    every night. The last night has details."""
    subjects = [f"subject-{index}" for index in range(-(-verdicts // 4))]
    targets = [
        (subject, dtype)
        for subject in subjects
        for dtype in ("float16", "bfloat16", "float32", "float64")
    ][:verdicts]
    quantities = ("output", "input_gradient", "weight_gradient", "bias_gradient")
    runs = []
    for number in range(nights):
        rows = [
            row(
                [
                    figure(name, max_ulp=1.0 + (number if place == 0 else number // (30 + place)))
                    for name in quantities
                ],
                subject=subject,
                dtype=dtype,
            )
            for place, (subject, dtype) in enumerate(targets)
        ]
        last = number == nights - 1
        runs.append(
            run(
                rows,
                night=f"night-{number:03}",
                started=86400.0 * number,
                environment={**ENVIRONMENT, "torch": f"2.{number // 60}.0"},
                left_out=(LeftOut("a sweep", "no time"),),
                details=tuple(
                    details(
                        subject,
                        dtype,
                        segments=tuple(segment(k) for k in range(-120, 120)),
                        worst=details().worst * 10,
                    )
                    for subject, dtype in targets
                )
                if last
                else (),
            )
        )
    return runs
