"""Second order: the Hessian of L = g * y times a direction, evaluated and judged.

The grades are those of `harness.contract`, with the bounds of `reference.second_order_bounds`.
Where the case or the direction is not finite nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Final

import torch

from harness.case import Case
from harness.contract import judge_quantity
from harness.direction import Direction
from harness.double_backward import Pass, differentiating, first_pass, second_pass, unsupported
from harness.errors import one_line
from harness.evaluate import Evaluation
from harness.flush import flushing
from harness.judgement import Bound, Judgement
from harness.subjects import Kind, Subject
from harness.tensors import floats
from harness.torch_state import TorchState
from reference.bounds import Arithmetic
from reference.dyadic import ONE
from reference.exact import Exact
from reference.neuron import neuron
from reference.real import Real
from reference.second_order import hessian_product
from reference.second_order_bounds import HessianProductBounds, hessian_product_bounds

#: The parts of H v, in the order of a neuron's arguments.
SECOND_ORDER_QUANTITIES: Final = (
    "input_hessian_product",
    "weight_hessian_product",
    "bias_hessian_product",
)
#: What becomes of H v where the preactivation overflows, beside the zeros its bounds allow there.
_UNDEFINED: Final = frozenset({"nan"})
#: What becomes of it where adot, a product or a sum does.
_OVERFLOWN: Final = frozenset({"nan", "inf", "-inf"})
#: The law that the same backward pass, run again over a retained graph, gives the same again.
RETAIN_GRAPH: Final = "retain-graph"


class SecondOrderEvaluator:
    """Differentiates one subject twice on cases, on one device.

    `flush_to_zero` is the mode the process was found in: the subject runs in it, while the harness
    itself always works with subnormals.
    """

    def __init__(self, subject: Subject, device: str, *, flush_to_zero: bool = False) -> None:
        self._subject = subject
        self._device = device
        self._flush = flush_to_zero
        self._unsupported: dict[str, str | None] = {}

    def unsupported(self, dtype: str) -> str | None:
        """Why the subject has no double backward in `dtype`, in one line; None if it has one."""
        if dtype not in self._unsupported:
            with self._as_found():
                self._unsupported[dtype] = unsupported(self._subject, dtype, self._device)
        return self._unsupported[dtype]

    def __call__(self, case: Case, direction: Direction) -> Evaluation:
        """H v at `case`, and whether the law `RETAIN_GRAPH` is kept.

        No values, and only the first backward pass repeated, for a subject that is `unsupported`;
        nothing at all for a raw tanh gradient. Whatever the subject raises (KeyboardInterrupt
        excepted) is recorded, as a breach of the law if only a second pass raises it.
        """
        if self._subject.kind is Kind.TANH_GRADIENT:
            return Evaluation(None, {})
        twice = self.unsupported(case.dtype) is None
        values: dict[str, Sequence[float]] | None = None
        try:
            with self._as_found(), differentiating():
                first = first_pass(self._subject, case, self._device)
                second = self._second(case, direction) if twice else None
                products = () if second is None else second.run()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Evaluation(None, {}, raised=one_line(error))
        if products:
            values = dict(zip(SECOND_ORDER_QUANTITIES, map(floats, products), strict=True))
        try:
            with self._as_found(), differentiating():
                found = [each.repeated() for each in (first, second) if each is not None]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            found = [f"a second backward over the same graph raised {one_line(error)}"]
        broken = [message for message in found if message is not None]
        return Evaluation(values, {RETAIN_GRAPH: broken[0]} if broken else {})

    def _second(self, case: Case, direction: Direction) -> Pass:
        return second_pass(self._subject, case, direction, self._device)

    @contextmanager
    def _as_found(self) -> Iterator[None]:
        """The flush mode the process was found in; subnormals are kept again afterwards, and what
        else the subject has changed of torch's state is put back."""
        state = TorchState.now(self._flush)
        if self._flush:
            torch.set_flush_denormal(True)
        try:
            yield
        finally:
            if flushing():
                torch.set_flush_denormal(False)
            state.restore()


def judge_hessian_product(
    case: Case,
    direction: Direction,
    computed: Mapping[str, Sequence[float]],
    arithmetic: Arithmetic,
) -> Judgement | None:
    """Judge H v; `computed` maps each of SECOND_ORDER_QUANTITIES to its floats, one for each input,
    each weight, and the bias. None where the case or the direction is not finite.

    Raises ValueError if a quantity has another number of elements.
    """
    arguments = (*case.inputs, *case.weights, case.bias, case.upstream_gradient)
    if not (direction.finite and all(map(isfinite, arguments))):
        return None
    point = neuron(case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format)
    exact = hessian_product(point, direction.inputs, direction.weights, direction.bias)
    bounds = hessian_product_bounds(exact, arithmetic)
    quantities = (
        (exact.inputs, point.weights, exact.tangent_weights),
        (exact.weights, point.inputs, exact.tangent_inputs),
        ((exact.bias,), (ONE,), (0.0,)),
    )
    return Judgement(
        {
            name: judge_quantity(
                name,
                reals,
                [_bound(bounds, *element) for element in zip(reals, *factors, strict=True)],
                computed[name],
                arithmetic,
            )
            for name, (reals, *factors) in zip(SECOND_ORDER_QUANTITIES, quantities, strict=True)
        }
    )


def _bound(
    bounds: HessianProductBounds | None, value: Real, multiplier: Exact, tangent: Exact
) -> Bound:
    """The bound of `value` = c * multiplier + d * tangent; that of c is the one with 1 and 0."""
    if bounds is None:
        return Bound(None, None)
    hazard = _UNDEFINED if bounds.overflow.preactivation else frozenset()
    if bounds.overflow.tangent or bounds.textbook.overflow_possible(multiplier, tangent):
        hazard |= _OVERFLOWN
    textbook, stable = (
        rung.bias if multiplier is ONE else rung.element(multiplier, tangent, value)
        for rung in (bounds.textbook, bounds.stable)
    )
    return Bound(textbook, stable, hazard=hazard)
