"""What is asked of a subject's process and what it answers: small records, framed msgpack.

A frame is the length of its content, four bytes little-endian, and the content. Floats travel as
their bits, so that a NaN, a signed zero and a subnormal arrive as they are.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

from harness.case import Case, Layout
from harness.direction import Direction

LENGTH: Final = struct.Struct("<I")


class DirectionRecord(msgspec.Struct, frozen=True, array_like=True):
    """A direction, as numbers."""

    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float


class CaseRecord(msgspec.Struct, frozen=True, array_like=True):
    """A case, as numbers."""

    dtype: str
    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    upstream_gradient: float
    layout: str
    direction: DirectionRecord | None

    @staticmethod
    def of(case: Case) -> CaseRecord:
        """The record of a case."""
        along = case.direction
        return CaseRecord(
            case.dtype,
            case.inputs,
            case.weights,
            case.bias,
            case.upstream_gradient,
            str(case.layout),
            None if along is None else DirectionRecord(along.inputs, along.weights, along.bias),
        )

    def case(self) -> Case:
        """The case itself."""
        along = self.direction
        return Case(
            self.dtype,
            self.inputs,
            self.weights,
            self.bias,
            self.upstream_gradient,
            Layout(self.layout),
            None if along is None else Direction(along.inputs, along.weights, along.bias),
        )


class TensorRecord(msgspec.Struct, frozen=True, array_like=True):
    """A tensor, with all of its storage; none for a tensor without data, as on "meta"."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    device: str
    storage: bytes | None


class Load(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Load the subject that `name` stands for. `threads`: how many torch may use."""

    name: str
    kind: str | None
    path: tuple[str, ...]
    directory: str
    threads: int


class Begin(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Cases on this device come next, with subnormals flushed or kept."""

    device: str
    flush: bool


class Evaluate(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Evaluate a case, as `Evaluator` does when it is called."""

    case: CaseRecord


class AskValues(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """What `Evaluator.values` gives."""

    case: CaseRecord


class AskElementwise(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """What `Evaluator.elementwise` gives."""

    case: CaseRecord


class AskRefuses(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """What `Evaluator.refuses` gives."""

    tensors: tuple[TensorRecord, ...]


class AskUnsupported(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """What `SecondOrderEvaluator.unsupported` gives."""

    dtype: str


class EvaluateTwice(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """Evaluate a case along its direction, as `SecondOrderEvaluator` does when it is called."""

    case: CaseRecord


Request = (
    Load
    | Begin
    | Evaluate
    | AskValues
    | AskElementwise
    | AskRefuses
    | AskUnsupported
    | EvaluateTwice
)


class Loaded(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """The declarations of the subject that was loaded; `accumulation` holds the fields of a format,
    `flushing` says whether loading it has switched flush-to-zero on."""

    name: str
    kind: str
    stated: dict[str, tuple[str, str]]
    dtypes: tuple[str, ...] | None
    devices: tuple[str, ...] | None
    accumulation: tuple[str, int, int, int] | None
    activation_ulps: float | None
    flush_to_zero: bool
    flushing: bool


class NotLoaded(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Why there is no subject; `imports` is true where its import is to blame."""

    message: str
    imports: bool


class Done(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """`Begin` was carried out."""


class Evaluated(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """An `Evaluation`."""

    values: dict[str, list[float]] | None
    breaches: dict[str, str]
    raised: str | None
    forked: bool


class Values(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The floats of each quantity."""

    values: dict[str, list[float]]
    forked: bool


class Failed(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """The message of `CallFailed`."""

    message: str
    forked: bool


class Refused(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """Whether the subject has raised."""

    refused: bool
    forked: bool


class Unsupported(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """Why there is no second order; None if there is one."""

    reason: str | None
    forked: bool


class Returned(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """One call of several has returned, after a while; the answer is still to come."""


class Broken(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """The harness itself has failed, with this traceback."""

    traceback: str


Answer = (
    Loaded
    | NotLoaded
    | Done
    | Evaluated
    | Values
    | Failed
    | Refused
    | Unsupported
    | Returned
    | Broken
)

_encoder: Final = msgspec.msgpack.Encoder()
_requests: Final = msgspec.msgpack.Decoder(Request)
_answers: Final = msgspec.msgpack.Decoder(Answer)


def frame(record: Any) -> bytes:
    """A record as bytes to send."""
    content = _encoder.encode(record)
    return LENGTH.pack(len(content)) + content


def request_of(content: bytes) -> Request:
    """The request in a frame's content."""
    request: Request = _requests.decode(content)
    return request


def answer_of(content: bytes) -> Answer:
    """The answer in a frame's content."""
    answer: Answer = _answers.decode(content)
    return answer


class Frames:
    """Collects what arrives of frames, however it was cut up."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def __len__(self) -> int:
        """The bytes that have arrived and were not taken."""
        return len(self._buffer)

    @property
    def expected(self) -> int:
        """The bytes of the next frame, its length included; 0 while that is not known."""
        if len(self._buffer) < LENGTH.size:
            return 0
        (length,) = LENGTH.unpack_from(self._buffer)
        return LENGTH.size + int(length)

    @property
    def whole(self) -> bool:
        """Whether a whole frame has arrived."""
        return 0 < self.expected <= len(self._buffer)

    def add(self, content: bytes) -> None:
        """Take what has arrived."""
        self._buffer += content

    def next(self) -> bytes | None:
        """The content of the next whole frame; None until it has arrived."""
        if not self.whole:
            return None
        end = self.expected
        content = bytes(self._buffer[LENGTH.size : end])
        del self._buffer[:end]
        return content


def lists(values: Any) -> dict[str, list[float]]:
    """Floats of quantities, as an answer holds them."""
    return {name: list(floats) for name, floats in values.items()}
