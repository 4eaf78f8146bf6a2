"""Cases of one plan, evaluated and judged, and the laws that are due checked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from harness.case import Case
from harness.contract import judge_neuron, judge_tanh_gradient
from harness.evaluate import Evaluation, Evaluator
from harness.grade import Grade
from harness.isolate.patience import Patience
from harness.isolate.records import Begin
from harness.isolate.remote import IsolatedEvaluator
from harness.isolate.subject import IsolatedFunction
from harness.judgement import Judgement
from harness.laws import LAWS, CallFailed, Law, Seen, Values
from harness.laws.of_a_call import REPEATABLE
from harness.shares import shares
from harness.strategies import regimes_for
from harness.subjects import Kind, Subject, builtin_names, load
from reference.bounds import Arithmetic, default_arithmetic
from reference.neuron import neuron

#: The laws to check of a case.
Due = Callable[[Seen], Iterable[Law]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to verify of one subject in one dtype on one device, and how hard to look.

    `locator` is the name by which the command line finds the subject; None if it finds it by none.
    With `strict_laws` a breach of an observed law fails the verdict as well. `second_order` is the
    grade that is asked of the Hessian-vector product; None for what the subject promises by itself.
    """

    subject: Subject
    dtype: str
    device: str
    required: Grade
    examples: int
    seed: int
    expected_wrong: bool = False
    reason: str = ""
    activation_ulps: float | None = None
    flush_to_zero: bool = False
    locator: str | None = None
    strict_laws: bool = False
    second_order: Grade | None = None

    @property
    def cases(self) -> int:
        """How many cases the first pass draws: `examples`, or one for each regime if more."""
        return sum(shares(regimes_for(self.subject.kind), self.examples).values())


@dataclass(frozen=True, slots=True)
class Finding:
    """One case, evaluated and judged. `checked` names the laws that were checked by more than the
    evaluation, `broken` what those of them say that it broke; `lost` is whether the process of an
    isolated subject was lost on the way."""

    case: Case
    evaluation: Evaluation
    judgement: Judgement | None
    checked: tuple[str, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False

    @property
    def breaches(self) -> dict[str, str]:
        """The message of every broken law."""
        return {**self.evaluation.breaches, **self.broken}


def evaluator_of(plan: Plan) -> Evaluator | IsolatedEvaluator:
    """What calls the subject of a plan, here or in a process of its own."""
    subject, device, flush = plan.subject, plan.device, plan.flush_to_zero
    if isinstance(subject.function, IsolatedFunction):
        return IsolatedEvaluator(subject, plan.dtype, device, flush)
    return Evaluator(subject, device, flush_to_zero=flush)


def patience_of(plan: Plan) -> Patience | None:
    """How long calls may take where the subject of a plan is isolated; None where it is not."""
    function = plan.subject.function
    if not isinstance(function, IsolatedFunction):
        return None
    return function.patience(plan.dtype, Begin(plan.device, plan.flush_to_zero))


def no_law(_seen: Seen) -> Iterable[Law]:
    """For cases whose accuracy alone is asked for."""
    return ()


def every_law(_seen: Seen) -> Iterable[Law]:
    """For a case that is looked at closely."""
    return LAWS


class Judge:
    """Evaluates and judges cases of one plan."""

    def __init__(self, plan: Plan) -> None:
        subject = plan.subject
        self.evaluator = evaluator_of(plan)
        self.kind = subject.kind
        self.required = plan.required
        self.device = plan.device
        self.built_in = subject.name in builtin_names() and (
            isinstance(subject.function, IsolatedFunction) or load(subject.name) is subject
        )
        self._patience = patience_of(plan)
        self._subject = subject
        self._activation_ulps = plan.activation_ulps
        self._flush_to_zero = plan.flush_to_zero or subject.flush_to_zero

    def arithmetic(self, case: Case) -> Arithmetic:
        """How the subject is taken to compute in the case's dtype.

        An accumulation format narrower than the dtype's own is no excuse: float64 summed in
        binary32 is held to float64.
        """
        ulps = self._activation_ulps
        summed = self._subject.accumulation
        if summed is not None and summed.precision < case.format.precision:
            summed = None
        return default_arithmetic(
            case.format,
            accumulation=summed,
            activation_ulps=self._subject.activation_ulps if ulps is None else ulps,
            flush_to_zero=self._flush_to_zero,
        )

    def __call__(self, case: Case, due: Due = no_law) -> Finding:
        """The finding for one case, with the laws checked that are `due` for it.

        They are not where a second call gives other results: then they would say the same.
        """
        before = self._losses()
        finding = self._finding(case, due)
        return finding if self._losses() == before else replace(finding, lost=True)

    def _losses(self) -> int:
        return 0 if self._patience is None else self._patience.losses

    def _finding(self, case: Case, due: Due) -> Finding:
        evaluation = self.evaluator(case)
        values = evaluation.values
        if values is None:
            return Finding(case, evaluation, None)
        judgement = self.judgement(case, values)
        if REPEATABLE.name in evaluation.breaches:
            return Finding(case, evaluation, judgement)
        seen = Seen(case, values)
        look = _Look(self, seen, judgement)
        checked, broken = [], {}
        for law in due(seen):
            if law.checks.get(self.kind) is None:
                continue
            checked.append(law.name)
            text = law.broken(self.kind, seen, look)
            if text is not None:
                broken[law.name] = text
        return Finding(case, evaluation, judgement, tuple(checked), broken)

    def judgement(self, case: Case, values: Values) -> Judgement:
        """What results are worth."""
        arithmetic = self.arithmetic(case)
        if self.kind is Kind.TANH_GRADIENT:
            return judge_tanh_gradient(
                case.inputs, case.upstream_gradient, values["gradient"], arithmetic
            )
        exact = neuron(
            case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format
        )
        return judge_neuron(exact, values, arithmetic)

    def law(self, law: Law, case: Case) -> Finding:
        """The finding for one case and one law, with nothing judged that the law does not ask for,
        and the subject called once where the law is not one of a call."""
        if law.checks.get(self.kind) is None:
            return Finding(case, self.evaluator(case), None)
        try:
            values = self.evaluator.values(case)
        except CallFailed:
            return Finding(case, Evaluation(None, {}), None)
        seen = Seen(case, values)
        text = law.broken(self.kind, seen, _Look(self, seen, None))
        broken = {} if text is None else {law.name: text}
        return Finding(case, Evaluation(values, {}), None, (law.name,), broken)


class _Look:
    """What a law may ask beyond the case at hand, which is judged at most once."""

    def __init__(self, judge: Judge, seen: Seen, judgement: Judgement | None) -> None:
        self._judge = judge
        self._seen = seen
        self._judgement = judgement
        self.values = judge.evaluator.values
        self.elementwise = judge.evaluator.elementwise

    @property
    def built_in(self) -> bool:
        return self._judge.built_in

    @property
    def device(self) -> str:
        return self._judge.device

    def falls_short(self, case: Case, values: Values) -> bool:
        if values is not self._seen.values:
            judgement = self._judge.judgement(case, values)
        else:
            judgement = self._judgement = self._judgement or self._judge.judgement(case, values)
        return not judgement.grade.meets(self._judge.required)

    def refuses(self, arguments: Sequence[torch.Tensor]) -> bool:
        return self._judge.evaluator.refuses(arguments)
