"""A case: one set of neuron inputs with dtype and memory layout, to and from one line of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from harness.direction import Direction, DirectionRecord
from harness.hexfloat import hex_text, parse_hex
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format

_FORMATS: Final[Mapping[str, Format]] = {
    "float16": BINARY16,
    "bfloat16": BFLOAT16,
    "float32": BINARY32,
    "float64": BINARY64,
}
DTYPES: Final = tuple(_FORMATS)


def format_of(dtype: str) -> Format:
    """The format that `dtype` (a torch name such as "float32") stores.

    Raises ValueError for a dtype that is not one of `DTYPES`.
    """
    try:
        return _FORMATS[dtype]
    except KeyError:
        raise ValueError(f"unknown dtype {dtype!r}; expected one of {', '.join(DTYPES)}") from None


class Layout(StrEnum):
    """How the tensors of a case lie in memory; `harness.tensors` makes each of them real."""

    CONTIGUOUS = "contiguous"
    STRIDED = "strided"
    OFFSET = "offset"
    EXPANDED = "expanded"
    COLUMN = "column"
    SCALAR_VIEW = "scalar-view"
    REQUIRES_GRAD = "requires-grad"


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One call of a subject, as numbers.

    `inputs` and `weights` have length n (n = 0 is legal). A case of the kind tanh-gradient keeps
    its stored outputs y in `inputs`, has no weights, bias 0.0, and `upstream_gradient` stands for
    the whole of dy. Every value is a member of the format of `dtype`; `from_json` checks that,
    the constructor (which strategies call a thousand times a second) checks only the shapes.

    A case of the second order has a `direction`, along which the gradient is differentiated again.

    Two cases are equal when they print the same: 0.0 differs from -0.0, and NaN equals NaN.
    """

    dtype: str
    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    upstream_gradient: float
    layout: Layout = Layout.CONTIGUOUS
    direction: Direction | None = None

    def __post_init__(self) -> None:
        format_of(self.dtype)
        if len(self.weights) not in (0, len(self.inputs)):
            raise ValueError(
                f"{len(self.weights)} weights for {len(self.inputs)} inputs; "
                "expected as many (a neuron) or none (stored outputs of a tanh-gradient)"
            )
        along = self.direction
        if along is not None and not (
            len(along.inputs) == len(along.weights) == len(self.inputs) == len(self.weights)
        ):
            raise ValueError(
                f"a direction of {len(along.inputs)} inputs and {len(along.weights)} weights for a "
                f"case of {len(self.inputs)} and {len(self.weights)}; expected as many"
            )

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Case) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def format(self) -> Format:
        """The format of `dtype`."""
        return _FORMATS[self.dtype]

    def to_json(self) -> str:
        """One line of JSON with every float as C99 hex text, so that nothing is lost."""
        record = _Record(
            dtype=self.dtype,
            inputs=[hex_text(value) for value in self.inputs],
            weights=[hex_text(value) for value in self.weights],
            bias=hex_text(self.bias),
            upstream_gradient=hex_text(self.upstream_gradient),
            layout=str(self.layout),
            direction=msgspec.UNSET if self.direction is None else self.direction.record(),
        )
        return msgspec.json.encode(record).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Case:
        """The case that `text`, as `to_json` writes it, describes; "layout" and "direction" may
        be left out.

        Raises ValueError, in one line that names the field, for text that is not JSON, a missing
        or unknown field, a dtype or layout that does not exist, a float that is malformed or not
        a member of the dtype, unequal lengths, and an expanded vector whose elements differ.
        """
        try:
            record = msgspec.json.decode(text, type=_Record)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ValueError(f"not a case: {error}; expected {_EXAMPLE}") from None
        format = _field("dtype", format_of, record.dtype)
        case = cls(
            dtype=record.dtype,
            inputs=_floats("inputs", record.inputs, format),
            weights=_floats("weights", record.weights, format),
            bias=_field("bias", lambda word: parse_hex(word, format), record.bias),
            upstream_gradient=_field(
                "upstream_gradient", lambda word: parse_hex(word, format), record.upstream_gradient
            ),
            layout=_field("layout", _layout, record.layout),
            direction=_direction(record.direction, format),
        )
        if case.layout is Layout.EXPANDED:
            _require_constant("inputs", case.inputs)
            _require_constant("weights", case.weights)
        return case


def with_vector(case: Case, name: str, values: tuple[float, ...]) -> Case:
    """The case with other inputs or weights, as `name` says."""
    return replace(case, inputs=values) if name == "inputs" else replace(case, weights=values)


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    dtype: str
    inputs: list[str]
    weights: list[str]
    bias: str
    upstream_gradient: str
    layout: str = "contiguous"
    direction: DirectionRecord | msgspec.UnsetType = msgspec.UNSET


_EXAMPLE: Final = (
    '{"dtype":"float32","inputs":["0x1.8p+0"],"weights":["0x1p+0"],"bias":"0x0.0p+0",'
    '"upstream_gradient":"0x1p+0","layout":"contiguous"}'
)


_Read = TypeVar("_Read")


def _field(name: str, read: Callable[[str], _Read], text: str) -> _Read:
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _floats(name: str, words: Sequence[str], format: Format) -> tuple[float, ...]:
    return tuple(
        _field(f"{name}[{index}]", lambda text: parse_hex(text, format), word)
        for index, word in enumerate(words)
    )


def _direction(record: DirectionRecord | msgspec.UnsetType, format: Format) -> Direction | None:
    if isinstance(record, msgspec.UnsetType):
        return None
    try:
        return Direction.from_record(record, format)
    except ValueError as error:
        raise ValueError(f"direction: {error}") from None


def _layout(name: str) -> Layout:
    try:
        return Layout(name)
    except ValueError:
        raise ValueError(f"unknown layout {name!r}; expected one of {', '.join(Layout)}") from None


def _require_constant(name: str, values: tuple[float, ...]) -> None:
    words = {hex_text(value) for value in values}
    if len(words) > 1:
        raise ValueError(
            f"{name}: an expanded vector repeats one element, but this one holds "
            f"{', '.join(sorted(words)[:3])}; make them equal or choose another layout"
        )
