"""`harness.verify`: what it takes, what it defaults to, what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import harness
from harness import CannotVerify, Grade, UsageError, VerificationError
from harness.api import DEFAULT_REQUIRED, fresh_seed, make_plans, run_plans, verify
from harness.case import DTYPES
from harness.flush import flushing
from harness.judge import Plan
from harness.subjects import (
    Kind,
    Stated,
    Subject,
    SubjectError,
    SubjectImportError,
    builtin_subjects,
)
from harness.verdict import Verification
from tests.flushed import in_flushing_thread
from tests.harness import faulty
from tests.harness.command import environment

CPU: Any = {"devices": ["cpu"], "examples": 14, "seed": 1}


def plans(*subjects: Subject, **changes: Any) -> list[Plan]:
    """Plans for subjects on the CPU."""
    options: dict[str, Any] = {
        "dtypes": None,
        "devices": ["cpu"],
        "require": None,
        "examples": 14,
        "seed": 1,
        "activation_ulps": None,
    }
    return make_plans([(subject.name, subject) for subject in subjects], **{**options, **changes})


class TestPackage:
    """The public face."""

    def test_verify_is_the_function_every_time(self) -> None:
        """The first look-up, the second, and after anything else of the package was imported."""
        script = (
            "import harness\n"
            "assert callable(harness.verify) and callable(harness.verify)\n"
            "import importlib, pkgutil\n"
            "for module in pkgutil.iter_modules(harness.__path__):\n"
            "    if module.name != '__main__':\n"
            "        importlib.import_module(f'harness.{module.name}')\n"
            "assert harness.verify.__name__ == 'verify', harness.verify\n"
            "assert harness.verify is harness.api.verify\n"
            "harness.verify('textbook', dtypes=['float32'], examples=1).raise_for_failure()\n"
        )
        subprocess.run([sys.executable, "-c", script], env=environment(), check=True)

    def test_importing_harness_is_quick(self) -> None:
        """Neither torch nor hypothesis nor mpmath is imported for it."""
        script = (
            "import sys, harness\n"
            "harness.Grade, harness.UsageError\n"
            "print([n for n in ('torch', 'hypothesis', 'mpmath', 'rich') if n in sys.modules])\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment(),
            check=True,
            capture_output=True,
            text=True,
        )
        assert "[]" == done.stdout.strip()

    def test_every_public_name_is_there(self) -> None:
        """And a misspelt one is an AttributeError."""
        for name in harness.__all__:
            assert getattr(harness, name) is not None
        with pytest.raises(AttributeError, match="module 'harness' has no attribute 'verfiy'"):
            harness.verfiy  # noqa: B018


class TestSubjects:
    """What can be verified."""

    @pytest.mark.parametrize(
        ("subject", "name", "locator"),
        [
            pytest.param("textbook", "textbook", "textbook", id="a name"),
            pytest.param(
                "tests.harness.faulty:dot",
                "tests.harness.faulty:dot",
                "tests.harness.faulty:dot",
                id="a module's attribute",
            ),
            pytest.param(
                faulty.dot, "tests.harness.faulty:dot", "tests.harness.faulty:dot", id="a callable"
            ),
            pytest.param(Subject("mine", Kind.NEURON, faulty.dot), "mine", None, id="a Subject"),
        ],
    )
    def test_found(self, subject: Any, name: str, locator: str | None) -> None:
        """By its name, and with the name that the command line would use."""
        (verdict,) = verify(subject, dtypes=["float32"], **CPU).verdicts
        assert (name, locator, True) == (verdict.subject, verdict.locator, verdict.passed)

    def test_kind(self) -> None:
        """Of a callable it is a neuron unless said."""
        (verdict,) = verify(torch.tanh, kind="activation", dtypes=["float32"], **CPU).verdicts
        assert ("activation", True) == (verdict.kind, verdict.passed)
        (verdict,) = verify(torch.tanh, dtypes=["float32"], **CPU).verdicts
        assert verdict.error is not None
        assert verdict.error.startswith("raised TypeError")

    @pytest.mark.parametrize(
        ("subject", "kind", "error", "message"),
        [
            pytest.param("texbook", None, SubjectError, "did you mean textbook", id="unknown name"),
            pytest.param(
                "missing.py:neuron", None, SubjectImportError, "is not a file", id="no such file"
            ),
            pytest.param(
                "textbook", "activation", SubjectError, "is of kind neuron", id="its kind"
            ),
            pytest.param(faulty.dot, "layer", SubjectError, "'layer' is not a kind", id="no kind"),
            pytest.param(3, None, SubjectError, "which cannot be called", id="no callable"),
        ],
    )
    def test_refused(self, subject: Any, kind: Any, error: type[Exception], message: str) -> None:
        """SubjectError, a ValueError, in one line."""
        with pytest.raises(error, match=message) as refused:
            verify(subject, kind=kind, **CPU)
        assert isinstance(refused.value, ValueError)
        assert 1 == len(str(refused.value).splitlines())


class TestPlans:
    """Subjects times dtypes times devices."""

    def test_every_dtype_unless_said(self) -> None:
        """In the usual order; each once, in the order asked for."""
        (subject,) = (each for each in builtin_subjects() if each.name == "textbook")
        assert list(DTYPES) == [plan.dtype for plan in plans(subject)]
        asked = plans(subject, dtypes=["float64", "float16", "float64"])
        assert ["float64", "float16"] == [plan.dtype for plan in asked]

    def test_only_dtypes_that_are_declared(self) -> None:
        """A subject for binary32 alone is not judged in binary16."""
        only = Subject("only", Kind.NEURON, faulty.right, dtypes=("float32",))
        assert ["float32"] == [plan.dtype for plan in plans(only)]
        assert ["float32"] == [plan.dtype for plan in plans(only, dtypes=["float16", "float32"])]
        with pytest.raises(CannotVerify, match="no subject supports a dtype and device"):
            plans(only, dtypes=["float16"])

    def test_only_devices_that_are_declared(self) -> None:
        """Nor a CUDA kernel on the CPU."""
        only = Subject("only", Kind.NEURON, faulty.right, devices=("cuda",))
        with pytest.raises(CannotVerify, match="no subject supports a dtype and device"):
            plans(only)

    def test_what_is_required(self) -> None:
        """The stated grade; `textbook` where nothing is stated; `require` over both."""
        claims = {
            "float32": Stated(Grade.STABLE, "it is careful"),
            "float64": Stated(Grade.WRONG, "it cancels"),
        }
        subject = Subject("claiming", Kind.NEURON, faulty.right, claims)
        found = {plan.dtype: plan for plan in plans(subject)}
        assert Grade.TEXTBOOK is DEFAULT_REQUIRED is found["float16"].required
        assert (Grade.STABLE, "it is careful", False) == (
            found["float32"].required,
            found["float32"].reason,
            found["float32"].expected_wrong,
        )
        assert (Grade.WRONG, True) == (
            found["float64"].required,
            found["float64"].expected_wrong,
        )
        for require in (Grade.FAITHFUL, "faithful"):
            for plan in plans(subject, require=require):
                assert (Grade.FAITHFUL, False) == (plan.required, plan.expected_wrong)

    def test_devices_default_to_those_there_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The CPU, and CUDA where torch sees it."""
        subject = Subject("given", Kind.NEURON, faulty.right, dtypes=("float32",))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert ["cpu"] == [plan.device for plan in plans(subject, devices=None)]
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert ["cpu", "cuda"] == [plan.device for plan in plans(subject, devices=None)]

    def test_flush_to_zero_is_found_out(self) -> None:
        """In the thread that makes the plans."""
        subject = Subject("given", Kind.NEURON, faulty.right)
        assert {False} == {plan.flush_to_zero for plan in plans(subject)}
        assert {True} == {plan.flush_to_zero for plan in in_flushing_thread(lambda: plans(subject))}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"examples": 0}, "examples is 0; expected a whole number of 1", id="none"),
        pytest.param({"examples": -3}, "examples is -3; expected", id="negative"),
        pytest.param({"examples": 2.5}, r"examples is 2\.5; expected a whole", id="fraction"),
        pytest.param({"examples": "10"}, "examples is '10'; expected a whole", id="text"),
        pytest.param({"examples": True}, "examples is True; expected a whole", id="truth"),
        pytest.param({"seed": -1}, "seed is -1; expected a whole number of 0", id="negative seed"),
        pytest.param(
            {"seed": 0.5}, r"seed is 0\.5; expected a whole number", id="fraction of seed"
        ),
        pytest.param({"dtypes": ["float8"]}, "unknown dtype 'float8'; expected one", id="dtype"),
        pytest.param({"dtypes": []}, r"dtypes is \[\]; expected a list of some of", id="no dtypes"),
        pytest.param(
            {"dtypes": "float32"}, "dtypes is 'float32'; expected a list of some", id="a string"
        ),
        pytest.param({"devices": ["tpu"]}, "unknown device 'tpu'; expected one of", id="device"),
        pytest.param({"devices": []}, r"devices is \[\]; expected a list", id="no devices"),
        pytest.param({"devices": "cpu"}, "devices is 'cpu'; expected a list", id="device string"),
        pytest.param({"require": "good"}, "unknown grade 'good'; expected one of", id="grade"),
        pytest.param({"activation_ulps": -1.0}, r"activation_ulps is -1\.0; expected", id="ulps"),
        pytest.param({"activation_ulps": float("nan")}, "activation_ulps is nan", id="ulps NaN"),
    ],
)
def test_arguments_out_of_range(options: dict[str, Any], message: str) -> None:
    """UsageError, a ValueError, in one line: the value, what was expected, the remedy."""
    with pytest.raises(UsageError, match=f"^{message}") as refused:
        verify("textbook", **{**CPU, **options})
    assert isinstance(refused.value, ValueError)
    assert 1 == len(str(refused.value).splitlines())


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """CannotVerify, with this torch's version."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(
        CannotVerify, match="device 'cuda' was asked for, but this torch"
    ) as refused:
        verify("textbook", **{**CPU, "devices": ["cpu", "cuda"]})
    assert str(torch.__version__) in str(refused.value)


class TestRuns:
    """Carrying plans out."""

    def test_failures_are_raised_with_their_smallest_case(self) -> None:
        """And the way to see it again."""
        verification = verify(faulty.divides, dtypes=["float16", "float32"], **CPU)
        assert (1, False) == (verification.exit_status, verification.passed)
        with pytest.raises(VerificationError) as failed:
            verification.raise_for_failure()
        for verdict in verification.verdicts:
            assert verdict.counterexample is not None
            assert verdict.counterexample.case.to_json() in str(failed.value)
        assert 2 == str(failed.value).count("neuron-harness explain tests.harness.faulty:divides ")

    def test_a_pass_raises_nothing(self) -> None:
        """Every dtype in one verification."""
        verification = verify("textbook", **CPU)
        verification.raise_for_failure()
        assert list(DTYPES) == [verdict.dtype for verdict in verification.verdicts]

    def test_a_fresh_seed_is_in_the_environment(self) -> None:
        """And repeats the run."""
        first = verify("textbook", dtypes=["float32"], devices=["cpu"], examples=14)
        seed = first.environment["seed"]
        again = verify("textbook", dtypes=["float32"], devices=["cpu"], examples=14, seed=seed)
        assert first.to_json() == again.to_json()
        assert len({fresh_seed() for _ in range(20)}) > 1
        assert 0 <= fresh_seed() < 10**9

    def test_hooks_are_called_in_order(self) -> None:
        """Plan, cases, verdict; and the next."""
        told: list[str] = []
        subject = Subject("given", Kind.NEURON, faulty.right, dtypes=("float32", "float64"))
        run_plans(
            plans(subject),
            on_plan=lambda plan: told.append(plan.dtype),
            on_case=lambda: told.append("."),
            on_verdict=lambda verdict: told.append(f"{verdict.dtype} {verdict.passed}"),
        )
        cases = ["."] * 14
        assert ["float32", *cases, "float32 True", "float64", *cases, "float64 True"] == told

    def test_an_interrupt_keeps_what_is_complete(self) -> None:
        """Wherever it comes, what was found is handed back."""

        def interrupted_at(count: int) -> Verification:
            steps: list[None] = []

            def step() -> None:
                steps.append(None)
                if len(steps) == count:
                    raise KeyboardInterrupt

            subject = Subject("given", Kind.NEURON, faulty.right, dtypes=("float32", "float64"))
            return run_plans(plans(subject), on_case=step)

        for count, complete, status in ((1, 0, 5), (14, 0, 5), (15, 1, 5), (28, 1, 5)):
            verification = interrupted_at(count)
            assert verification.interrupted
            assert (complete, status) == (len(verification.verdicts), verification.exit_status)

    def test_flush_to_zero_is_reported_and_restored(self) -> None:
        """The environment says so; the thread is left as it was found."""

        def run() -> tuple[Verification, bool]:
            return verify("textbook", dtypes=["float32"], **CPU), bool(flushing())

        verification, left = in_flushing_thread(run)
        assert verification.environment["flush_to_zero"] is True
        assert left
        assert verification.passed
        assert verify("textbook", dtypes=["float32"], **CPU).environment["flush_to_zero"] is False


def test_the_module_says_what_it_raises() -> None:
    """The errors a user can cause, as documented."""
    documented: Callable[..., Any] = verify
    assert documented.__doc__ is not None
    for name in ("UsageError", "SubjectError", "CannotVerify"):
        assert name in documented.__doc__
