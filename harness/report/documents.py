"""What the engines print as JSON, turned into rows and details of a night.

Only what is read here is declared here; whatever else a document holds is ignored. Text that
subjects may have written is made inert on the way in, so that it is so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from harness.grade import Grade
from harness.inert import inert
from harness.report.record import (
    Figure,
    Histogram,
    LawRow,
    Row,
    Segment,
    WorstInput,
)

_WITHIN: Final = (0.5, 1.0, 2.0)
_ZEROS: Final = "0x0.0p+0"
_ONE: Final = "0x1.0000000000000p+0"

_Document = TypeVar("_Document")


class _Quantity(msgspec.Struct):
    grade: str | None
    max_ulp: float | None
    max_bound_ratio: float | None
    nonfinite_mismatch: int
    worst_case: dict[str, Any] | None = None


class _Counterexample(msgspec.Struct):
    message: str
    case: dict[str, Any] | None = None


class _Law(msgspec.Struct):
    name: str
    passed: bool
    required: bool = True
    applies: bool = True
    checked: int = 0
    breaches: int = 0
    counterexample: _Counterexample | None = None


class _SecondOrder(msgspec.Struct):
    required: str | None
    grade: str | None
    passed: bool
    unsupported: str | None
    examples: int
    unjudged: int
    hazards: int
    quantities: dict[str, _Quantity]
    failure: str | None
    counterexample: _Counterexample | None = None


class _Verdict(msgspec.Struct):
    kind: str
    required: str
    grade: str | None
    passed: bool
    examples: int
    unjudged: int
    hazards: int
    quantities: dict[str, _Quantity]
    laws: list[_Law]
    second_order: _SecondOrder | None
    failure: str | None
    counterexample: _Counterexample | None = None


class _Verification(msgspec.Struct):
    environment: dict[str, Any]
    verdicts: list[_Verdict]
    interrupted: bool = False


class _Histogram(msgspec.Struct):
    edges: list[float]
    counts: list[int]


class _Worst(msgspec.Struct):
    x: str
    upstream_gradient: str | None = None


class _Segment(msgspec.Struct):
    start: str = msgspec.field(name="from")
    to: str
    landmark: str | None
    points: int
    max_ulp: float
    misrounded: int
    unfaithful: int
    nonfinite_mismatch: int
    histogram: list[int]
    mean_ulp: float | None = None
    worst_x: str | None = None


class _SweptQuantity(msgspec.Struct):
    points: int
    max_ulp: float
    misrounded: int
    unfaithful: int
    nonfinite_mismatch: int
    histogram: _Histogram
    worst: list[_Worst]
    segments: list[_Segment]
    mean_ulp: float | None = None
    max_scaled_error: float | None = None
    first_nonfinite_x: str | None = None


class _Find(msgspec.Struct):
    quantity: str
    figure: str
    value: float | None
    grade: str | None
    case: dict[str, Any] | None = None


class _Hunt(msgspec.Struct):
    evaluations: int
    budget_evaluations: int | None
    finds: list[_Find]


class _Neurons(msgspec.Struct):
    cases: int
    unjudged: int
    quantities: dict[str, dict[str, Any]]


class _Sweep(msgspec.Struct):
    kind: str
    dtype: str
    points: int
    complete: bool
    required: str | None
    passed: bool
    failures: list[str]
    quantities: dict[str, _SweptQuantity]
    laws: list[dict[str, Any]]
    range: dict[str, Any]
    hunt: _Hunt | None = None
    neurons: _Neurons | None = None


class _Sweeps(msgspec.Struct):
    environment: dict[str, Any]
    sweeps: list[_Sweep]


@dataclass(frozen=True, slots=True)
class Looked:
    """Who was looked at, and how: what a document does not say."""

    subject: str
    dtype: str
    device: str
    machine: str
    command: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Findings:
    """What one document comes to. `worst` are inputs to judge once more by themselves."""

    kind: str
    environment: dict[str, Any]
    rows: tuple[Row, ...] = ()
    segments: tuple[Segment, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    laws: tuple[LawRow, ...] = ()
    worst: tuple[WorstInput, ...] = ()
    #: Why this is less than was asked for, in one line; None where it is all.
    cut_short: str | None = field(default=None)


class DocumentError(ValueError):
    """A document is not what an engine prints."""


def verification(content: bytes, looked: Looked, seed: int) -> Findings:
    """The findings of `verify --json` for one subject, dtype and device.

    Raises DocumentError for anything else.
    """
    document = _read(content, _Verification)
    if not document.verdicts:
        return Findings("", document.environment, cut_short="interrupted before the first verdict")
    verdict = document.verdicts[0]
    drawn = _drawn(document.environment, seed)
    row = Row(
        **_whom(looked, verdict.kind),
        look="verify",
        sample=f"{verdict.examples} cases {drawn}",
        exhaustive=False,
        points=verdict.examples,
        passed=verdict.passed if verdict.second_order is None else _first_order_passed(verdict),
        required=verdict.required,
        grade=verdict.grade,
        failure=_inert(verdict.failure),
        unjudged=verdict.unjudged,
        hazards=verdict.hazards,
        broken_laws=tuple(law.name for law in verdict.laws if law.required and not law.passed),
        observed_breaches=tuple(
            law.name for law in verdict.laws if not law.required and not law.passed
        ),
        figures=tuple(_figure(name, found) for name, found in verdict.quantities.items()),
    )
    rows = [row]
    worst = [*_worst_cases("verify", verdict.quantities, verdict.counterexample)]
    second = verdict.second_order
    if second is not None and (second.grade is not None or not second.passed):
        rows.append(
            Row(
                **_whom(looked, verdict.kind),
                look="second order",
                sample=f"{second.examples} cases {drawn}",
                exhaustive=False,
                points=second.examples,
                passed=second.passed,
                required=second.required,
                grade=second.grade,
                failure=_inert(second.failure),
                unjudged=second.unjudged,
                hazards=second.hazards,
                figures=tuple(_figure(name, found) for name, found in second.quantities.items()),
            )
        )
        worst += _worst_cases("second order", second.quantities, second.counterexample)
    return Findings(
        verdict.kind,
        document.environment,
        tuple(rows),
        laws=tuple(_law("verify", law) for law in verdict.laws),
        worst=tuple(worst),
        cut_short="interrupted" if document.interrupted else None,
    )


def swept(content: bytes, looked: Looked, seed: int) -> Findings:
    """The findings of `sweep --json` or `hunt --json` for one subject, dtype and device.

    Raises DocumentError for anything else.
    """
    document = _read(content, _Sweeps)
    if len(document.sweeps) != 1:
        raise DocumentError(f"{len(document.sweeps)} sweeps; expected one")
    (found,) = document.sweeps
    look = "sweep" if found.hunt is None else "hunt"
    hunt = found.hunt
    whole = found.complete and found.range.get("from") is None
    if hunt is None:
        sample = "every input" if whole else f"{found.points} inputs of a sweep that was cut short"
    else:
        sample = f"{hunt.evaluations} inputs {_drawn(document.environment, seed)}"
    figures = [_swept_figure(name, each) for name, each in found.quantities.items() if each.points]
    if found.neurons is not None:
        figures += _hunted_figures(found.neurons.quantities)
    laws = tuple(_swept_law(look, law, found) for law in found.laws)
    row = Row(
        **_whom(looked, found.kind),
        look=look,
        sample=sample,
        exhaustive=hunt is None and whole,
        points=found.points if hunt is None else hunt.evaluations,
        # What was cut short is said by `cut_short`; it is no fault of the subject's.
        passed=not found.failures,
        required=found.required,
        grade=_worst_grade(figures),
        failure=_inert("; ".join(found.failures)) if found.failures else None,
        broken_laws=tuple(law.name for law in laws if law.required and not law.passed),
        observed_breaches=tuple(law.name for law in laws if not law.required and not law.passed),
        unjudged=0 if found.neurons is None else found.neurons.unjudged,
        figures=tuple(figures),
    )
    cut_short = None
    if not found.complete:
        cut_short = f"stopped after {found.points:,} inputs"
    elif hunt is not None and hunt.evaluations < (hunt.budget_evaluations or 0):
        cut_short = f"{hunt.evaluations:,} of {hunt.budget_evaluations:,} inputs were tried"
    return Findings(
        found.kind,
        document.environment,
        (row,),
        segments=tuple(_segments(found)) if hunt is None else (),
        histograms=tuple(
            Histogram(
                quantity=name,
                look=look,
                edges=tuple(each.histogram.edges),
                counts=tuple(each.histogram.counts),
            )
            for name, each in found.quantities.items()
            if each.points
        ),
        laws=laws,
        worst=tuple(_swept_worst(look, found)),
        cut_short=cut_short,
    )


def _read(content: bytes, kind: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise DocumentError(str(error)) from None


def _whom(looked: Looked, kind: str) -> dict[str, Any]:
    return {
        "subject": looked.subject,
        "kind": kind,
        "dtype": looked.dtype,
        "device": looked.device,
        "machine": looked.machine,
        "command": looked.command,
        "seconds": looked.seconds,
    }


def _drawn(environment: dict[str, Any], seed: int) -> str:
    """What decides which inputs are drawn, besides their number."""
    parts = [f"seed {seed}", f"neuron-harness {environment.get('neuron_harness')}"]
    if "hypothesis" in environment:
        parts.append(f"hypothesis {environment['hypothesis']}")
    return f"({', '.join(parts)})"


def _first_order_passed(verdict: _Verdict) -> bool:
    """Whether the verdict passed but for its second order, which has a row of its own."""
    second = verdict.second_order
    if verdict.passed or second is None or second.passed:
        return verdict.passed
    return verdict.failure == second.failure


def _inert(text: str | None) -> str | None:
    return None if text is None else inert(text)


def _figure(name: str, found: _Quantity) -> Figure:
    return Figure(
        quantity=name,
        grade=found.grade,
        max_ulp=found.max_ulp,
        ratio=found.max_bound_ratio,
        nonfinite=found.nonfinite_mismatch,
    )


def _swept_figure(name: str, found: _SweptQuantity) -> Figure:
    grade = None
    if found.misrounded == 0:
        grade = str(Grade.CORRECT)
    elif found.unfaithful == 0:
        grade = str(Grade.FAITHFUL)
    return Figure(
        quantity=name,
        grade=grade,
        max_ulp=found.max_ulp,
        mean_ulp=found.mean_ulp,
        max_scaled_error=found.max_scaled_error,
        nonfinite=found.nonfinite_mismatch,
        misrounded=found.misrounded,
        unfaithful=found.unfaithful,
        within=_within(found.histogram.edges, found.histogram.counts, found.points),
    )


def _hunted_figures(quantities: dict[str, dict[str, Any]]) -> list[Figure]:
    return [
        Figure(
            quantity=f"{name} of neurons",
            max_ulp=found.get("max_ulp"),
            ratio=found.get("max_bound_ratio"),
        )
        for name, found in quantities.items()
    ]


def _worst_grade(figures: Iterable[Figure]) -> str | None:
    """The worst grade, if every quantity has one."""
    grades = [figure.grade for figure in figures]
    known = [Grade(grade) for grade in grades if grade is not None]
    return str(Grade.worst(known)) if known and len(known) == len(grades) else None


def _within(
    edges: Sequence[float], counts: Sequence[int], points: int
) -> tuple[float, float, float]:
    """The shares of errors of at most 0.5, 1 and 2 ulps among `points`, which count those without a
    size; exact, for these are edges of bins."""
    positive = [edge for edge in edges if edge > 0]
    middle = len(positive)
    shares = []
    for limit in _WITHIN:
        level = positive.index(limit)
        inside = sum(counts[middle - level : middle + level + 1])
        shares.append(inside / points if points else 0.0)
    return shares[0], shares[1], shares[2]


def _segments(found: _Sweep) -> Iterator[Segment]:
    for name, quantity in found.quantities.items():
        for each in quantity.segments:
            yield Segment(
                quantity=name,
                start=each.start,
                stop=each.to,
                landmark=each.landmark,
                points=each.points,
                max_ulp=each.max_ulp,
                mean_ulp=each.mean_ulp,
                misrounded=each.misrounded,
                unfaithful=each.unfaithful,
                nonfinite=each.nonfinite_mismatch,
                within=_within(quantity.histogram.edges, each.histogram, each.points),
                worst_x=each.worst_x,
            )


def _law(look: str, law: _Law) -> LawRow:
    found = law.counterexample
    return LawRow(
        look=look,
        name=law.name,
        required=law.required,
        passed=law.passed,
        applies=law.applies,
        checked=law.checked,
        message=None if found is None else inert(found.message),
        case=None if found is None else _case_text(found.case),
    )


def _swept_law(look: str, law: dict[str, Any], found: _Sweep) -> LawRow:
    first = law.get("first_breach")
    return LawRow(
        look=look,
        name=str(law["name"]),
        required=bool(law["required"]),
        passed=bool(law["passed"]),
        applies=True,
        checked=int(law["checked"]),
        message=f"{law['breaches']} breaches, first at {first}" if law["breaches"] else None,
        case=_point_case(found, first, law.get("first_breach_upstream_gradient"))
        if isinstance(first, str)
        else None,
    )


def _worst_cases(
    look: str, quantities: dict[str, _Quantity], counterexample: _Counterexample | None
) -> Iterator[WorstInput]:
    for name, found in quantities.items():
        case = _case_text(found.worst_case)
        if case is not None:
            yield WorstInput(look=look, quantity=name, case=case)
    smallest = None if counterexample is None else _case_text(counterexample.case)
    if counterexample is not None and smallest is not None:
        message = f"smallest that fails: {inert(counterexample.message)}"
        yield WorstInput(look=look, quantity="", case=smallest, message=message)


def _swept_worst(look: str, found: _Sweep) -> Iterator[WorstInput]:
    for name, quantity in found.quantities.items():
        judged = "bias_gradient" if name == "gradient" and found.kind != "tanh-gradient" else name
        for each in quantity.worst:
            case = _point_case(found, each.x, each.upstream_gradient)
            yield WorstInput(look=look, quantity=judged, case=case)
        if quantity.first_nonfinite_x is not None:
            case = _point_case(found, quantity.first_nonfinite_x, None)
            yield WorstInput(look=look, quantity=judged, case=case)
    for find in found.hunt.finds if found.hunt is not None else ():
        text = _case_text(find.case)
        if text is not None and find.quantity != "call":
            yield WorstInput(look=look, quantity=find.quantity, case=text)


def _case_text(case: dict[str, Any] | None) -> str | None:
    return None if case is None else msgspec.json.encode(case).decode()


def _point_case(found: _Sweep, x: str, upstream_gradient: str | None) -> str:
    """The case that a swept number stands for."""
    raw = found.kind == "tanh-gradient"
    case = {
        "dtype": found.dtype,
        "inputs": [x],
        "weights": [] if raw else [_ONE],
        "bias": _ZEROS,
        "upstream_gradient": upstream_gradient or _ONE,
        "layout": "contiguous",
    }
    return msgspec.json.encode(case).decode()
