"""The command `hunt`. Imports nothing that takes long until it runs."""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext, redirect_stdout
from typing import IO, TYPE_CHECKING

import click

from harness.errors import CannotVerify

if TYPE_CHECKING:
    from harness.hunt.engine import Hunt
    from harness.hunt.plan import Plan


@click.command()
@click.argument("subject")
@click.option("--as", "kind", metavar="KIND", help="neuron, activation or tanh-gradient.")
@click.option("--dtype", default="float64", show_default=True, metavar="D")
@click.option("--device", default="cpu", show_default=True)
@click.option("--budget", type=float, metavar="SECONDS", help="Default: 60, or see --evaluations.")
@click.option("--evaluations", type=int, metavar="N", help="End after N inputs.")
@click.option("--seed", type=int, help="Search as a run with this seed.")
@click.option("--cold", is_flag=True, help="Do not start from what earlier hunts have found.")
@click.option("--no-known", is_flag=True, help="Do not start from known bad inputs of libraries.")
@click.option(
    "--store", "store_file", metavar="FILE", help="Default: .neuron-harness/store.sqlite."
)
@click.option("--activation-ulps", type=float, metavar="T", help="Error allowed to tanh itself.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write figures and finds as JSON.")
def hunt(
    subject: str,
    kind: str | None,
    dtype: str,
    device: str,
    budget: float | None,
    evaluations: int | None,
    seed: int | None,
    cold: bool,
    no_known: bool,
    store_file: str | None,
    activation_ulps: float | None,
    json_file: str | None,
) -> int:
    """Search for the inputs at which SUBJECT is worst, where there are too many to try them all.

    An activation may also be a plain function of Python floats, such as math:tanh; its output alone
    is hunted then.

    Exit status: 0 searched and reported; 1 a find is wrong (nothing explains its error), or a law
    is broken; 5 stopped before the budget was used up: what was found until then is shown.
    """
    from harness.api import fresh_seed
    from harness.hunt.plan import DEFAULT_SECONDS, make_plan
    from harness.hunt.record import exit_status, to_json
    from harness.outfile import OutFile
    from harness.subjects import load
    from harness.sweep_command import _require_device
    from harness.terminal import show

    json_out = None if json_file is None else OutFile("--json", json_file)
    piped = json_out is not None and json_out.standard_output
    if budget is None and evaluations is None:
        budget = DEFAULT_SECONDS
    # Where the JSON goes to standard output, what else is printed, a subject's own lines included,
    # goes to standard error.
    with redirect_stdout(sys.stderr) if piped else nullcontext():
        plan = make_plan(
            load(subject, kind),
            dtype=dtype,
            device=device,
            seed=fresh_seed() if seed is None else seed,
            seconds=budget,
            evaluations=evaluations,
            known=not no_known,
            cold=cold,
            activation_ulps=activation_ulps,
            locator=subject,
        )
        _require_device(device)
        hunted = _run(plan, store_file)
    try:
        # First, since the reader of the table may leave early, as `| head` does.
        if json_out is not None:
            json_out.write(to_json(hunted))
    finally:
        stream = sys.stderr if piped else sys.stdout
        show(_summary(hunted, stream), stream)
    return exit_status(hunted)


def _run(plan: Plan, store_file: str | None) -> Hunt:
    from harness.hunt.engine import run_hunt
    from harness.hunt.table import watching
    from harness.store import DEFAULT, Store, StoreError

    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store.open(store_file or DEFAULT))
        except StoreError as error:
            raise CannotVerify(str(error)) from None
        watch = stack.enter_context(watching())
        return run_hunt(plan, store=store, watch=watch)


def _summary(hunted: Hunt, stream: IO[str]) -> str:
    """What a hunt comes to, for people."""
    from harness.hunt.record import failures
    from harness.hunt.table import case_lines, finds_table, tail_line
    from harness.terminal import table_text

    plan = hunted.plan
    mark = "" if hunted.stopped is None else ": INCOMPLETE"
    parts = [f"{plan.subject.name} {plan.dtype} {plan.device}{mark}\n"]
    if hunted.finds:
        parts.append(table_text(finds_table(hunted), stream))
    tail = [*case_lines(hunted), *(f"FAILED: {failure}" for failure in failures(hunted))]
    if hunted.unreturned is not None:
        tail.append(hunted.unreturned)
    if hunted.stopped is not None:
        tail.append(f"stopped: {hunted.stopped}; what was found until then is kept")
    return "\n".join([*parts, "\n".join([*tail, tail_line(hunted), ""])])
