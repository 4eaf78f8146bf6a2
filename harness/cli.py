"""The command line: `neuron-harness`, also `python -m harness`.

Imports nothing that takes long; each command imports what it runs, so that `--help` is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness._version import __version__
from harness.errors import CannotVerify, UsageError
from harness.grade import Grade

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
    from harness.table import console, subject_table

    console(sys.stdout).print(subject_table(builtin_subjects()))


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
    "--activation-ulps", type=float, metavar="T", help="Error allowed to tanh itself, in ulps."
)
@click.option(
    "--examples", type=int, default=1000, show_default=True, help="Cases per dtype and device."
)
@click.option("--seed", type=int, help="Draw the same cases as a run with this seed.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the verdicts as JSON.")
@click.option("--junitxml", "junit_file", metavar="FILE", help="Write the verdicts as JUnit XML.")
def verify(
    subject: tuple[str, ...],
    kind: str | None,
    dtypes: list[str] | None,
    devices: list[str] | None,
    require: str | None,
    activation_ulps: float | None,
    examples: int,
    seed: int | None,
    json_file: str | None,
    junit_file: str | None,
) -> int:
    """Judge SUBJECTs on drawn cases against the oracle. Without one: every built-in subject.

    A SUBJECT is a built-in name, package.module:attribute, or path/to/file.py:attribute.
    """
    from harness.api import fresh_seed, make_plans, run_plans
    from harness.outfile import OutFile
    from harness.subjects import builtin_names, load
    from harness.table import progress

    json_out = OutFile("--json", json_file) if json_file else None
    junit_out = OutFile("--junitxml", junit_file) if junit_file else None
    plans = make_plans(
        [load(name, kind) for name in dict.fromkeys(subject or builtin_names())],
        dtypes=dtypes,
        devices=devices,
        require=require,
        examples=examples,
        seed=fresh_seed() if seed is None else seed,
        activation_ulps=activation_ulps,
    )
    with progress(sum(plan.examples for plan in plans)) as bar:
        verification = run_plans(
            plans,
            on_plan=lambda plan: bar.plan(f"{plan.subject.name} {plan.dtype} {plan.device}"),
            on_case=bar.case,
        )
    _print(verification, sys.stderr if json_file == "-" else sys.stdout)
    if json_out is not None:
        json_out.write(verification.to_json())
    if junit_out is not None:
        from harness.junit import to_junit

        junit_out.write(to_junit(verification))
    return verification.exit_status


def _print(verification: Verification, stream: object) -> None:
    from harness.failure import describe
    from harness.table import console, verdict_table

    out = console(stream)  # type: ignore[arg-type]
    out.print(verdict_table(verification))
    failed = [verdict for verdict in verification.verdicts if not verdict.passed]
    for verdict in failed:
        # Not through rich: a case or a command must not be folded.
        out.file.write(f"\n{describe(verdict)}\n")
    environment = verification.environment
    if environment["flush_to_zero"]:
        out.file.write(
            "\nflush-to-zero was on: subjects ran with it, and bounds allow what it loses\n"
        )
    if verification.interrupted:
        out.file.write("\ninterrupted: the verdicts above are those that were complete\n")
    out.file.write(
        f"\n{len(verification.verdicts) - len(failed)} verdicts as required, {len(failed)} not; "
        f"seed {environment['seed']}\n"
    )
    out.file.flush()


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
    from harness.subjects import load

    text = explain_case(
        load(subject, kind), read_case(case), device=device, activation_ulps=activation_ulps
    )
    click.echo(text)
    return 0


def main(arguments: Sequence[str] | None = None, prog_name: str = PROGRAM) -> None:
    """Run the command line and exit with its status. Errors a user can cause are one line."""
    sys.exit(run(arguments, prog_name))


def run(arguments: Sequence[str] | None = None, prog_name: str = PROGRAM) -> int:
    """Run the command line and return its exit status."""
    from harness.subjects import SubjectError, SubjectImportError

    try:
        status = cli.main(arguments, prog_name=prog_name, standalone_mode=False)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except (CannotVerify, SubjectImportError) as error:
        return _fail(str(error), _NOTHING)
    except (UsageError, SubjectError) as error:
        return _fail(str(error), _USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted before anything was verified", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe went away, as `| head` does; Python would complain at exit.
        sys.stdout = None
        return _USAGE
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    click.echo(f"{PROGRAM}: {' '.join(message.split())}", err=True)
    return status
