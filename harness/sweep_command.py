"""The command `sweep`. Imports nothing that takes long until it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from typing import IO, TYPE_CHECKING

import click

from harness.errors import CannotVerify, UsageError

if TYPE_CHECKING:
    from harness.executor import Executor
    from harness.store import Store
    from harness.sweep.plan import Plan
    from harness.sweep.record import Sweep

_MOST_JOBS = 1024


@click.command()
@click.argument("subject")
@click.option("--as", "kind", metavar="KIND", help="neuron, activation or tanh-gradient.")
@click.option("--dtype", default="float32", show_default=True, metavar="D")
@click.option("--device", default="cpu", show_default=True)
@click.option("--from", "first", metavar="X", help="Lower end, decimal or hexadecimal, included.")
@click.option("--to", "last", metavar="X", help="Upper end, included. Default: all bit patterns.")
@click.option("--pairs", is_flag=True, help="All (y, g) of a tanh-gradient in a 16-bit format.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes on this machine.")
@click.option("--cluster", metavar="ADDRESS", help="Hand the blocks to a dask cluster instead.")
@click.option("--resume", is_flag=True, help="Go on with what an equal sweep has stored.")
@click.option(
    "--store", "store_file", metavar="FILE", help="Default: .neuron-harness/store.sqlite."
)
@click.option(
    "--require",
    type=click.Choice(["correct", "faithful"]),
    help="Grade that every result must earn. Default: figures are reported, not judged.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the figures as JSON.")
def sweep(
    subject: str,
    kind: str | None,
    dtype: str,
    device: str,
    first: str | None,
    last: str | None,
    pairs: bool,
    jobs: int,
    cluster: str | None,
    resume: bool,
    store_file: str | None,
    require: str | None,
    json_file: str | None,
) -> int:
    """Judge SUBJECT on every number of a format, or of a range, against the oracle.

    Exit status: 0 swept, all required laws kept; 1 a required law (|y| <= 1, the gradient's sign,
    the same result in every lane) or --require broken, or SUBJECT raised or ended its process
    half-way; 3 it cannot be swept; 5 stopped before the end: what was done is shown, marked
    incomplete, and --resume goes on from there.
    """
    from harness.outfile import OutFile

    if not 1 <= jobs <= _MOST_JOBS:
        raise UsageError(f"--jobs {jobs}; expected 1 to {_MOST_JOBS}")
    if cluster is not None and jobs != 1:
        raise UsageError(f"--jobs {jobs} with --cluster; expected one of them; leave one out")
    json_out = None if json_file is None else OutFile("--json", json_file)
    piped = json_out is not None and json_out.standard_output
    low, high = _number("--from", first), _number("--to", last)
    # Where the JSON goes to standard output, what else is printed, a subject's own lines included,
    # goes to standard error. The executor comes first: its process starts while this one imports.
    with redirect_stdout(sys.stderr) if piped else nullcontext(), _executor(jobs, cluster) as where:
        from harness.store import StoreError
        from harness.subjects import load
        from harness.sweep.engine import environment
        from harness.sweep.plan import make_plan
        from harness.sweep.record import to_json
        from harness.terminal import show

        plan = make_plan(
            load(subject, kind),
            dtype=dtype,
            device=device,
            first=low,
            last=high,
            pairs=pairs,
            locator=subject,
        )
        _require_device(device)
        try:
            swept = _run(plan, where, resume, store_file, require)
        except StoreError as error:
            raise CannotVerify(str(error)) from None
    try:
        # First, since the reader of the table may leave early, as `| head` does.
        if json_out is not None:
            json_out.write(to_json([swept], environment()))
    finally:
        stream = sys.stderr if piped else sys.stdout
        show(_summary(swept, jobs, stream), stream)
    return swept.exit_status


def _number(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float.fromhex(text) if "0x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {text!r} is not a number; write it like 0.25, 1e-3, 0x1.8p-2 or inf"
        ) from None


def _require_device(device: str) -> None:
    import torch

    if device == "cpu":
        return
    if device != "cuda":
        raise UsageError(f"unknown device {device!r}; expected one of cpu, cuda")
    if not torch.cuda.is_available():
        raise CannotVerify(
            f"device 'cuda' was asked for, but this torch ({torch.__version__}) sees no CUDA "
            "device; leave it out, or install a CUDA build of torch on a machine with one"
        )


def _run(
    plan: Plan,
    executor: Executor,
    resume: bool,
    store_file: str | None,
    require: str | None,
) -> Sweep:
    from harness.grade import Grade
    from harness.sweep.engine import run_sweep
    from harness.sweep.record import finish
    from harness.sweep.table import watching

    # A single block is worth no file: there is nothing to resume in the middle of it.
    stored = plan.block_count > 1 or store_file is not None
    with ExitStack() as stack:
        store = stack.enter_context(_store(store_file)) if stored else None
        watch = stack.enter_context(watching())
        outcome = run_sweep(
            plan,
            executor=executor,
            by_name=True,
            store=store,
            resume=resume,
            watch=watch,
        )
    return finish(outcome, None if require is None else Grade(require))


def _store(name: str | None) -> Store:
    from harness.store import DEFAULT, Store

    return Store.open(name or DEFAULT)


@contextmanager
def _executor(jobs: int, cluster: str | None) -> Iterator[Executor]:
    """Where the subject is called: never in this process, which outlives what the subject does."""
    from harness import executor

    if cluster is None:
        with executor.processes(jobs, prepare=("harness.sweep.task",)) as found:
            yield found
        return
    try:
        with executor.cluster(cluster) as found:
            yield found
    except executor.ExecutorError as error:
        raise CannotVerify(str(error)) from None


def _summary(swept: Sweep, jobs: int, stream: IO[str]) -> str:
    """What a sweep comes to, for people."""
    from harness.sweep.replay import again_lines
    from harness.sweep.table import figures_table, law_lines, time_line, worst_table
    from harness.terminal import table_text

    plan = swept.plan
    mark = "" if swept.outcome.complete else ": INCOMPLETE"
    parts = [f"{plan.subject.name} {plan.dtype} {plan.device}{mark}\n"]
    if swept.quantities:
        parts += [table_text(table(swept), stream) for table in (figures_table, worst_table)]
    tail = [*law_lines(swept), *again_lines(swept)]
    tail += [f"FAILED: {failure}" for failure in swept.failures]
    if swept.outcome.stopped is not None:
        line = (
            f"stopped: {swept.outcome.stopped}; {swept.points:,} of {plan.points:,} points are done"
        )
        if swept.outcome.unstored_points:
            line += f", {swept.outcome.unstored_points:,} of them shown here but not stored"
        tail.append(f"{line}; --resume goes on from there" if swept.outcome.resumable else line)
    return "\n".join([*parts, "\n".join([*tail, time_line(swept, jobs), ""])])
