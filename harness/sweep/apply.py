"""The subject as its users call it, on a range of bit patterns.

An activation is called on a vector and differentiated by torch.autograd with upstream gradient 1. A
neuron is called through torch.func.vmap with one input, weight 1, bias 0 and upstream gradient 1,
so that the neuron itself is swept and not a copy of its formula; where vmap cannot, once for each
input. The raw tanh gradient is called on vectors y and g.

Values go in and come out as bit patterns; no float arithmetic of the harness touches them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from harness.errors import CannotVerify, one_line
from harness.subjects import Kind
from harness.sweep.plan import NEGATIVE, NEGATIVE_GRADIENT, Plan
from harness.tensors import torch_dtype

Bits = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.floating[Any]]

_INTEGER: Final = {16: torch.int16, 32: torch.int32, 64: torch.int64}
#: Inputs that the first look at a subject takes: ordinary ones, several, an odd number.
_PROBE: Final = (0.25, 0.5, 0.75)


class SubjectFailed(RuntimeError):
    """The subject raised, or returned something it may not, in the middle of a sweep."""


class Arguments(NamedTuple):
    """Swept numbers: x (or y), and g where pairs are swept."""

    x: Bits
    g: Bits | None

    def part(self, start: int, stop: int) -> Arguments:
        """Some of them."""
        return Arguments(self.x[start:stop], None if self.g is None else self.g[start:stop])

    def within(self, before: int, after: int) -> Arguments:
        """These with the first `before` once more in front, and the first `after` behind."""

        def longer(bits: Bits) -> Bits:
            return np.concatenate([bits[:before], bits, bits[:after]])

        return Arguments(longer(self.x), None if self.g is None else longer(self.g))


class Results(NamedTuple):
    """Bit patterns, shape (n,). What the kind does not return is None."""

    gradient: Bits
    output: Bits | None = None
    input_gradient: Bits | None = None
    weight_gradient: Bits | None = None

    def part(self, start: int, stop: int) -> Results:
        """Some of them."""
        parts = (bits if bits is None else bits[start:stop] for bits in self)
        return Results(*parts)  # type: ignore[arg-type]

    def quantities(self) -> tuple[Bits, ...]:
        """Those that are judged, in the order of the plan."""
        return (self.gradient,) if self.output is None else (self.output, self.gradient)


def arguments(plan: Plan, start: int, stop: int, side: int) -> Arguments:
    """The numbers of one side with magnitudes from `start` to `stop` - 1."""
    magnitudes = np.arange(start, stop, dtype=f"u{_storage(plan)}")
    width = plan.format.width
    unsigned = f"u{width // 8}"
    sign = 1 << width - 1
    if not plan.pairs:
        if side & NEGATIVE:
            magnitudes |= magnitudes.dtype.type(sign)
        return Arguments(magnitudes, None)
    y = (magnitudes >> plan.pair_bits).astype(unsigned)
    g = (magnitudes & magnitudes.dtype.type(sign - 1)).astype(unsigned)
    if side & NEGATIVE:
        y |= y.dtype.type(sign)
    if side & NEGATIVE_GRADIENT:
        g |= g.dtype.type(sign)
    return Arguments(y, g)


def _storage(plan: Plan) -> int:
    return 4 if plan.pairs else plan.format.width // 8


def carried(bits: Bits, dtype: str) -> Floats:
    """The floats with these bit patterns in the carrier of `reference.certified`."""
    if dtype == "bfloat16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    floats: Floats = bits.view(f"f{bits.itemsize}")
    return floats


class Subject:
    """A plan's subject, ready to be called on bit patterns. One thread at a time."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._function: Callable[..., Any] = plan.subject.function
        self._dtype = torch_dtype(plan.dtype)
        self._integer = _INTEGER[plan.format.width]
        self._numpy_integer = np.dtype(f"i{plan.format.width // 8}")
        self._unsigned = np.dtype(f"u{plan.format.width // 8}")
        self._device = torch.device(plan.device)
        self._one = torch.ones((), dtype=self._dtype, device=self._device)
        self._zero = torch.zeros((), dtype=self._dtype, device=self._device)
        self._batch = torch.func.vmap(self._function, in_dims=(0, None, None, None))

    def __call__(self, given: Arguments, *, spent: bool = False) -> Results:
        """Results for every number, in one call of the subject (or one for each, see the plan).
        `spent` says that nobody reads `given` afterwards: the subject gets its memory, not a copy.

        Raises SubjectFailed for whatever it raises and for results of another number, shape or
        dtype than its kind has.
        """
        try:
            match self._plan.kind:
                case Kind.ACTIVATION:
                    return self._activation(given, copy=not spent)
                case Kind.TANH_GRADIENT:
                    return self._gradient(given, copy=not spent)
                case Kind.NEURON:
                    return self._neuron(given, batched=self._plan.batched, copy=not spent)
        except SubjectFailed:
            raise
        except (Exception, SystemExit) as error:
            raise SubjectFailed(f"raised {one_line(error)}") from error

    def single(self, given: Arguments) -> Results:
        """The same by one call for each number: a neuron without vmap, others on one element."""
        try:
            if self._plan.kind is Kind.NEURON:
                return self._neuron(given, batched=False)
            return joined([self(given.part(i, i + 1)) for i in range(len(given.x))])
        except SubjectFailed:
            raise
        except (Exception, SystemExit) as error:
            raise SubjectFailed(f"raised {one_line(error)}") from error

    def product(self, gradient: Bits, x: Bits) -> Bits:
        """d * x in the subject's dtype, which a neuron's weight gradient should be."""
        return self._bits(self._tensor(gradient, copy=False) * self._tensor(x, copy=False))

    def _activation(self, given: Arguments, *, copy: bool) -> Results:
        with torch.enable_grad():
            x = self._tensor(given.x, copy=copy).requires_grad_()
            y = self._function(x)
            self._check("the activation's result", y, x.shape)
            if not y.requires_grad:
                raise SubjectFailed(
                    "returned a tensor that does not require grad; expected one that autograd can "
                    "trace to x; use torch operations, or an autograd.Function"
                )
            (d,) = torch.autograd.grad(y, x, self._one.expand(x.shape))
        self._check("the activation's gradient", d, x.shape)
        return Results(self._bits(d), self._bits(y))

    def _gradient(self, given: Arguments, *, copy: bool) -> Results:
        y = self._tensor(given.x, copy=copy)
        if given.g is None:
            g = self._one.expand(y.shape).contiguous()
        else:
            g = self._tensor(given.g, copy=copy)
        d = self._function(y, g)
        self._check("the gradient", d, y.shape)
        return Results(self._bits(d))

    def _neuron(self, given: Arguments, *, batched: bool, copy: bool = True) -> Results:
        column = self._tensor(given.x, copy=copy).unsqueeze(1)
        if batched:
            found = self._batch(column, *self._constants())
            self._check_count(found)
        else:
            calls = []
            for row in column:
                call = self._function(row, *self._constants())
                self._check_count(call)
                calls.append(call)
            found = tuple(torch.stack(results) for results in zip(*calls, strict=True))
        y, dx, dw, d = found
        scalars, vectors = torch.Size([len(given.x)]), torch.Size([len(given.x), 1])
        for name, result, shape in (
            ("output", y, scalars),
            ("input_gradient", dx, vectors),
            ("weight_gradient", dw, vectors),
            ("bias_gradient", d, scalars),
        ):
            self._check(name, result, shape)
        return Results(
            gradient=self._bits(d),
            output=self._bits(y),
            input_gradient=self._bits(dx),
            weight_gradient=self._bits(dw),
        )

    def _constants(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """w = 1, b = 0 and g = 1, new each time: a subject may spoil what it is given."""
        return self._one.expand(1).clone(), self._zero.clone(), self._one.clone()

    def _check_count(self, found: Any) -> None:
        if not isinstance(found, tuple | list) or len(found) != 4:
            count = len(found) if isinstance(found, tuple | list) else f"a {type(found).__name__}"
            raise SubjectFailed(
                f"returned {count}; expected 4 tensors (output, input_gradient, weight_gradient, "
                "bias_gradient); say its kind with --as"
            )

    def _check(self, name: str, result: Any, shape: torch.Size) -> None:
        if not isinstance(result, torch.Tensor):
            raise SubjectFailed(f"{name} is a {type(result).__name__}; expected a torch.Tensor")
        if result.shape != shape:
            raise SubjectFailed(
                f"{name} has shape {tuple(result.shape)} for {tuple(shape)}; expected the same "
                "shape; a sweep needs a subject that works on every element by itself"
            )
        if result.dtype is not self._dtype:
            raise SubjectFailed(f"{name} is {result.dtype}; expected {self._dtype}")

    def _tensor(self, bits: Bits, *, copy: bool) -> torch.Tensor:
        """A tensor, if a copy with memory of its own: a subject that works in place spoils nothing
        else."""
        integers = torch.from_numpy(bits.view(self._numpy_integer))
        return integers.to(self._device, copy=copy).view(self._dtype)

    def _bits(self, tensor: torch.Tensor) -> Bits:
        integers = tensor.detach().reshape(-1).contiguous().view(self._integer).cpu()
        bits: Bits = integers.numpy().view(self._unsigned)
        return bits


def joined(parts: Sequence[Results]) -> Results:
    """The results of neighbouring arguments, one after another."""
    columns: list[Bits | None] = []
    for column in zip(*parts, strict=True):
        found = [bits for bits in column if bits is not None]
        columns.append(np.concatenate(found) if found else None)
    return Results(*columns)  # type: ignore[arg-type]


def probe(plan: Plan) -> tuple[Plan, str | None]:
    """The plan as it can be carried out, and why a neuron of it cannot be batched (None: it can).

    Calls the subject on a few ordinary numbers. Raises CannotVerify, in one line, for a subject
    that fails on them, or whose results do not have the shape and dtype of its kind.
    """
    values = torch.tensor(_PROBE, dtype=torch_dtype(plan.dtype))
    subject = Subject(plan)
    bits: Bits = values.view(_INTEGER[plan.format.width]).numpy().view(subject._unsigned)
    given = Arguments(bits, None)
    try:
        subject(given)
        return plan, None
    except SubjectFailed as error:
        reason = str(error)
    if plan.kind is Kind.NEURON:
        from dataclasses import replace

        try:
            subject.single(given)
            return replace(plan, batched=False), reason
        except SubjectFailed as error:
            reason = str(error)
    raise CannotVerify(f"{plan.subject.name} cannot be swept in {plan.dtype}: {reason}")
