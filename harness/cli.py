"""The command line: `neuron-harness`, also `python -m harness`.

Imports nothing that takes long; each command imports what it runs, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import IO, TYPE_CHECKING

import click

from harness._version import __version__
from harness.bench_command import bench
from harness.errors import CannotVerify, UsageError
from harness.gate_command import gate
from harness.grade import Grade
from harness.hunt_command import hunt
from harness.inert import inert
from harness.report_command import history, report
from harness.selftest_command import selftest
from harness.sweep_command import sweep

if TYPE_CHECKING:
    from harness.verdict import Verification

PROGRAM = "neuron-harness"
_USAGE = 2
_NOTHING = 3
_INTERRUPTED = 5


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """Verify tanh neurons against an exact oracle.

    Exit status: 0 all as required; 1 an accuracy or law violation; 2 usage; 3 nothing was verified,
    or the environment cannot; 4 a performance regression; 5 inconclusive or interrupted.
    """


@cli.command()
def subjects() -> None:
    """List the built-in subjects, their kinds, and the grades they are known to earn."""
    from harness.subjects import builtin_subjects
    from harness.table import subject_table
    from harness.terminal import show, table_text

    show(table_text(subject_table(builtin_subjects()), sys.stdout, fold=True), sys.stdout)


def _names(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> list[str] | None:
    """The names of a comma-separated list; None if the option was not given."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise click.BadParameter(f"{text!r} names nothing; expected names separated by commas")
    return names


_kind = click.option(
    "--as", "kind", metavar="KIND", help="neuron, activation or tanh-gradient: its signature."
)


@cli.command()
@click.argument("subject", nargs=-1)
@_kind
@click.option(
    "--dtype", "dtypes", metavar="D,..", callback=_names, help="Default: all it supports."
)
@click.option(
    "--device",
    "devices",
    metavar="D,..",
    callback=_names,
    help="Default: cpu, and cuda if present.",
)
@click.option(
    "--require",
    type=click.Choice([str(grade) for grade in Grade]),
    help="Grade to earn. Default: what a built-in states, else textbook.",
)
@click.option(
    "--second-order",
    type=click.Choice([str(grade) for grade in Grade]),
    help="Grade to earn when differentiated twice. Default: textbook for an activation with a "
    "recorded backward pass, else reported.",
)
@click.option(
    "--activation-ulps", type=float, metavar="T", help="Error allowed to tanh itself, in ulps."
)
@click.option(
    "--examples", type=int, default=1000, show_default=True, help="Cases per dtype and device."
)
@click.option("--seed", type=int, help="Draw the same cases as a run with this seed.")
@click.option(
    "--strict-laws",
    is_flag=True,
    help="Fail on a breach of an observed law, which is otherwise reported.",
)
@click.option(
    "--isolate/--no-isolate",
    default=None,
    help="Call SUBJECTs in a process of their own. Default: those named by a file.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="S",
    help="Seconds for one call of an isolated subject. Default: 10.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Memory for an isolated subject, as 512M. Default: 2G, or half of the machine's.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the verdicts as JSON.")
@click.option("--junitxml", "junit_file", metavar="FILE", help="Write the verdicts as JUnit XML.")
def verify(
    subject: tuple[str, ...],
    kind: str | None,
    dtypes: list[str] | None,
    devices: list[str] | None,
    require: str | None,
    second_order: str | None,
    activation_ulps: float | None,
    examples: int,
    seed: int | None,
    strict_laws: bool,
    isolate: bool | None,
    timeout: float | None,
    memory_limit: str | None,
    json_file: str | None,
    junit_file: str | None,
) -> int:
    """Judge SUBJECTs on drawn cases against the oracle. Without one: every built-in subject.

    A SUBJECT is a built-in name, package.module:attribute, or path/to/file.py:attribute.
    """
    from harness import actions
    from harness.isolate.limits import size_text
    from harness.isolate.place import isolation, limits_of
    from harness.outfile import OutFile
    from harness.subjects import builtin_names
    from harness.terminal import abandon, progress, show

    json_out = None if json_file is None else OutFile("--json", json_file)
    junit_out = None if junit_file is None else OutFile("--junitxml", junit_file)
    if json_out is not None and junit_out is not None and json_out.same_as(junit_out):
        raise UsageError(
            f"--json and --junitxml both name {json_file}; expected two places; change one"
        )
    # Where a report goes to standard output, what else is printed, subjects' own lines included,
    # goes to standard error.
    piped = any(out is not None and out.standard_output for out in (json_out, junit_out))
    names = list(dict.fromkeys(subject or builtin_names()))
    limits = limits_of(timeout, memory_limit)
    with (
        redirect_stdout(sys.stderr) if piped else nullcontext(),
        # First: the process that isolated subjects come from starts while this one imports torch.
        isolation(names, isolate, limits) as place,
    ):
        from harness.api import fresh_seed, make_plans, named_subject, run_plans

        plans = make_plans(
            [named_subject(name, kind, place) for name in names],
            dtypes=dtypes,
            devices=devices,
            require=require,
            examples=examples,
            seed=fresh_seed() if seed is None else seed,
            activation_ulps=activation_ulps,
            strict_laws=strict_laws,
            second_order=second_order,
        )
        with progress(sum(plan.cases for plan in plans)) as bar:
            verification = run_plans(
                plans,
                on_plan=lambda plan: bar.plan(
                    f"{inert(plan.subject.name)} {plan.dtype} {plan.device}"
                ),
                on_case=bar.case,
            )
    printed = place.printed
    try:
        # First, since the reader of the table may leave early, as `| head` does.
        if json_out is not None:
            json_out.write(verification.to_json())
        if junit_out is not None:
            from harness.junit import to_junit

            junit_out.write(to_junit(verification))
    except BrokenPipeError:
        abandon(sys.stdout)
    finally:
        stream = sys.stderr if piped else sys.stdout
        show(*_summary(verification, stream))
        for line in actions.report(verification):
            show(f"{line}\n", stream)
    for name, (size, began) in printed.items():
        show(
            f"{inert(name)} printed {size_text(size)}, all of which --no-isolate shows; it began: "
            f"{began}\n",
            sys.stderr,
        )
    return verification.exit_status


def _summary(verification: Verification, stream: IO[str]) -> tuple[str, IO[str]]:
    """What a verification comes to, for people, and the stream it is meant for."""
    from harness.failure import describe
    from harness.observed import describe_observed
    from harness.table import law_table, second_order_table, verdict_table
    from harness.terminal import table_text

    failed = [verdict for verdict in verification.verdicts if not verdict.passed]
    environment = verification.environment
    parts = [
        table_text(verdict_table(verification), stream),
        table_text(law_table(verification), stream, fold=True),
        *(table_text(table, stream) for table in [second_order_table(verification)] if table.rows),
        # Not through rich: a case or a command must not be folded.
        *(f"{text}\n" for text in [describe_observed(verification.verdicts)] if text),
        *(f"{describe(verdict)}\n" for verdict in failed),
    ]
    if environment["flush_to_zero"]:
        parts.append("flush-to-zero was on: subjects ran with it, and bounds allow what it loses\n")
    if verification.interrupted:
        parts.append("interrupted: the verdicts above are those that were complete\n")
    parts.append(
        f"{len(verification.verdicts) - len(failed)} verdicts as required, {len(failed)} not; "
        f"seed {environment['seed']}\n"
    )
    return "\n".join(parts), stream


@cli.command()
@click.argument("subject")
@click.argument("case")
@_kind
@click.option("--device", default="cpu", show_default=True)
@click.option("--activation-ulps", type=float, metavar="T", help="Error allowed to tanh itself.")
def explain(
    subject: str, case: str, kind: str | None, device: str, activation_ulps: float | None
) -> int:
    """Show one CASE: what SUBJECT computes, what is exact, the error and the bounds.

    CASE is a file, or one line of JSON as any report prints it.
    """
    from harness.explain import explain_case, read_case
    from harness.terminal import show

    text = explain_case(
        subject, read_case(case), kind=kind, device=device, activation_ulps=activation_ulps
    )
    show(f"{text}\n", sys.stdout)
    return 0


cli.add_command(bench)
cli.add_command(gate)
cli.add_command(history)
cli.add_command(hunt)
cli.add_command(report)
cli.add_command(sweep)
cli.add_command(selftest)


def main(arguments: Sequence[str] | None = None, prog_name: str = PROGRAM) -> None:
    """Run the command line and exit with its status. Errors a user can cause are one line."""
    from harness.supervise import supervised

    sys.exit(supervised(lambda: run(arguments, prog_name), _lost))


def _lost(how: str) -> int:
    return _fail(
        f"the process that runs the subject ended {how} before it was done, so nothing was "
        "verified; expected the subject to return or raise; look for an exit, a crash, or too "
        "little memory",
        _NOTHING,
    )


def run(arguments: Sequence[str] | None = None, prog_name: str = PROGRAM) -> int:
    """Run the command line and return its exit status."""
    from harness.subjects import SubjectError, SubjectImportError

    for name in ("stdout", "stderr"):
        # Closed by whoever started the process: what is printed has no reader, and no fault.
        if getattr(sys, name) is None:
            # Open until the process ends, so no `with`.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        status = cli.main(arguments, prog_name=prog_name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except (CannotVerify, SubjectImportError) as error:
        return _fail(str(error), _NOTHING)
    except (UsageError, SubjectError) as error:
        return _fail(str(error), _USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted before anything was verified", _INTERRUPTED)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    click.echo(f"{PROGRAM}: {inert(message)}", err=True)
    return status
