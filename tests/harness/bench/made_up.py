"""Turns and sides that were never measured."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.bench.gate import GatePlan
from harness.bench.processes import Side
from harness.bench.turn import CONTROL, NEW, OLD, Turn
from harness.bench.workload import Workload, subject_workload

NAMES = ("a float32 n=8", "b float32 n=8", "c float32 n=8")


def made_up_plan(pairs: int = 24, **changed: Any) -> GatePlan:
    """Three workloads on sides of no substance."""
    workloads: tuple[Workload, ...] = tuple(subject_workload(x, "float32", 8) for x in "abc")
    sides = [Side(name, Path("/"), (), workloads) for name in ("then", "then", "now")]
    return GatePlan(*sides, seed=1, pairs=pairs, **changed)


def made_up_turn(
    ratios: Mapping[str, float],
    *,
    names: Sequence[str] = NAMES,
    control: float = 1.0,
    spread: float = 0.002,
    memory: float = 1.0,
    rng: random.Random,
) -> Turn:
    """Workload -> new over old (1 unless said), with some noise on every time."""

    def times(ratio: float) -> list[float]:
        return [1000.0 * ratio * math.exp(rng.gauss(0, spread)) for _ in range(3)]

    return Turn(
        {
            OLD: {name: times(1.0) for name in names},
            CONTROL: {name: times(control) for name in names},
            NEW: {name: times(ratios.get(name, 1.0)) for name in names},
        },
        {
            OLD: dict.fromkeys(names, 100.0),
            CONTROL: dict.fromkeys(names, 100.0),
            NEW: {name: 100.0 * (memory if name == names[0] else 1.0) for name in names},
        },
    )
