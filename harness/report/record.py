"""What one machine found in one night: frozen records, stored and exported exactly as they are.

A *look* is one way to look at a subject in one dtype on one device: `verify`, `second order`,
`sweep` or `hunt`. A *row* is what a look found, a *figure* the worst of one quantity in it. Floats
of subjects are C99 hexadecimal text, ulps are numbers, times are seconds.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

SCHEMA: Final = "neuron-harness/run/1"
LOOKS: Final = ("verify", "second order", "sweep", "hunt")


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """The worst of one quantity in one look.

    `max_ulp` and `mean_ulp` are over errors that have a size, None where none has; `nonfinite`
    counts NaNs and infinities that nothing explains. `within` are the shares of errors of at most
    0.5, 1 and 2 ulps. What a look does not count is None: a sweep has no `ratio` to a bound,
    drawn cases no count of what is `misrounded` or `unfaithful`.
    """

    quantity: str
    grade: str | None = None
    max_ulp: float | None = None
    mean_ulp: float | None = None
    max_scaled_error: float | None = None
    ratio: float | None = None
    nonfinite: int = 0
    misrounded: int | None = None
    unfaithful: int | None = None
    within: tuple[float, float, float] | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One look at one subject.

    `machine` says on what: processor and its vector capability, or the name of the device. `sample`
    is equal exactly where the same inputs were looked at. `exhaustive` says that this was every
    input of the format. `points` are inputs or cases, `seconds` the wall time of `command`.
    """

    subject: str
    kind: str
    dtype: str
    device: str
    machine: str
    look: str
    sample: str
    exhaustive: bool
    points: int
    passed: bool
    required: str | None = None
    grade: str | None = None
    failure: str | None = None
    unjudged: int = 0
    hazards: int = 0
    broken_laws: tuple[str, ...] = ()
    observed_breaches: tuple[str, ...] = ()
    seconds: float = 0.0
    command: str = ""
    figures: tuple[Figure, ...] = ()

    @property
    def target(self) -> tuple[str, str, str]:
        """Subject, dtype and device."""
        return self.subject, self.dtype, self.device


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one range of |x|, both ends included. `landmark` says what begins there."""

    quantity: str
    start: str
    stop: str
    landmark: str | None
    points: int
    max_ulp: float
    mean_ulp: float | None
    misrounded: int
    unfaithful: int
    nonfinite: int
    within: tuple[float, float, float]
    worst_x: str | None


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Signed errors in ulps: `counts` has one entry more than `edges`, from below the first."""

    quantity: str
    look: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]


class Tick(msgspec.Struct, frozen=True):
    """A mark on an axis: where, from 0 to 1, and what it says."""

    at: float
    label: str


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The least and the greatest signed error, in ulps, in equal steps along the ordinals of x.

    An entry is None where no error has a size. `sampled` says that not every float of a step was
    tried; `points` how many floats were.
    """

    quantity: str
    region: str
    sampled: bool
    points: int
    lowest: tuple[float | None, ...]
    highest: tuple[float | None, ...]
    ticks: tuple[Tick, ...]


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity at some x: computed, and exact rounded once. None: not finite."""

    quantity: str
    x: tuple[float, ...]
    computed: tuple[float | None, ...]
    rounded: tuple[float | None, ...]


class Special(msgspec.Struct, frozen=True, kw_only=True):
    """The result at a special value."""

    what: str
    x: str
    quantity: str
    computed: str
    rounded: str
    grade: str | None


class WorstInput(msgspec.Struct, frozen=True, kw_only=True):
    """One of the worst inputs, judged again by itself, and the case (one line of JSON) to show it.

    `message` says what happened instead where there is no result.
    """

    look: str
    quantity: str
    case: str
    index: int | None = None
    computed: str | None = None
    rounded: str | None = None
    exact: str | None = None
    ulps: float | None = None
    bound_ulps: float | None = None
    grade: str | None = None
    message: str | None = None


class LawRow(msgspec.Struct, frozen=True, kw_only=True):
    """How a law fared in one look."""

    look: str
    name: str
    required: bool
    passed: bool
    applies: bool
    checked: int
    message: str | None = None
    case: str | None = None


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """How fast the subject as such is: elements and the median seconds of `calls` calls."""

    what: str
    elements: int
    calls: int
    seconds: float


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to say of one subject in one dtype on one device, beyond its rows."""

    subject: str
    kind: str
    dtype: str
    device: str
    machine: str
    segments: tuple[Segment, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    envelopes: tuple[Envelope, ...] = ()
    curves: tuple[Curve, ...] = ()
    specials: tuple[Special, ...] = ()
    worst: tuple[WorstInput, ...] = ()
    laws: tuple[LawRow, ...] = ()
    throughput: tuple[Throughput, ...] = ()

    @property
    def target(self) -> tuple[str, str, str]:
        """Subject, dtype and device."""
        return self.subject, self.dtype, self.device


class LeftOut(msgspec.Struct, frozen=True):
    """What was not looked at, and why."""

    what: str
    why: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What one machine found in one night. `night` is a label, a date unless said otherwise;
    `started` is in seconds since the epoch."""

    night: str
    machine: str
    started: float
    seconds: float
    environment: dict[str, str]
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()
    interrupted: bool = False
    details: tuple[Details, ...] = ()
    schema: str = SCHEMA

    @property
    def id(self) -> str:
        """A name for this run that follows from its content."""
        return hashlib.sha256(encode(self)).hexdigest()[:16]


def encode(run: Run) -> bytes:
    """A run as one line of JSON."""
    return msgspec.json.encode(run)


def decode(content: bytes) -> Run:
    """The inverse of `encode`. Raises ValueError, in one line, for anything else."""
    try:
        run = msgspec.json.decode(content, type=Run)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ValueError(f"not a run: {error}") from None
    if run.schema != SCHEMA:
        raise ValueError(f"not a run: its schema is {run.schema[:80]!r}; expected {SCHEMA!r}")
    return run
