"""One call of a subject on one case: what it returned, as floats, and which laws it broke.

The laws are those of `harness.laws.of_a_call`, which any single call can show.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from harness.case import Case
from harness.contract import NEURON_QUANTITIES, TANH_GRADIENT_QUANTITIES
from harness.errors import one_line
from harness.flush import flushing
from harness.judgement import SCALARS
from harness.laws import LAWS, CallFailed, Values
from harness.laws.of_a_call import (
    GLOBAL_STATE,
    INPUTS_UNTOUCHED,
    REPEATABLE,
    RESULTS_OWN_MEMORY,
    STRUCTURE,
)
from harness.subjects import Kind, Subject, neuron_of
from harness.tensors import arguments, same_bits, tanh_gradient_arguments, torch_dtype
from harness.torch_state import TorchState

#: The names of the laws that an evaluation reports.
CALL_LAWS: Final = tuple(law.name for law in LAWS if not any(law.checks.values()))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one call gave: floats per quantity (None where there is nothing to read), the message of
    each broken law, and what the subject raised; with `lost`, what it did to its process."""

    values: Mapping[str, Sequence[float]] | None
    breaches: dict[str, str]
    raised: str | None = None
    lost: bool = False

    @property
    def failure(self) -> str | None:
        """What the subject did instead of returning; None if it returned."""
        return self.raised if self.raised is None or self.lost else f"raised {self.raised}"


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
        self._activation = subject.function
        self.quantities = quantities_of(subject.kind)
        if subject.kind is Kind.TANH_GRADIENT:
            self._function: Callable[..., Any] = subject.function
            self._build: _Build = tanh_gradient_arguments
        else:
            self._function = neuron_of(subject)
            self._build = arguments

    def __call__(self, case: Case) -> Evaluation:
        """Evaluate `case`. Whatever the subject raises (KeyboardInterrupt excepted) is recorded."""
        build = self._build
        tensors = build(case, self._device)
        before = [tensor.detach().clone() for tensor in tensors]
        state = TorchState.now(self._flush)
        breaches: dict[str, str] = {}
        try:
            first = self._call(self._function, tensors)
            touched = [
                name
                for name, tensor, copy in zip(self._arguments, tensors, before, strict=True)
                if not _untouched(tensor, copy)
            ]
            second = self._call(self._function, build(case, self._device) if touched else tensors)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Evaluation(None, {}, raised=one_line(error))
        finally:
            after = TorchState.now(self._flushed_after)
            if after != state:
                state.restore()
        changed = state.difference(after)
        if changed:
            breaches[GLOBAL_STATE.name] = changed
        if touched:
            breaches[INPUTS_UNTOUCHED.name] = f"{', '.join(touched)} changed in place"
        results, again = _sequence(first), _sequence(second)
        fault = self._structure_fault(case, results)
        if fault:
            return Evaluation(None, {STRUCTURE.name: fault, **breaches})
        different = _first_difference(self.quantities, results, again)
        owners = dict(zip(self._arguments, tensors, strict=True))
        if not different:
            # Both answers are alive, so a buffer that serves twice shows.
            calls = zip(self.quantities, again, strict=True)
            owners = {f"the {name} of the next call": tensor for name, tensor in calls} | owners
        shared = _shared_memory(self.quantities, results, owners)
        if shared:
            breaches[RESULTS_OWN_MEMORY.name] = shared
        if different:
            breaches[REPEATABLE.name] = different
        return Evaluation(dict(zip(self.quantities, map(_floats, results), strict=True)), breaches)

    def values(self, case: Case) -> Values:
        """What one call gives, and nothing else: for laws, which compare it with another.

        Raises CallFailed if the subject raises, or does not return what it should.
        """
        try:
            results = _sequence(self._once(self._function, self._build(case, self._device)))
            fault = self._structure_fault(case, results)
        except CallFailed as failure:
            fault = str(failure)
        if fault:
            raise CallFailed(f"{fault}, called on {case.to_json()}")
        return dict(zip(self.quantities, map(_floats, results), strict=True))

    def elementwise(self, case: Case) -> Values:
        """`output` and `bias_gradient` of an activation, each of shape (n,), on the vector
        `case.inputs` with the case's layout and upstream gradient. Raises as `values` does."""
        x, g = tanh_gradient_arguments(case, self._device)
        results = self._once(self._differentiated, (x, g))
        return dict(zip(("output", "bias_gradient"), map(_floats, results), strict=True))

    def _differentiated(self, x: torch.Tensor, g: torch.Tensor) -> Sequence[torch.Tensor]:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = x.detach().requires_grad_()
            output = self._activation(leaf)
            if not isinstance(output, torch.Tensor) or _form(output) != _form(x):
                raise TypeError("the result for a vector is no tensor of its form")
            (gradient,) = torch.autograd.grad(output, leaf, g.detach())
        return output.detach(), gradient

    def refuses(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether the subject raises when it is called with these tensors."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._once(self._function, tensors)
        except CallFailed:
            return True
        return False

    def _once(self, function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
        """The answer to one call, after which global state is put back. Raises CallFailed for
        whatever the subject raises (KeyboardInterrupt excepted)."""
        state = TorchState.now(self._flush)
        try:
            return self._call(function, tensors)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise CallFailed(f"raised {one_line(error)}") from None
        finally:
            if TorchState.now(self._flushed_after) != state:
                state.restore()

    def _call(self, function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
        """The subject's answer. It runs in the flush mode that the process was found in; what mode
        it leaves is noted, and subnormals are kept again afterwards."""
        if self._flush:
            torch.set_flush_denormal(True)
        try:
            return function(*tensors)
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
            shape = () if name in SCALARS else vector
            if result.shape != shape:
                return f"{name} has shape {tuple(result.shape)}; expected {shape}"
            if result.dtype is not dtype:
                return f"{name} is {result.dtype}; expected {dtype}"
            if result.layout is not torch.strided:
                return f"{name} has layout {result.layout}; expected {torch.strided}"
            if result.device.type != self._device_type:
                return f"{name} is on {result.device}; expected {self._device}"
        return None


def quantities_of(kind: Kind) -> tuple[str, ...]:
    """What a subject of a kind returns, in order."""
    return TANH_GRADIENT_QUANTITIES if kind is Kind.TANH_GRADIENT else NEURON_QUANTITIES


_Build = Callable[[Case, str], tuple[torch.Tensor, ...]]
_ARGUMENT_NAMES = {
    Kind.NEURON: ("inputs", "weights", "bias", "upstream_gradient"),
    Kind.ACTIVATION: ("inputs", "weights", "bias", "upstream_gradient"),
    Kind.TANH_GRADIENT: ("output", "upstream_gradient"),
}


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
