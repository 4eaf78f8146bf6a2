"""A direction: what a Hessian is multiplied by, one number for each argument of a neuron."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import msgspec

from harness.hexfloat import hex_text, parse_hex
from reference.formats import Format


@dataclass(frozen=True, slots=True)
class Direction:
    """One number for each input (n), each weight (n) and the bias of a case, members of its format.

    The upstream gradient stays as it is.
    """

    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    @property
    def finite(self) -> bool:
        """Whether every number is."""
        return all(map(isfinite, (*self.inputs, *self.weights, self.bias)))

    def to_json(self) -> str:
        """One line of JSON with every float as C99 hex text, as a case prints."""
        return msgspec.json.encode(self.record()).decode()

    def record(self) -> DirectionRecord:
        """The fields of that JSON."""
        return DirectionRecord(
            inputs=[hex_text(value) for value in self.inputs],
            weights=[hex_text(value) for value in self.weights],
            bias=hex_text(self.bias),
        )

    @classmethod
    def from_json(cls, text: str | bytes, format: Format) -> Direction:
        """The direction that `text`, as `to_json` writes it, describes.

        Raises ValueError, in one line, for text that is not JSON, a missing or unknown field, and a
        float that is malformed or not a member of `format`.
        """
        try:
            record = msgspec.json.decode(text, type=DirectionRecord)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ValueError(f"not a direction: {error}; expected {_EXAMPLE}") from None
        return cls.from_record(record, format)

    @classmethod
    def from_record(cls, record: DirectionRecord, format: Format) -> Direction:
        """The direction with these fields. Raises ValueError for a float as `from_json` does."""
        return cls(
            tuple(parse_hex(word, format) for word in record.inputs),
            tuple(parse_hex(word, format) for word in record.weights),
            parse_hex(record.bias, format),
        )


class DirectionRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A direction as JSON holds it."""

    inputs: list[str]
    weights: list[str]
    bias: str


_EXAMPLE = '{"inputs":["0x1p+0"],"weights":["0x0.0p+0"],"bias":"0x1p+0"}'
