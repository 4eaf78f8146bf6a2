"""Verification from Python, `harness.verify(subject)`, and the plans the command line shares."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from harness.case import DTYPES, format_of
from harness.collection import rare_collection
from harness.environment import describe_environment
from harness.errors import CannotVerify, UsageError
from harness.flush import flushing, subnormals_kept
from harness.grade import Grade
from harness.isolate.limits import Limits
from harness.isolate.place import Place, isolation
from harness.judge import Plan
from harness.locate import locator
from harness.subjects import Kind, Stated, Subject, load
from harness.subjects.registry import from_object
from harness.verdict import Verdict, Verification
from harness.verifier import verify_one
from reference.bounds import default_arithmetic

DEFAULT_EXAMPLES = 1000
#: What a subject without a stated grade must earn: that its formula in its format explains it.
DEFAULT_REQUIRED = Grade.TEXTBOOK
_DEVICES = ("cpu", "cuda")

OnPlan = Callable[[Plan], None]
OnVerdict = Callable[[Verdict], None]


def verify(
    subject: str | Subject | Callable[..., Any],
    *,
    kind: Kind | str | None = None,
    dtypes: Sequence[str] | None = None,
    devices: Sequence[str] | None = None,
    require: Grade | str | None = None,
    examples: int = DEFAULT_EXAMPLES,
    seed: int | None = None,
    activation_ulps: float | None = None,
    strict_laws: bool = False,
    second_order: Grade | str | None = None,
    isolate: bool | None = None,
    limits: Limits | None = None,
) -> Verification:
    """Verify one subject: a name as the command line takes it, a `Subject`, or the callable itself.

    `kind` says its signature (default: neuron, or what a named subject is); `dtypes` defaults to
    all that it supports, `devices` to the CPU and to CUDA where there is one; `require` to the
    grade a built-in subject states and to "textbook" for any other. `examples` is the number of
    cases for each dtype and device; every regime gets at least one. `activation_ulps` is the error
    allowed to the subject's tanh. With `strict_laws` a breach of an observed law fails as well.
    `second_order` is the grade to earn when differentiated twice: textbook for an activation whose
    backward pass is recorded, and none for other subjects, unless said. The same `seed` draws the
    same cases; None takes a fresh one, which the environment of the result holds.

    With `isolate` the subject, which must have a name, lives in a process of its own, within
    `limits`; by default one that is named by its file does, where the system can.

    Raises UsageError for an argument outside its range and SubjectError for an unknown subject
    (both are ValueErrors), CannotVerify for a device that is not there.
    """
    with isolation([subject], isolate, limits) as place:
        plans = make_plans(
            [named_subject(subject, kind, place)],
            dtypes=dtypes,
            devices=devices,
            require=require,
            examples=examples,
            seed=fresh_seed() if seed is None else seed,
            activation_ulps=activation_ulps,
            strict_laws=strict_laws,
            second_order=second_order,
        )
        return run_plans(plans)


def fresh_seed() -> int:
    """A seed nobody chose, short enough to type."""
    return secrets.randbelow(10**9)


def named_subject(
    subject: str | Subject | Callable[..., Any],
    kind: Kind | str | None = None,
    place: Place | None = None,
) -> tuple[str | None, Subject]:
    """A subject, and the name by which the command line finds it (None if by none); isolated where
    `place` says so.

    Raises SubjectError for what is no subject.
    """
    isolated = None if place is None else place.of(subject)
    if isolated is not None:
        name = subject if isinstance(subject, str) else locator(from_object(subject, kind))
        if name is None:
            raise UsageError(
                "isolate: the subject has no name by which another process could import it; "
                "expected a function or class at the top level of a module; name it as "
                "path/to/file.py:attribute"
            )
        return name, isolated.subject(name, kind)
    if isinstance(subject, str):
        return subject, load(subject, kind)
    found = from_object(subject, kind)
    return locator(found), found


def make_plans(
    subjects: Iterable[tuple[str | None, Subject]],
    *,
    dtypes: Sequence[str] | None,
    devices: Sequence[str] | None,
    require: Grade | str | None,
    examples: int,
    seed: int,
    activation_ulps: float | None,
    strict_laws: bool = False,
    second_order: Grade | str | None = None,
) -> list[Plan]:
    """One plan for each subject (with its name), dtype and device. Raises as `verify` does."""
    if not _is_whole(examples) or examples < 1:
        raise UsageError(
            f"examples is {examples!r}; expected a whole number of 1 or more; every regime gets "
            "at least one case"
        )
    if not _is_whole(seed) or seed < 0:
        raise UsageError(
            f"seed is {seed!r}; expected a whole number of 0 or more; leave it out for a fresh one"
        )
    wanted = None if require is None else _grade(require)
    wanted_twice = None if second_order is None else _grade(second_order)
    places = _devices(devices)
    found = bool(flushing())
    plans = []
    for name, subject in subjects:
        # An isolated subject's import flushes in its own process only.
        flush = found or getattr(subject.function, "flushing", False) is True
        for dtype in _dtypes(subject, dtypes):
            ulps = subject.activation_ulps if activation_ulps is None else activation_ulps
            _require_tolerance(dtype, ulps)
            for device in places:
                if subject.devices is not None and device not in subject.devices:
                    continue
                stated = subject.stated.get(dtype)
                plans.append(
                    Plan(
                        subject=subject,
                        dtype=dtype,
                        device=device,
                        required=wanted or (stated.grade if stated else DEFAULT_REQUIRED),
                        examples=examples,
                        seed=seed,
                        expected_wrong=wanted is None and _is_wrong(stated),
                        reason=stated.reason if stated else "",
                        activation_ulps=activation_ulps,
                        flush_to_zero=flush,
                        locator=name,
                        strict_laws=strict_laws,
                        second_order=wanted_twice,
                    )
                )
    if not plans:
        raise CannotVerify(
            "no subject supports a dtype and device that was asked for; widen --dtype or --device"
        )
    return plans


def _require_tolerance(dtype: str, activation_ulps: float | None) -> None:
    try:
        default_arithmetic(format_of(dtype), activation_ulps=activation_ulps)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def run_plans(
    plans: Sequence[Plan],
    *,
    on_plan: OnPlan | None = None,
    on_case: Callable[[], None] | None = None,
    on_verdict: OnVerdict | None = None,
) -> Verification:
    """Carry out plans in order. KeyboardInterrupt ends the run with the verdicts found so far."""
    verdicts: list[Verdict] = []
    environment = describe_environment(
        seed=plans[0].seed, flush_to_zero=any(plan.flush_to_zero for plan in plans)
    )
    with subnormals_kept(), rare_collection():
        for plan in plans:
            if on_plan is not None:
                on_plan(plan)
            try:
                verdict = verify_one(plan, on_case)
            except KeyboardInterrupt:
                return Verification(environment, tuple(verdicts), interrupted=True)
            verdicts.append(verdict)
            if on_verdict is not None:
                on_verdict(verdict)
    return Verification(environment, tuple(verdicts))


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _is_wrong(stated: Stated | None) -> bool:
    return stated is not None and stated.grade is Grade.WRONG


def _grade(text: Grade | str) -> Grade:
    try:
        return Grade(text)
    except ValueError:
        raise UsageError(f"unknown grade {text!r}; expected one of {', '.join(Grade)}") from None


def _dtypes(subject: Subject, wanted: Sequence[str] | None) -> list[str]:
    for dtype in _listed("dtypes", wanted, DTYPES) or ():
        try:
            format_of(dtype)
        except ValueError as error:
            raise UsageError(str(error)) from None
    supported = DTYPES if subject.dtypes is None else subject.dtypes
    return [dtype for dtype in dict.fromkeys(wanted or DTYPES) if dtype in supported]


def _listed(
    option: str, wanted: Sequence[str] | None, known: Sequence[str]
) -> Sequence[str] | None:
    if isinstance(wanted, str) or (wanted is not None and not wanted):
        raise UsageError(
            f"{option} is {wanted!r}; expected a list of some of {', '.join(known)}; leave it out "
            "for the default"
        )
    return wanted


def _devices(wanted: Sequence[str] | None) -> list[str]:
    available = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    if wanted is None:
        return available
    for device in _listed("devices", wanted, _DEVICES) or ():
        if device not in _DEVICES:
            raise UsageError(f"unknown device {device!r}; expected one of {', '.join(_DEVICES)}")
        if device not in available:
            raise CannotVerify(
                f"device {device!r} was asked for, but this torch ({torch.__version__}) sees no "
                "CUDA device; leave it out, or install a CUDA build of torch on a machine with one"
            )
    return list(dict.fromkeys(wanted))
