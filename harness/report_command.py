"""The commands `report` and `history`. Imports nothing that takes long until it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.errors import CannotVerify, UsageError

if TYPE_CHECKING:
    from harness.report.history import History
    from harness.report.nights import Night
    from harness.report.plan import Plan

_plan_option = click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    help="TOML with the plan. Default: [tool.neuron-harness.report] in pyproject.toml.",
)
_history_option = click.option(
    "--history", "history_file", metavar="FILE", help="Default: as the plan says."
)
_night_option = click.option("--night", metavar="LABEL", help="Default: today's date.")


@click.group(invoke_without_command=True)
@_plan_option
@_history_option
@_night_option
@click.option("--open", "open_page", is_flag=True, help="Show the page in a browser.")
@click.option(
    "--accept", is_flag=True, help="Take the figures of the latest stored night for accepted."
)
@click.pass_context
def report(
    context: click.Context,
    plan_file: str | None,
    history_file: str | None,
    night: str | None,
    open_page: bool,
    accept: bool,
) -> int | None:
    """Run the nightly plan, store what it finds, and write a report into reports/.

    The figures are held against the accepted ones in reports/baseline.json, from both sides: what
    is better must be accepted too, with --accept, which runs nothing.

    Exit status: 0 all as required and as accepted; 1 a look failed, or a figure is worse than
    accepted, or better and not accepted; 3 nothing could be looked at; 5 a figure has no accepted
    one on this kind of machine, or is of other inputs, or was not measured; or interrupted.
    """
    context.obj = (plan_file, history_file, night)
    if context.invoked_subcommand is not None:
        if accept:
            raise UsageError(
                f"--accept with report {context.invoked_subcommand}; expected one of them; leave "
                "one out"
            )
        return None
    return (
        _accept(plan_file, history_file, night)
        if accept
        else _run(plan_file, history_file, night, open_page)
    )


def _run(
    plan_file: str | None, history_file: str | None, night: str | None, open_page: bool
) -> int:
    from harness.report.night_run import run_plan
    from harness.report.plan import read_plan

    plan = read_plan(plan_file) if plan_file is not None else read_plan()
    if not (plan.verify or plan.sweep or plan.hunt):
        raise UsageError(
            "the plan has no looks; expected verify, sweep or hunt tables; see docs/reports.md"
        )
    label = _label(night)
    # Whatever could not be written is found out before the night, not after it.
    _require_jinja()
    with _history(plan, history_file) as history:
        run = run_plan(plan, label, _commit(), _tell)
        history.add([run])
        return _build(plan, history, label, open_page)


@report.command()
@click.option("--open", "open_page", is_flag=True, help="Show the page in a browser.")
@click.pass_context
def build(context: click.Context, open_page: bool) -> int:
    """Write the report of a night that is stored: the latest, or --night. Runs nothing.

    Exit status: as for report.
    """
    plan_file, history_file, night = context.obj
    _require_jinja()
    plan = _stored_plan(plan_file)
    with _history(plan, history_file, must_exist=True) as history:
        return _build(plan, history, None if night is None else _label(night), open_page)


@report.command()
@click.argument("before")
@click.argument("after")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the comparison as JSON.")
@click.pass_context
def compare(context: click.Context, before: str, after: str, json_file: str | None) -> int:
    """What changed from night BEFORE to night AFTER: labels of nights, or beginnings of the
    identities of runs.

    Exit status: 0 nothing failed and nothing got worse; 1 something did.
    """
    import msgspec

    from harness.outfile import OutFile
    from harness.report.compare import FAILED, WORSE
    from harness.report.compare import compare as compared
    from harness.terminal import show

    plan_file, history_file, _ = context.obj
    json_out = None if json_file is None else OutFile("--json", json_file)
    plan = _stored_plan(plan_file)
    with _history(plan, history_file, must_exist=True) as history:
        nights = [_one_night(history, name) for name in (before, after)]
    found = compared(*nights)
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    stream = sys.stderr if json_out is not None and json_out.standard_output else sys.stdout
    show("\n".join([*found.lines(), ""]), stream)
    return int(any(each.kind in (FAILED, WORSE) for each in found.differences))


@report.command()
def schema() -> int:
    """Print the JSON schema of report.json."""
    import msgspec

    from harness.report.report import json_schema
    from harness.terminal import show

    content = msgspec.json.format(msgspec.json.encode(json_schema()), indent=2)
    show(f"{content.decode()}\n", sys.stdout)
    return 0


@click.group()
@_plan_option
@_history_option
@click.pass_context
def history(context: click.Context, plan_file: str | None, history_file: str | None) -> None:
    """Take runs out of the history, and put those of other machines in."""
    context.obj = (plan_file, history_file)


@history.command("export")
@click.argument("file", default="-")
@_night_option
@click.pass_context
def export_runs(context: click.Context, file: str, night: str | None) -> int:
    """Write all runs, or those of one --night, to FILE (standard output unless said) as lines of
    JSON.

    Exit status: 0 written; 3 there are none.
    """
    from harness.outfile import OutFile
    from harness.report.history import export_lines
    from harness.terminal import abandon

    out = OutFile("export", file)
    with _history(_stored_plan(context.obj[0]), context.obj[1], must_exist=True) as opened:
        content = b"".join(export_lines(opened, night))
    if not content:
        raise CannotVerify(
            f"there are no runs of {night or 'any night'}; expected some in the history"
        )
    try:
        out.write(content)
    except BrokenPipeError:
        abandon(sys.stdout)
    return 0


@history.command("import")
@click.argument("file", nargs=-1, required=True)
@click.pass_context
def import_runs(context: click.Context, file: tuple[str, ...]) -> int:
    """Store the runs of FILEs that history export wrote (-: standard input). To import them again
    changes nothing.

    Exit status: 0 they are in the history; 2 a file is something else, of which nothing is stored.
    """
    from harness.report.history import import_lines

    with _history(_stored_plan(context.obj[0]), context.obj[1]) as opened:
        for name in file:
            try:
                lines = _lines(name)
                new, all_runs = import_lines(opened, lines)
            except OSError as error:
                raise UsageError(
                    f"{name} cannot be read ({error.strerror}); expected what history export wrote"
                ) from None
            except ValueError as error:
                raise UsageError(f"{name}: {error}; expected what history export wrote") from None
            click.echo(f"{name}: {all_runs} runs, {new} of them new")
    return 0


def _lines(name: str) -> list[bytes]:
    content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return content.split(b"\n")


def _accept(plan_file: str | None, history_file: str | None, night: str | None) -> int:
    from harness.outfile import OutFile
    from harness.report.ratchet import FILE, accept, accepted_lines, baseline_bytes, read_baseline
    from harness.terminal import show

    plan = _stored_plan(plan_file)
    with _history(plan, history_file, must_exist=True) as history:
        latest = _nights(history, None if night is None else _label(night))[-1]
    file = Path(plan.reports) / FILE
    before = read_baseline(file)
    after = accept(latest, before)
    file.parent.mkdir(parents=True, exist_ok=True)
    OutFile("report --accept", str(file)).write(baseline_bytes(after))
    lines = list(accepted_lines(before, after))
    end = f"{len(lines)} of {len(after)} accepted figures changed, those of {latest.label}: {file}"
    show("\n".join([*lines, end, ""]), sys.stdout)
    return 0


def _build(plan: Plan, history: History, label: str | None, open_page: bool) -> int:
    from harness.report.folder import write_report
    from harness.report.ratchet import FILE, read_baseline
    from harness.report.report import make_report
    from harness.terminal import show

    nights = _nights(history, label)
    accepted = read_baseline(Path(plan.reports) / FILE)
    made = make_report(nights, list(history.whole(nights[-1].label)), accepted)
    written = write_report(made, Path(plan.reports))
    outcome = made.outcome
    lines = [*outcome.lines, f"{outcome.colour}: {outcome.headline}", str(written.page), ""]
    show("\n".join(lines), sys.stdout)
    if open_page:
        webbrowser.open(written.page.resolve().as_uri())
    return outcome.exit_status


def _nights(history: History, label: str | None) -> list[Night]:
    """All nights up to one: the latest unless said."""
    from harness.report.nights import nights_of

    nights = nights_of(history.runs())
    if not nights:
        raise CannotVerify("the history is empty; expected a night; run neuron-harness report")
    if label is None:
        return nights
    for place, night in enumerate(nights):
        if night.label == label:
            return nights[: place + 1]
    raise _no_night(label, [night.label for night in nights])


def _one_night(history: History, name: str) -> Night:
    """The night that is called so, or the one run whose identity begins so."""
    from harness.report.nights import Night, nights_of

    runs = history.runs()
    for night in nights_of(runs):
        if night.label == name:
            return night
    ids = [id for id, _ in history.ids()]
    found = [run for id, run in zip(ids, runs, strict=True) if name and id.startswith(name)]
    if len(found) != 1:
        raise _no_night(name, [night.label for night in nights_of(runs)])
    return Night(f"{found[0].night} ({name})", (found[0],))


def _no_night(name: str, labels: list[str]) -> UsageError:
    from harness.inert import inert

    known = f"{labels[0]} to {labels[-1]}" if labels else "none"
    return UsageError(f"no night {inert(name, 80)!r} in the history; expected one of {known}")


def _stored_plan(file: str | None) -> Plan:
    """The plan, for the places that it names; where there is none, the usual places."""
    from harness.report.plan import Plan, read_plan

    if file is None and not Path("pyproject.toml").exists():
        return Plan()
    return read_plan(file) if file is not None else read_plan()


@contextmanager
def _history(plan: Plan, file: str | None, *, must_exist: bool = False) -> Iterator[History]:
    from harness.report.history import History
    from harness.store import StoreError

    path = Path(file or plan.history)
    if must_exist and not path.exists():
        raise CannotVerify(
            f"there is no history {path}; expected one; run neuron-harness report, or import one"
        )
    try:
        with History.open(path) as opened:
            yield opened
    except StoreError as error:
        raise CannotVerify(str(error)) from None


def _label(night: str | None) -> str:
    from harness.report.labels import require_label

    return require_label(night) if night is not None else date.today().isoformat()


def _require_jinja() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise CannotVerify(
            "jinja2, which writes the page, is not installed; expected the extra: "
            "pip install 'neuron-harness[report]'"
        ) from None


def _commit() -> str:
    """The commit that is checked out here, marked if files differ from it; "unknown" where git
    does not say."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return found.stdout.strip() or "unknown"


def _tell(line: str) -> None:
    click.echo(line, err=True)
