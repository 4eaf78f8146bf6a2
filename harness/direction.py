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
        record = _Record(
            inputs=[hex_text(value) for value in self.inputs],
            weights=[hex_text(value) for value in self.weights],
            bias=hex_text(self.bias),
        )
        return msgspec.json.encode(record).decode()

    @classmethod
    def from_json(cls, text: str | bytes, format: Format) -> Direction:
        """The direction that `text`, as `to_json` writes it, describes.

        Raises ValueError, in one line, for text that is not JSON, a missing or unknown field, and a
        float that is malformed or not a member of `format`.
        """
        try:
            record = msgspec.json.decode(text, type=_Record)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ValueError(f"not a direction: {error}; expected {_EXAMPLE}") from None
        return cls(
            tuple(parse_hex(word, format) for word in record.inputs),
            tuple(parse_hex(word, format) for word in record.weights),
            parse_hex(record.bias, format),
        )


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    inputs: list[str]
    weights: list[str]
    bias: str


_EXAMPLE = '{"inputs":["0x1p+0"],"weights":["0x0.0p+0"],"bias":"0x1p+0"}'
