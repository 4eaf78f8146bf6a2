"""A subject's process is asked, is lost, and is replaced: each way to lose it is told apart."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.case import Case, Layout
from harness.evaluate import Evaluation, Evaluator
from harness.isolate.limits import MIB, Limits
from harness.isolate.remote import IsolatedEvaluator, IsolatedSecondOrderEvaluator
from harness.isolate.subject import Isolation
from harness.laws import CallFailed
from harness.laws.mismatch import MISMATCH_RAISES
from harness.second_order import SecondOrderEvaluator
from harness.subjects import Kind, Subject, SubjectError, SubjectImportError, load
from harness.tensors import arguments

HOSTILE = Path(__file__).with_name("hostile.py")
#: One term is harmless to every hostile subject, and two are not.
HARMLESS = Case("float32", (0.5,), (1.25,), -0.25, 1.5)
HARMFUL = Case("float32", (0.5, 1.0), (1.25, 2.0), -0.25, 1.5)


@pytest.fixture(scope="module")
def isolation() -> Iterator[Isolation]:
    """Processes with little time and memory."""
    with Isolation(Limits(timeout=1.5, memory=128 * MIB, output=4 * MIB, forks=40)) as place:
        yield place


def evaluator(isolation: Isolation, name: str) -> IsolatedEvaluator:
    """Of a hostile subject."""
    return IsolatedEvaluator(isolation.subject(f"{HOSTILE}:{name}"), "float32", "cpu", False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aborts", "ended its process by SIGABRT"),
        ("crashes", "ended its process by SIGSEGV"),
        ("is_killed", "ended its process by SIGKILL"),
        ("leaves", "ended its process with exit status 0"),
        ("dies_later", "ended its process by SIGABRT"),
        ("allocates", "exceeded its memory limit of 128 MiB (RuntimeError: "),
        ("hoards", "exceeded its memory limit of 128 MiB (MemoryError)"),
        ("prints", "printed more than 4 MiB in one call"),
        ("forks", "returned twice: it forked its process, and both went on"),
        ("forks_in_c", "returned twice: it forked its process, and both went on"),
        ("bombs", "forked more than 40 processes in one call"),
        ("kills_its_parent", "ended the process that its own was started from"),
        ("writes_everywhere", "wrote into the harness's own channel"),
    ],
)
def test_a_loss_is_a_call_that_failed(isolation: Isolation, name: str, expected: str) -> None:
    """It says how, nothing else is seen of it, and the next case finds another process."""
    evaluate = evaluator(isolation, name)
    before = evaluate(HARMLESS)
    lost = evaluate(HARMFUL)
    assert (None, {}, True) == (lost.values, lost.breaches, lost.lost)
    assert lost.raised is not None
    assert lost.raised.startswith(expected), lost.raised
    assert lost.failure == lost.raised
    with pytest.raises(CallFailed, match=r"called on \{"):
        evaluate.values(HARMFUL)
    assert 2 == evaluate.patience.losses
    assert before.values is not None
    assert before == evaluate(HARMLESS)


def test_last_words_are_told_and_inert(isolation: Isolation) -> None:
    """Where a process has printed before its end: without line ends, controls as escapes."""
    lost = evaluator(isolation, "speaks")(HARMFUL)
    assert "ended its process by SIGABRT, after printing: last\\x1b[2J words" == lost.raised


@pytest.mark.parametrize(
    ("name", "expected"),
    [("exits", "SystemExit: 0"), ("interrupts", "_Interrupted: the subject raised Keyboard")],
)
def test_what_is_raised_loses_nothing(isolation: Isolation, name: str, expected: str) -> None:
    """An exit is an exception, and an interrupt that a subject raises is no user's."""
    evaluate = evaluator(isolation, name)
    found = evaluate(HARMFUL)
    assert found.raised is not None
    assert found.raised.startswith(expected)
    assert (False, 0) == (found.lost, evaluate.patience.losses)


def test_a_hang_costs_the_timeout_once(isolation: Isolation) -> None:
    """And after that a multiple of what calls take; a whole timeout can be had."""
    evaluate = evaluator(isolation, "loops_on_nan")
    evaluate(HARMLESS)
    hangs = Case("float32", (float("nan"),), (1.0,), 0.0, 1.0)
    assert "no answer in 1.5 s" == evaluate(hangs).raised
    again = evaluate(hangs).raised
    assert again is not None and again.startswith("no answer in 0.")
    with evaluate.patience.whole():
        assert "no answer in 1.5 s" == evaluate(hangs).raised


def test_what_is_slow_has_its_time(isolation: Isolation) -> None:
    """Two calls of 0.6 s each within a timeout of 1.5 s: it is for one of them."""
    found = evaluator(isolation, "is_slow")(HARMFUL)
    assert found.values is not None


def test_forking_is_no_fault(isolation: Isolation) -> None:
    """Where the new process does not come back."""
    found = evaluator(isolation, "forks_and_waits")(HARMFUL)
    assert (None, {}) == (found.raised, found.breaches)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even what has left the group and the session of the process."""
    monkeypatch.setenv("DAEMON", str(tmp_path / "number"))
    with Isolation(Limits(timeout=5.0)) as isolation:
        evaluator(isolation, "leaves_a_daemon")(HARMFUL)
        daemon = int((tmp_path / "number").read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(daemon, 0)


def test_state_lives_as_long_as_the_process(isolation: Isolation) -> None:
    """A subject that counts its calls is caught at it, as it is in this process."""
    evaluate = evaluator(isolation, "counts")
    assert "a second call gave other bits for output" == evaluate(HARMLESS).breaches["repeatable"]
    assert [3.0] == evaluate.values(HARMLESS)["output"]
    assert [4.0] == evaluate.values(HARMLESS)["output"]


CASES = [
    Case("float32", (), (), 0.5, -0.0),
    Case("float16", (1.0, 2.0**-24, -0.0), (float("inf"), 1.0, float("nan")), -0.0, 1.0),
    Case("bfloat16", (1.0, 2.0), (0.5, 0.25), 1.0, 2.0, Layout.STRIDED),
    Case("float64", (5e-324, 1e308), (1.0, 1.0), 0.0, -1.0, Layout.COLUMN),
]


@pytest.mark.parametrize("name", ["textbook", "autograd", "sigmoid"])
def test_it_sees_what_is_seen_in_this_process(isolation: Isolation, name: str) -> None:
    """Bit for bit, in every format, with NaN, zeros of both signs and subnormals."""
    there = isolation.subject(name)
    here = load(name)
    for case in CASES:
        expected = Evaluator(here, "cpu")(case)
        found = IsolatedEvaluator(there, case.dtype, "cpu", False)(case)
        assert repr(_plain(expected)) == repr(_plain(found))
        values = IsolatedEvaluator(there, case.dtype, "cpu", False).values(case)
        assert repr(dict(values)) == repr(dict(Evaluator(here, "cpu").values(case)))


def _plain(evaluation: Evaluation) -> object:
    values = evaluation.values
    return None if values is None else dict(values), evaluation.breaches, evaluation.raised


def test_the_second_order_is_the_same(isolation: Isolation) -> None:
    """And so is what has none."""
    from harness.direction import Direction

    direction = Direction((1.0, -0.5), (0.0, 2.0), 1.0)
    for name in ("torch-tanh", "exponential"):
        there = IsolatedSecondOrderEvaluator(isolation.subject(name), "float64", "cpu", False)
        here = SecondOrderEvaluator(load(name), "cpu")
        case = Case("float64", (0.5, 1.0), (1.25, 2.0), -0.25, 1.5)
        assert here.unsupported("float64") == there.unsupported("float64")
        assert _plain(here(case, direction)) == _plain(there(case, direction))


def test_an_activation_on_a_vector(isolation: Isolation) -> None:
    """As the laws of layout and lanes ask for it."""
    case = Case("float32", (0.5, 1.0, -2.0), (), 0.0, 1.5, Layout.OFFSET)
    found = IsolatedEvaluator(isolation.subject("torch-tanh"), "float32", "cpu", False)
    assert Evaluator(load("torch-tanh"), "cpu").elementwise(case) == found.elementwise(case)


def test_mismatched_arguments_travel(isolation: Isolation) -> None:
    """Views of roomy storages, integers, and a tensor on another device."""
    found = IsolatedEvaluator(isolation.subject("textbook"), "float32", "cpu", False)
    x, w, b, g = arguments(HARMFUL)
    assert not found.refuses((x, w, b, g))
    assert found.refuses((x, w[:1], b, g))
    assert found.refuses((x, w, b.to("meta"), g))
    assert found.refuses((x.long(), w.long(), b.long(), g.long()))
    assert MISMATCH_RAISES.applies(Kind.NEURON)


class TestLoading:
    """What becomes of a subject that cannot be had."""

    def test_declarations_come_along(self, isolation: Isolation) -> None:
        """Those of a built-in subject are its own, but for the function."""
        for name in ("textbook", "torch-tanh", "aten-tanh-gradient"):
            expected, found = load(name), isolation.subject(name)
            given = {**vars(expected), "function": None}
            assert Subject(**given) == Subject(**{**vars(found), "function": None})
            assert expected.stated == found.stated

    def test_it_cannot_be_called_here(self, isolation: Isolation) -> None:
        """It has no function in this process."""
        with pytest.raises(TypeError, match="isolated, and cannot be called from this process"):
            isolation.subject("textbook").function(1)

    def test_the_errors_are_those_of_loading(self, isolation: Isolation, tmp_path: Path) -> None:
        """Word for word."""
        (tmp_path / "bad.py").write_text("1 / 0\n")
        for name in (f"{tmp_path}/bad.py:f", f"{tmp_path}/none.py:f", f"{HOSTILE}:HOSTILE"):
            with pytest.raises(SubjectError) as expected:
                load(name)
            with pytest.raises(SubjectError) as found:
                isolation.subject(name)
            assert (type(expected.value), str(expected.value)) == (
                type(found.value),
                str(found.value),
            )

    def test_an_import_that_ends_its_process(self, isolation: Isolation, tmp_path: Path) -> None:
        """Is an import that failed."""
        (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
        name = f"{tmp_path}/ends.py:f"
        with pytest.raises(SubjectImportError) as caught:
            isolation.subject(name)
        assert (
            f"{name!r} cannot be imported: its import ended its process with exit status 0; "
            "expected an import without a fault; import it in Python to see more"
        ) == str(caught.value)


def test_a_late_end_does_not_wait(isolation: Isolation) -> None:
    """A process that has ended between two requests is noticed at once."""
    evaluate = evaluator(isolation, "sound")
    evaluate(HARMLESS)
    started = time.monotonic()
    process = evaluate._function._process
    assert process is not None
    os.kill(process._number, 9)
    assert "ended its process by SIGKILL" == evaluate(HARMLESS).raised
    assert time.monotonic() - started < 1.5
