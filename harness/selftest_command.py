"""The command `selftest`. Imports nothing that takes long until it runs."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import IO, TYPE_CHECKING

import click

from harness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.selftest.contest import Settings
    from harness.selftest.entries import Entry
    from harness.selftest.run import Selftest

_MOST_JOBS = 1024
_DEFAULT_EXAMPLES = 500


@click.command()
@click.argument("fault", nargs=-1)
@click.option("--group", metavar="G", help="calculus, numerics, structure or sound.")
@click.option("--dtype", "dtypes", metavar="D,..", help="Default: all.")
@click.option(
    "--examples",
    type=int,
    default=_DEFAULT_EXAMPLES,
    show_default=True,
    help="Cases for the harness, per subject and dtype.",
)
@click.option("--seed", type=int, help="Draw the same cases and inputs as a run with this seed.")
@click.option(
    "--budget",
    type=float,
    metavar="S",
    help="Seconds for each rival, per subject and dtype. Default: what the harness took.",
)
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes on this machine.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write every outcome as JSON.")
@click.option("--page", "page_file", metavar="FILE", help="Write the tables as a Markdown page.")
def selftest(
    fault: tuple[str, ...],
    group: str | None,
    dtypes: str | None,
    examples: int,
    seed: int | None,
    budget: float | None,
    jobs: int,
    json_file: str | None,
    page_file: str | None,
) -> int:
    """Run the bank of faults, and show what the harness catches of it, and what other tests do.

    Without a FAULT: every fault, and every sound subject, which nothing may flag. The rivals are
    torch.autograd.gradcheck, torch.testing.assert_close, and the test that a kernel developer
    usually writes. They get the same subjects and the same time.

    Exit status: 0 the harness caught every fault in every dtype where it is one, and flagged no
    sound subject; 1 not so; 3 nothing was run; 5 stopped before the end: what was complete is
    shown.
    """
    from harness.api import fresh_seed
    from harness.outfile import OutFile
    from harness.terminal import abandon, show

    json_out = None if json_file is None else OutFile("--json", json_file)
    page_out = None if page_file is None else OutFile("--page", page_file)
    if json_out is not None and page_out is not None and json_out.same_as(page_out):
        raise UsageError(
            f"--json and --page both name {json_file}; expected two places; change one"
        )
    piped = any(out is not None and out.standard_output for out in (json_out, page_out))
    # Where a report goes to standard output, what else is printed, a subject's own lines included,
    # goes to standard error.
    with redirect_stdout(sys.stderr) if piped else nullcontext():
        from harness.selftest.contest import Settings
        from harness.selftest.entries import select

        _require(examples, seed, budget, jobs)
        entries = select(fault, group, None if dtypes is None else _names(dtypes))
        settings = Settings(examples, fresh_seed() if seed is None else seed, budget)
        found = _run(entries, settings, jobs)
    try:
        # First, since the reader of the table may leave early, as `| head` does.
        if json_out is not None:
            from harness.selftest.record import to_json

            json_out.write(to_json(found))
        if page_out is not None:
            from harness.selftest.page import to_markdown

            page_out.write(to_markdown(found).encode())
    except BrokenPipeError:
        abandon(sys.stdout)
    finally:
        stream = sys.stderr if piped else sys.stdout
        show(_summary(found, stream), stream)
    return found.exit_status


def _require(examples: int, seed: int | None, budget: float | None, jobs: int) -> None:
    if examples < 1:
        raise UsageError(f"--examples {examples}; expected 1 or more")
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed}; expected 0 or more; leave it out for a fresh one")
    if budget is not None and not 0 < budget < float("inf"):
        raise UsageError(f"--budget {budget:g}; expected a number of seconds greater than 0")
    if not 1 <= jobs <= _MOST_JOBS:
        raise UsageError(f"--jobs {jobs}; expected 1 to {_MOST_JOBS}")


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError(f"--dtype {text!r} names nothing; expected names separated by commas")
    return names


def _run(entries: Sequence[Entry], settings: Settings, jobs: int) -> Selftest:
    from harness.selftest.run import run_selftest, tasks
    from harness.terminal import progress

    with progress(len(tasks(entries, settings))) as bar:

        def done(task: object) -> None:
            bar.plan(str(task))
            bar.case()

        return run_selftest(entries, settings, jobs=jobs, on_trial=done)


def _summary(found: Selftest, stream: IO[str]) -> str:
    """What a self-test comes to, for people."""
    from harness.selftest.table import alarm_table, closing_lines, fault_table, totals_table
    from harness.terminal import table_text

    tables = [
        table_text(table, stream)
        for table in (fault_table(found), totals_table(found), alarm_table(found))
        if table.row_count
    ]
    return "\n".join([*tables, "\n".join([*closing_lines(found), ""])])
