"""A sweep as it is published: its figures, its laws, its exit status and its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import msgspec

from harness.grade import Grade
from harness.hexfloat import hex_text
from harness.sweep.block import segments
from harness.sweep.engine import Outcome
from harness.sweep.laws import REQUIRED, LawTally
from harness.sweep.plan import Plan
from harness.sweep.statistics import BIN_EDGES, Statistics, Worst
from harness.sweep.summary import Summary
from harness.verdict import EXIT_INCONCLUSIVE, EXIT_NOTHING, EXIT_OK, EXIT_VIOLATION

SCHEMA: Final = "neuron-harness/sweep/1"
#: The grades that a sweep can require: those that need no bound.
GRADES: Final = (Grade.CORRECT, Grade.FAITHFUL)

_HINTS: Final = {
    "lanes": "; a result depends on its neighbours in the tensor or on its place, so that figures "
    "of single inputs mean little"
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """The figures of one quantity: all of them together, by segment, and the worst inputs."""

    name: str
    total: Statistics
    segments: Mapping[int, Statistics]
    worst: tuple[Worst, ...]
    escalated: int

    def meets(self, required: Grade) -> bool:
        """Whether every result earns `required`, one of `GRADES`."""
        flaws = self.total.misrounded if required is Grade.CORRECT else self.total.unfaithful
        return flaws == 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """A finished or interrupted sweep. `required` is the grade every result had to earn, if any."""

    outcome: Outcome
    quantities: tuple[Quantity, ...]
    required: Grade | None

    @property
    def plan(self) -> Plan:
        """What was swept."""
        return self.outcome.plan

    @property
    def points(self) -> int:
        """How many numbers, or pairs, were swept."""
        return 0 if self.outcome.summary is None else self.outcome.summary.points

    @property
    def laws(self) -> Mapping[str, LawTally]:
        """The laws that were checked, and how they fared."""
        return {} if self.outcome.summary is None else self.outcome.summary.laws

    @property
    def failures(self) -> tuple[str, ...]:
        """What makes the sweep a failure, one line each."""
        lines = [] if self.outcome.error is None else [self.outcome.error]
        lines += [
            f"breaks the law {name} {tally.breaches} times in {tally.checked}, first at "
            f"{_place(self.plan, tally.first_breach)}{_HINTS.get(name, '')}"
            for name, tally in self.laws.items()
            if name in REQUIRED and tally.breaches
        ]
        for quantity in self.quantities:
            if self.required is not None and not quantity.meets(self.required):
                lines.append(
                    f"{quantity.name}: {quantity.total.misrounded} misrounded and "
                    f"{quantity.total.unfaithful} unfaithful in {quantity.total.points}; required "
                    f"{self.required}"
                )
        return tuple(lines)

    @property
    def exit_status(self) -> int:
        """0 all as required; 1 a violation; 3 nothing was swept; 5 stopped before the end."""
        if self.failures:
            return EXIT_VIOLATION
        if self.outcome.stopped is not None or not self.outcome.complete:
            return EXIT_INCONCLUSIVE
        return EXIT_OK if self.points else EXIT_NOTHING


def finish(outcome: Outcome, required: Grade | None = None) -> Sweep:
    """The published form of an outcome. Raises ValueError for a grade not in `GRADES`."""
    if required is not None and required not in GRADES:
        raise ValueError(f"{required} cannot be required of a sweep; expected {', '.join(GRADES)}")
    summary = outcome.summary
    quantities = (
        ()
        if summary is None
        else tuple(
            _quantity(index, name, summary) for index, name in enumerate(outcome.plan.quantities)
        )
    )
    return Sweep(outcome, quantities, required)


def to_json(sweeps: Iterable[Sweep], environment: Mapping[str, Any]) -> bytes:
    """Sweeps as JSON (schema neuron-harness/sweep/1), indented. Equal figures print equal bytes."""
    record = {
        "schema": SCHEMA,
        "environment": environment,
        "sweeps": [_sweep_record(sweep) for sweep in sweeps],
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def _quantity(index: int, name: str, summary: Summary) -> Quantity:
    by_segment = {
        segment: statistics[index] for segment, statistics in sorted(summary.segments.items())
    }
    return Quantity(
        name,
        reduce(Statistics.merge, by_segment.values()),
        by_segment,
        summary.worst[index],
        summary.escalated[index],
    )


def _sweep_record(sweep: Sweep) -> dict[str, Any]:
    plan = sweep.plan
    return {
        "subject": plan.subject.name,
        "kind": plan.kind,
        "dtype": plan.dtype,
        "device": plan.device,
        "range": {
            "from": None if plan.first is None else hex_text(plan.first),
            "to": None if plan.last is None else hex_text(plan.last),
            "pairs": plan.pairs,
        },
        "batched": plan.batched,
        "points": sweep.points,
        "planned_points": plan.points,
        "complete": sweep.outcome.complete,
        "required": sweep.required,
        "passed": sweep.exit_status == EXIT_OK,
        "failures": list(sweep.failures),
        "quantities": {
            quantity.name: _quantity_record(plan, quantity) for quantity in sweep.quantities
        },
        "laws": [
            {
                "name": name,
                "required": name in REQUIRED,
                "passed": tally.breaches == 0,
                "checked": tally.checked,
                "breaches": tally.breaches,
                **_point(plan, "first_breach", tally.first_breach),
            }
            for name, tally in sweep.laws.items()
        ],
    }


def _quantity_record(plan: Plan, quantity: Quantity) -> dict[str, Any]:
    table = segments(plan).all
    shift = plan.pair_bits
    return {
        **_figures(plan, quantity.name, quantity.total),
        "escalated": quantity.escalated,
        "histogram": {
            "edges": [*(-edge for edge in reversed(BIN_EDGES)), *BIN_EDGES],
            "counts": quantity.total.histogram,
        },
        "worst": [
            {
                **_point(plan, "x", entry.key),
                "ulps": entry.ulps,
                "computed": hex_text(entry.computed),
                "rounded": hex_text(entry.rounded),
            }
            for entry in quantity.worst
        ],
        "segments": [
            {
                "from": hex_text(plan.format.from_bits(table[index].start >> shift)),
                "to": hex_text(plan.format.from_bits((table[index].stop >> shift) - 1)),
                "landmark": table[index].landmark or None,
                **_figures(plan, quantity.name, statistics),
                "histogram": statistics.histogram,
            }
            for index, statistics in quantity.segments.items()
        ],
    }


def _figures(plan: Plan, name: str, statistics: Statistics) -> dict[str, Any]:
    scaled = {"max_scaled_error": statistics.max_scaled_error} if name == "gradient" else {}
    worst = statistics.worst if statistics.max_ulp else -1
    return {
        "points": statistics.points,
        "max_ulp": statistics.max_ulp,
        "mean_ulp": statistics.mean_ulp,
        **_point(plan, "worst_x", worst),
        **scaled,
        "misrounded": statistics.misrounded,
        "unfaithful": statistics.unfaithful,
        "nonfinite_mismatch": statistics.nonfinite_mismatch,
        **_point(plan, "first_nonfinite_x", statistics.first_nonfinite),
        "zero_sign_mismatch": statistics.zero_sign_mismatch,
    }


def _point(plan: Plan, name: str, key: int) -> dict[str, str | None]:
    """A swept number under `name`; where pairs are swept its g too."""
    pair = f"{name.removesuffix('_x')}_upstream_gradient" if name != "x" else "upstream_gradient"
    if key < 0:
        return {name: None, pair: None} if plan.pairs else {name: None}
    values = [hex_text(value) for value in plan.point(key)]
    return dict(zip((name, pair), values, strict=False))


def _place(plan: Plan, key: int) -> str:
    return ", g = ".join(hex_text(value) for value in plan.point(key))


def place(plan: Plan, key: int) -> str:
    """A swept number, or a pair, as text; "-" for none."""
    return "-" if key < 0 else _place(plan, key)
