"""A plan carried out: one command after another, in processes of their own, within the budget.

Each look is the command that a user would type, with `--json`; its document becomes rows and
details. What there is no time for, what cannot be had here and what does not come to an end is left
out, with the reason.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec

from harness.errors import CannotVerify
from harness.inert import inert
from harness.report.children import Ended, run_module
from harness.report.documents import DocumentError, Findings, Looked, swept, verification
from harness.report.plan import Hunts, Looks, Plan, Sweeps, Verifications
from harness.report.record import (
    Curve,
    Details,
    Envelope,
    LeftOut,
    Row,
    Run,
    Special,
    Throughput,
    WorstInput,
)
from harness.report.words import duration, name

#: A command that has less time than this would not get beyond its imports.
_LEAST_SECONDS: Final = 5.0
#: Seconds for the first look at the machine, whatever the budget.
_MACHINE_SECONDS: Final = 120.0

Tell = Callable[[str], None]


class Machine(msgspec.Struct, frozen=True):
    """What `harness.examine` says of a machine: its environment, the devices that are there, and
    for each the name under which its figures are kept."""

    environment: dict[str, str]
    devices: dict[str, str]


class CloseLook(msgspec.Struct, frozen=True):
    """What `harness.examine` says of one subject in one dtype on one device."""

    envelopes: tuple[Envelope, ...]
    curves: tuple[Curve, ...]
    specials: tuple[Special, ...]
    throughput: tuple[Throughput, ...]
    worst: tuple[WorstInput, ...]
    left_out: tuple[str, ...]


class _Step(NamedTuple):
    """One command to run."""

    look: str
    subject: str
    dtype: str
    device: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.look} {name(self.subject)} {self.dtype} {self.device}"

    @property
    def command(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(("neuron-harness", *self.words))


@dataclass(slots=True)
class _Target:
    """What is known of one subject, dtype and device so far."""

    kind: str
    findings: list[Findings] = field(default_factory=list)


@dataclass(slots=True)
class _Night:
    """A run that goes on."""

    plan: Plan
    folder: Path
    tell: Tell
    deadline: float
    machine: Machine
    rows: list[Row] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    targets: dict[tuple[str, str, str], _Target] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def leave_out(self, what: str, why: str) -> None:
        self.left_out.append(LeftOut(inert(what), inert(why)))
        self.tell(f"{inert(what)}: left out: {inert(why)}")


def run_plan(plan: Plan, label: str, commit: str, tell: Tell) -> Run:
    """Carry out a plan on this machine, for the night `label`. `tell` is given a line a step.

    Ctrl-C ends it with what was found. Raises CannotVerify if not even the machine can be looked
    at.
    """
    started, clock = time.time(), time.monotonic()
    with TemporaryDirectory(prefix="neuron-harness-") as folder:
        machine = _look_at_machine(Path(folder))
        night = _Night(plan, Path(folder), tell, clock + plan.budget, machine)
        for step in _steps(plan, night):
            if night.interrupted:
                night.leave_out(str(step), "interrupted")
            else:
                _take(step, night)
        details = tuple(_details(target, found, night) for target, found in night.targets.items())
    return Run(
        night=label,
        machine=", ".join(dict.fromkeys(row.machine for row in night.rows))
        or machine.devices["cpu"],
        started=started,
        seconds=time.monotonic() - clock,
        environment={**machine.environment, "commit": commit, "seed": str(plan.seed)},
        rows=tuple(night.rows),
        left_out=tuple(night.left_out),
        interrupted=night.interrupted,
        details=details,
    )


def _look_at_machine(folder: Path) -> Machine:
    output = folder / "machine.json"
    ended = run_module("harness.examine", ["machine", str(output)], output, _MACHINE_SECONDS)
    if ended.interrupted:
        raise KeyboardInterrupt
    if ended.output is None:
        raise CannotVerify(
            f"this machine cannot be looked at ({ended.said or _how(ended)}); expected torch to be "
            "imported; see whether neuron-harness verify runs"
        )
    return msgspec.json.decode(ended.output, type=Machine)


def _steps(plan: Plan, night: _Night) -> Iterator[_Step]:
    for look, tables in (("verify", plan.verify), ("sweep", plan.sweep), ("hunt", plan.hunt)):
        for looks in tables:
            options = _options(look, looks, plan, night.folder)
            for subject in looks.subjects:
                for dtype in looks.dtypes:
                    for device in looks.devices or tuple(night.machine.devices):
                        where = ("--device", device) if device != "cpu" else ()
                        words = (look, subject, "--dtype", dtype, *where, *options)
                        yield _Step(look, subject, dtype, device, words)


def _options(look: str, looks: Looks, plan: Plan, folder: Path) -> tuple[str, ...]:
    kind = () if looks.kind is None else ("--as", looks.kind)
    if isinstance(looks, Verifications):
        return (*kind, "--examples", str(looks.examples), "--seed", str(plan.seed))
    if isinstance(looks, Sweeps):
        require = () if looks.require is None else ("--require", looks.require)
        return (*kind, "--jobs", str(looks.jobs), *require)
    assert isinstance(looks, Hunts)
    # Cold, and in a store of its own: what earlier nights found must not change what this one does.
    return (*kind, "--evaluations", str(looks.evaluations), "--seed", str(plan.seed), "--cold")


def _take(step: _Step, night: _Night) -> None:
    if step.device not in night.machine.devices:
        return night.leave_out(str(step), f"there is no {step.device} device here")
    if night.seconds_left < _LEAST_SECONDS:
        return night.leave_out(str(step), f"the budget of {duration(night.plan.budget)} is used up")
    output = night.folder / "document.json"
    words = [*step.words, "--json", str(output)]
    if step.look != "verify":
        words += ["--store", str(night.folder / f"{step.look}.sqlite")]
    ended = run_module("harness", words, output, night.seconds_left)
    night.interrupted |= ended.interrupted
    looked = Looked(
        step.subject,
        step.dtype,
        step.device,
        night.machine.devices[step.device],
        step.command,
        round(ended.seconds, 3),
    )
    if ended.output is None:
        _enter_nothing(step, ended, looked, night)
        return None
    try:
        read = verification if step.look == "verify" else swept
        found = read(ended.output, looked, night.plan.seed)
    except DocumentError as error:
        night.leave_out(str(step), f"its document cannot be read: {error}")
        return None
    if found.cut_short is not None:
        night.leave_out(f"the rest of {step}", _why(ended, night) or found.cut_short)
    if found.rows:
        night.rows += found.rows
        target = night.targets.setdefault(
            (step.subject, step.dtype, step.device), _Target(found.kind)
        )
        target.findings.append(found)
        row = found.rows[0]
        grade = row.grade or ("passed" if row.passed else "failed")
        night.tell(f"{step}: {grade}, {duration(ended.seconds)}")
    return None


def _enter_nothing(step: _Step, ended: Ended, looked: Looked, night: _Night) -> None:
    """A command that wrote nothing: it cannot be carried out here, had no time, or died."""
    why = _why(ended, night)
    if why is None and ended.status in (1, 2, 3, 5):
        why = ended.said or f"exit status {ended.status}"
    if why is not None:
        night.leave_out(str(step), why)
        return
    failure = f"the command {_how(ended)}" + (f"; {ended.said}" if ended.said else "")
    night.rows.append(
        Row(
            subject=looked.subject,
            kind="",
            dtype=looked.dtype,
            device=looked.device,
            machine=looked.machine,
            look=step.look,
            sample="nothing",
            exhaustive=False,
            points=0,
            passed=False,
            failure=failure,
            seconds=looked.seconds,
            command=looked.command,
        )
    )
    night.tell(f"{step}: {failure}")


def _why(ended: Ended, night: _Night) -> str | None:
    """Why a command was ended before it was done; None where it ended by itself."""
    if ended.interrupted:
        return "interrupted"
    return f"the budget of {duration(night.plan.budget)} is used up" if ended.timed_out else None


def _how(ended: Ended) -> str:
    if ended.status < 0:
        return f"was ended by signal {-ended.status}"
    return f"ended with exit status {ended.status}"


def _details(target: tuple[str, str, str], found: _Target, night: _Night) -> Details:
    """All there is to say of a target, a close look included, if there is time."""
    subject, dtype, device = target
    worst = _worst_of(found.findings)
    look = _close_look(target, found.kind, worst, night) if night.plan.close else None
    return Details(
        subject=subject,
        kind=found.kind,
        dtype=dtype,
        device=device,
        machine=night.machine.devices[device],
        segments=tuple(each for part in found.findings for each in part.segments),
        histograms=tuple(each for part in found.findings for each in part.histograms),
        laws=tuple(each for part in found.findings for each in part.laws),
        worst=worst if look is None else look.worst,
        envelopes=() if look is None else look.envelopes,
        curves=() if look is None else look.curves,
        specials=() if look is None else look.specials,
        throughput=() if look is None else look.throughput,
    )


def _worst_of(findings: Sequence[Findings]) -> tuple[WorstInput, ...]:
    """The worst inputs of all looks, each case and quantity once."""
    found: dict[tuple[str, str], WorstInput] = {}
    for part in findings:
        for each in part.worst:
            found.setdefault((each.quantity, each.case), each)
    return tuple(found.values())


def _close_look(
    target: tuple[str, str, str], kind: str, worst: tuple[WorstInput, ...], night: _Night
) -> CloseLook | None:
    subject, dtype, device = target
    what = f"a close look at {name(subject)} {dtype} {device}"
    if night.interrupted:
        night.leave_out(what, "interrupted")
        return None
    if night.seconds_left < _LEAST_SECONDS:
        night.leave_out(what, f"the budget of {duration(night.plan.budget)} is used up")
        return None
    request: dict[str, Any] = {
        "subject": subject,
        "kind": kind,
        "dtype": dtype,
        "device": device,
        "seed": night.plan.seed,
        "worst": worst,
    }
    asked, output = night.folder / "request.json", night.folder / "close.json"
    asked.write_bytes(msgspec.json.encode(request))
    words = ["close", str(asked), str(output)]
    ended = run_module("harness.examine", words, output, night.seconds_left)
    night.interrupted |= ended.interrupted
    if ended.output is None:
        night.leave_out(what, _why(ended, night) or ended.said or _how(ended))
        return None
    found = msgspec.json.decode(ended.output, type=CloseLook)
    for text in found.left_out:
        night.leave_out(what, text)
    night.tell(f"{what}: {duration(ended.seconds)}")
    return found
