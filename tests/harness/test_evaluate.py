"""One call of a subject: values read exactly, and the laws that a single call can break."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from harness.case import DTYPES, Case, Layout
from harness.contract import NEURON_QUANTITIES
from harness.evaluate import CALL_LAWS, Evaluation, Evaluator
from harness.flush import flushing
from harness.subjects import Kind, Subject, load
from tests.flushed import in_flushing_thread
from tests.harness import faulty

CASE = Case("float32", (1.5, -2.0, 0.25), (0.5, 0.25, 1.0), 0.125, 2.0)


def evaluate(
    function: Callable[..., Any], case: Case = CASE, kind: Kind = Kind.NEURON
) -> Evaluation:
    """One evaluation on the CPU."""
    return Evaluator(Subject("tested", kind, function), "cpu")(case)


def torch_state() -> tuple[object, ...]:
    """The global state that a subject might leave changed."""
    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        torch.get_rng_state().tolist(),
        bool(flushing()),
    )


@pytest.fixture(autouse=True)
def _state_as_found() -> Iterator[None]:
    """No test here leaves torch's global state other than it was: the evaluator restores it."""
    before = torch_state()
    yield
    assert before == torch_state()


class TestSound:
    """A subject that keeps the laws is seen to."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("layout", Layout)
    def test_no_breach_in_any_layout(self, dtype: str, layout: Layout) -> None:
        """The textbook neuron: no breach, and the values of a call made by hand."""
        vector = (0.5, 0.5) if layout is Layout.EXPANDED else (0.5, -1.25)
        case = Case(dtype, vector, vector, 0.25, 3.0, layout)
        evaluation = Evaluator(load("textbook"), "cpu")(case)
        tensors = [torch.tensor(each, dtype=getattr(torch, dtype)) for each in (vector, 0.25, 3.0)]
        expected = load("textbook").function(tensors[0], tensors[0], *tensors[1:])
        assert {} == evaluation.breaches
        assert evaluation.raised is None
        assert evaluation.values is not None
        assert NEURON_QUANTITIES == tuple(evaluation.values)
        for values, tensor in zip(evaluation.values.values(), expected, strict=True):
            assert values == tensor.double().reshape(-1).tolist()

    @pytest.mark.parametrize("subject", faulty.SOUND, ids=lambda subject: subject.__name__)
    def test_no_breach_of_sound_variants(self, subject: faulty.Neuron) -> None:
        """Nor of any other sound neuron."""
        assert {} == evaluate(subject).breaches

    def test_subnormals_are_read_exactly(self) -> None:
        """The smallest subnormal of binary64 arrives as it is, and so does -0.0."""

        def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
            return b.clone(), x.clone(), w.clone(), g.clone()

        evaluation = evaluate(neuron, Case("float64", (-0.0,), (5e-324,), 5e-324, -5e-324))
        assert evaluation.values is not None
        assert [0.0] == evaluation.values["input_gradient"]
        assert -1.0 == math.copysign(1.0, evaluation.values["input_gradient"][0])
        assert [5e-324] == evaluation.values["weight_gradient"] == evaluation.values["output"]
        assert [-5e-324] == evaluation.values["bias_gradient"]

    def test_results_that_require_grad_are_read(self) -> None:
        """As results of a plain torch neuron do where its arguments require grad."""
        case = Case("float32", (1.0,), (1.0,), 0.0, 1.0, Layout.REQUIRES_GRAD)
        assert {} == evaluate(faulty.right, case).breaches

    def test_strange_strides_of_results_are_no_fault(self) -> None:
        """An expanded result, a negated view and a list for a tuple are read all the same."""

        def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
            negated = torch.complex(b, b).conj().imag  # a view with its negative bit set
            return [negated, torch.zeros(()).expand(len(x)), w.flip(0), g * 1]

        evaluation = evaluate(neuron)
        assert {} == evaluation.breaches
        assert evaluation.values is not None
        assert ([-0.125], [0.0, 0.0, 0.0]) == tuple(evaluation.values.values())[:2]

    def test_kinds(self) -> None:
        """An activation is lifted into a neuron; a tanh gradient has one quantity."""
        lifted = evaluate(torch.tanh, kind=Kind.ACTIVATION)
        assert lifted.values == evaluate(faulty.right).values
        case = Case("float32", (0.5, -0.25), (), 0.0, 2.0)
        evaluation = evaluate(lambda y, dy: dy * (1 - y * y), case, Kind.TANH_GRADIENT)
        assert {"gradient": [1.5, 1.875]} == evaluation.values


class TestFaults:
    """What each fault is called, and what is said of it."""

    @pytest.mark.parametrize(
        ("subject", "fault"),
        [pytest.param(each, text, id=each.__name__) for each, text in faulty.FORM.items()],
    )
    def test_structure(self, subject: faulty.Neuron, fault: str) -> None:
        """The results' number, type, shape, dtype and layout; values are then not read."""
        evaluation = evaluate(subject, Case("float32", (), (), 0.5, 1.0))
        assert ["structure"] == list(evaluation.breaches)
        assert evaluation.breaches["structure"].startswith(fault)
        assert evaluation.values is None

    @pytest.mark.parametrize(
        ("subject", "law", "message"),
        [pytest.param(each, *said, id=each.__name__) for each, said in faulty.CONDUCT.items()],
    )
    def test_conduct(self, subject: faulty.Neuron, law: str, message: str) -> None:
        """The law that is broken, and no other; the values are read all the same."""
        case = Case("float32", (1.5,), (2.0,), -3.0, 1.0)
        evaluation = evaluate(subject, case)
        assert [law] == list(evaluation.breaches)
        assert message in evaluation.breaches[law]
        assert evaluation.values is not None

    def test_the_laws_have_their_names(self) -> None:
        """Every breach that an evaluation reports is one of CALL_LAWS, and each occurs above."""
        assert {"structure", *(law for law, _ in faulty.CONDUCT.values())} == set(CALL_LAWS)

    @pytest.mark.parametrize(
        "subject", [faulty.changes_its_mind, faulty.changes_shape], ids=["bits", "shape"]
    )
    def test_a_second_call_that_differs(self, subject: faulty.Neuron) -> None:
        """In its bits or its form: not repeatable."""
        found = [evaluate(subject).breaches for _ in range(2)]
        assert any("repeatable" in breaches or "structure" in breaches for breaches in found)
        faulty._CALLS[0] = 0
        assert ["repeatable"] == list(evaluate(subject).breaches)

    def test_a_write_is_seen_by_bits(self) -> None:
        """0.0 overwritten by -0.0, and a NaN by a NaN with another payload."""

        def negate(x: Any, w: Any, b: Any, g: Any) -> Any:
            results = faulty.right(x, w, b, g)
            x.neg_()
            return results

        def payload(x: Any, w: Any, b: Any, g: Any) -> Any:
            results = faulty.right(x, w, b, g)
            b.view(torch.int32).bitwise_xor_(1)
            return results

        zero, nan = (
            Case("float32", (0.0,), (1.0,), 0.0, 1.0),
            Case("float32", (), (), math.nan, 1.0),
        )
        assert {"inputs-untouched": "inputs changed in place"} == evaluate(negate, zero).breaches
        assert {"inputs-untouched": "bias changed in place"} == evaluate(payload, nan).breaches

    def test_a_write_does_not_show_as_another_fault(self) -> None:
        """The second call gets the arguments as they were."""
        assert ["inputs-untouched"] == list(evaluate(faulty.writes_inputs).breaches)

    def test_a_view_of_an_argument_is_shared_memory(self) -> None:
        """Also where it starts elsewhere in the storage, or the layout is strided."""

        def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
            y, _, dw, d = faulty.right(x, w, b, g)
            return y, x.flip(0)[:0] if not len(x) else x.detach()[...], dw, d

        for layout in Layout:
            case = Case("float32", (0.5, 0.5), (1.0, 1.0), 0.0, 1.0, layout)
            assert "input_gradient shares memory with inputs" == evaluate(
                neuron, case
            ).breaches.get("results-own-memory")


class TestRaising:
    """Whatever a subject raises is recorded in one line."""

    @pytest.mark.parametrize(
        ("subject", "message"),
        [pytest.param(each, text, id=each.__name__) for each, text in faulty.RAISING.items()],
    )
    def test_recorded(self, subject: faulty.Neuron, message: str) -> None:
        """Exceptions, SystemExit, and what derives from BaseException alone."""
        evaluation = evaluate(subject, Case("float32", (), (), 0.5, 1.0))
        assert message == f"raised {evaluation.raised}"
        assert evaluation.values is None

    def test_an_interrupt_is_the_users(self) -> None:
        """KeyboardInterrupt is not the subject's doing."""

        def neuron(*_: Any) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            evaluate(neuron)

    def test_state_is_restored_after_raising(self) -> None:
        """Flush-to-zero, grad mode and the rest (the fixture looks)."""

        def neuron(*_: Any) -> Any:
            torch.set_flush_denormal(True)
            torch.set_grad_enabled(False)
            torch.set_default_dtype(torch.float64)
            torch.rand(3)
            raise ValueError

        assert "ValueError" == evaluate(neuron).raised

    def test_messages_that_cannot_be_printed(self) -> None:
        """A lone surrogate is escaped, and an exception without text keeps its type."""

        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        def surrogate(*_: Any) -> Any:
            raise ValueError("file \udc80")

        def mute(*_: Any) -> Any:
            raise Mute

        assert "ValueError: file \\udc80" == evaluate(surrogate).raised
        assert "Mute" == evaluate(mute).raised

    def test_a_failing_second_call(self) -> None:
        """Raising only the second time is raising."""
        calls: list[int] = []

        def neuron(*arguments: Any) -> Any:
            calls.append(1)
            return faulty.right(*arguments) if len(calls) % 2 else sys.exit("twice")

        assert "SystemExit: twice" == evaluate(neuron).raised


class TestFlushToZero:
    """The subject runs in the mode the process was found in; the harness keeps subnormals."""

    def test_the_subject_runs_in_the_mode(self) -> None:
        """Both calls, and the mode is off again after each."""
        seen: list[bool] = []

        def neuron(*arguments: Any) -> Any:
            seen.append(bool(flushing()))
            return faulty.right(*arguments)

        def both() -> tuple[list[bool], bool, dict[str, str]]:
            torch.set_flush_denormal(False)
            subject = Subject("tested", Kind.NEURON, neuron)
            breaches = Evaluator(subject, "cpu", flush_to_zero=True)(CASE).breaches
            return seen, bool(flushing()), breaches

        assert ([True, True], False, {}) == in_flushing_thread(both)

    def test_a_subject_that_switches_it_off(self) -> None:
        """Is seen to, as one that switches it on is."""

        def neuron(*arguments: Any) -> Any:
            torch.set_flush_denormal(False)
            return faulty.right(*arguments)

        def breaches() -> dict[str, str]:
            torch.set_flush_denormal(False)
            subject = Subject("tested", Kind.NEURON, neuron)
            return Evaluator(subject, "cpu", flush_to_zero=True)(CASE).breaches

        assert {"global-state": "the call changed flush-to-zero to False"} == in_flushing_thread(
            breaches
        )
