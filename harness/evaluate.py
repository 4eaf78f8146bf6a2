"""One call of a subject on one case: what it returned, as floats, and which call laws it broke.

The laws checked here are those that any single call can show:

| law                | holds when                                                                |
|--------------------|---------------------------------------------------------------------------|
| structure          | the results are tensors of the right number, shape, dtype and device      |
| inputs-untouched   | the arguments hold the same bits after the call                           |
| results-own-memory | no result shares memory with an argument, or with those of the next call  |
| repeatable         | the same call a second time gives the same bits                           |
| global-state       | default dtype, grad mode, threads, RNG and flush-to-zero are as found     |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.case import Case
from harness.contract import NEURON_QUANTITIES, TANH_GRADIENT_QUANTITIES
from harness.flush import flushing
from harness.subjects import Kind, Subject, neuron_of
from harness.tensors import arguments, same_bits, tanh_gradient_arguments, torch_dtype

CALL_LAWS = (
    "structure",
    "inputs-untouched",
    "results-own-memory",
    "repeatable",
    "global-state",
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one call gave: floats per quantity (None where there is nothing to read), the message of
    each broken law, and what the subject raised."""

    values: Mapping[str, Sequence[float]] | None
    breaches: dict[str, str]
    raised: str | None = None


class Evaluator:
    """Calls one subject on cases, on one device.

    `flush_to_zero` is the mode the process was found in: the subject runs in it, while the harness
    itself always works with subnormals.
    """

    def __init__(self, subject: Subject, device: str, *, flush_to_zero: bool = False) -> None:
        self._kind = subject.kind
        self._device = device
        self._device_type = torch.device(device).type
        self._flush = self._flushed_after = flush_to_zero
        self._arguments = _ARGUMENT_NAMES[subject.kind]
        if subject.kind is Kind.TANH_GRADIENT:
            self._function: Callable[..., Any] = subject.function
            self.quantities: tuple[str, ...] = TANH_GRADIENT_QUANTITIES
        else:
            self._function = neuron_of(subject)
            self.quantities = NEURON_QUANTITIES

    def __call__(self, case: Case) -> Evaluation:
        """Evaluate `case`. Whatever the subject raises (KeyboardInterrupt excepted) is recorded."""
        build = tanh_gradient_arguments if self._kind is Kind.TANH_GRADIENT else arguments
        tensors: tuple[torch.Tensor, ...] = build(case, self._device)
        before = [tensor.detach().clone() for tensor in tensors]
        state = _GlobalState.now(self._flush)
        breaches: dict[str, str] = {}
        try:
            first = self._call(tensors)
            touched = [
                name
                for name, tensor, copy in zip(self._arguments, tensors, before, strict=True)
                if not _untouched(tensor, copy)
            ]
            second = self._call(build(case, self._device) if touched else tensors)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Evaluation(None, {}, raised=_one_line(error))
        finally:
            after = _GlobalState.now(self._flushed_after)
            if after != state:
                state.restore()
        changed = state.difference(after)
        if changed:
            breaches["global-state"] = changed
        if touched:
            breaches["inputs-untouched"] = f"{', '.join(touched)} changed in place"
        results, again = _sequence(first), _sequence(second)
        fault = self._structure_fault(case, results)
        if fault:
            return Evaluation(None, {"structure": fault, **breaches})
        different = _first_difference(self.quantities, results, again)
        owners = dict(zip(self._arguments, tensors, strict=True))
        if not different:
            # Both answers are alive, so a buffer that serves twice shows.
            calls = zip(self.quantities, again, strict=True)
            owners = {f"the {name} of the next call": tensor for name, tensor in calls} | owners
        shared = _shared_memory(self.quantities, results, owners)
        if shared:
            breaches["results-own-memory"] = shared
        if different:
            breaches["repeatable"] = different
        return Evaluation(dict(zip(self.quantities, map(_floats, results), strict=True)), breaches)

    def _call(self, tensors: tuple[torch.Tensor, ...]) -> Any:
        """The subject's answer. It runs in the flush mode that the process was found in; what mode
        it leaves is noted, and subnormals are kept again afterwards."""
        if self._flush:
            torch.set_flush_denormal(True)
        try:
            return self._function(*tensors)
        finally:
            self._flushed_after = bool(flushing())
            if self._flushed_after:
                torch.set_flush_denormal(False)

    def _structure_fault(self, case: Case, results: Sequence[Any]) -> str | None:
        if len(results) == 1 and results[0] is None:
            return f"returned None; expected {len(self.quantities)} tensors"
        if len(results) != len(self.quantities):
            count = len(results)
            returned = f"{count} result{'' if count == 1 else 's'}"
            return f"returned {returned}; expected {len(self.quantities)}"
        vector = (len(case.inputs),)
        dtype = torch_dtype(case.dtype)
        for name, result in zip(self.quantities, results, strict=True):
            if not isinstance(result, torch.Tensor):
                return f"{name} is a {type(result).__name__}; expected a torch.Tensor"
            shape = () if name in _SCALARS else vector
            if result.shape != shape:
                return f"{name} has shape {tuple(result.shape)}; expected {shape}"
            if result.dtype is not dtype:
                return f"{name} is {result.dtype}; expected {dtype}"
            if result.layout is not torch.strided:
                return f"{name} has layout {result.layout}; expected {torch.strided}"
            if result.device.type != self._device_type:
                return f"{name} is on {result.device}; expected {self._device}"
        return None


_SCALARS = frozenset({"output", "bias_gradient"})
_ARGUMENT_NAMES = {
    Kind.NEURON: ("inputs", "weights", "bias", "upstream_gradient"),
    Kind.ACTIVATION: ("inputs", "weights", "bias", "upstream_gradient"),
    Kind.TANH_GRADIENT: ("output", "upstream_gradient"),
}


@dataclass(frozen=True, slots=True)
class _GlobalState:
    """The global torch state that a subject must leave as it found it."""

    default_dtype: torch.dtype
    grad_enabled: bool
    threads: int
    rng: bytes
    flush: bool

    @staticmethod
    def now(flush: bool) -> _GlobalState:
        """The state, with the flush mode that the subject was to find, or that it left."""
        return _GlobalState(
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_num_threads(),
            bytes(torch.get_rng_state().numpy()),
            flush,
        )

    def difference(self, after: _GlobalState) -> str | None:
        """What `after` has changed, in words."""
        changes = []
        for name in ("default_dtype", "grad_enabled", "threads"):
            if getattr(self, name) != getattr(after, name):
                changes.append(f"{name} from {getattr(self, name)} to {getattr(after, name)}")
        if self.rng != after.rng:
            changes.append("the state of the random number generator")
        if after.flush != self.flush:
            changes.append(f"flush-to-zero to {after.flush}")
        return f"the call changed {', '.join(changes)}" if changes else None

    def restore(self) -> None:
        """Put it back, but for the flush mode, which is the caller's business."""
        torch.set_default_dtype(self.default_dtype)
        torch.set_grad_enabled(self.grad_enabled)
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        torch.set_rng_state(torch.frombuffer(bytearray(self.rng), dtype=torch.uint8))


def _sequence(results: Any) -> Sequence[Any]:
    return results if isinstance(results, tuple | list) else (results,)


def _floats(tensor: torch.Tensor) -> list[float]:
    """The elements as Python floats. Exact while subnormals are kept, as they are here."""
    values: list[float] = tensor.detach().to(torch.float64).reshape(-1).tolist()
    return values


def _shared_memory(
    quantities: Sequence[str], results: Sequence[torch.Tensor], owners: Mapping[str, torch.Tensor]
) -> str | None:
    storages = {
        tensor.untyped_storage().data_ptr(): name
        for name, tensor in owners.items()
        if tensor.untyped_storage().nbytes()
    }
    for quantity, result in zip(quantities, results, strict=True):
        shared = storages.get(result.untyped_storage().data_ptr())
        if shared is not None:
            return f"{quantity} shares memory with {shared}"
    return None


def _first_difference(
    quantities: Sequence[str], first: Sequence[torch.Tensor], second: Sequence[Any]
) -> str | None:
    if len(second) != len(first):
        return f"a second call returned {len(second)} results instead of {len(first)}"
    for name, before, after in zip(quantities, first, second, strict=True):
        if not isinstance(after, torch.Tensor) or _form(after) != _form(before):
            return f"a second call returned another type, shape or dtype for {name}"
        # A lazily negated view, as .imag of a conjugate is, cannot be viewed as integers.
        if not same_bits(before.resolve_neg(), after.resolve_neg()):
            return f"a second call gave other bits for {name}"
    return None


def _untouched(argument: torch.Tensor, copy: torch.Tensor) -> bool:
    return argument.shape == copy.shape and same_bits(argument, copy)


def _form(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.dtype, tensor.shape, tensor.layout, tensor.device


def _one_line(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    # A lone surrogate, as in the name of a file that is not UTF-8, has no place in JSON.
    text = text.encode(errors="backslashreplace").decode()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
