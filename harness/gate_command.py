"""The command `gate`. Imports nothing that takes long until it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.bench.gate import Gate, GatePlan
    from harness.bench.prove import Proof

_MOST_PAIRS = 1000


@click.command()
@click.argument("subject", nargs=-1)
@click.option("--against", "revision", metavar="REV", help="The old side: a commit of this clone.")
@click.option("--as", "kind", metavar="KIND", help="neuron, activation or tanh-gradient.")
@click.option("--dtype", "dtypes", metavar="D,..", help="Of SUBJECTs. Default: all it supports.")
@click.option("--n", "lengths", metavar="N,..", help="Lengths, of SUBJECTs. Default: 8,4096.")
@click.option("--device", default="cpu", show_default=True, help="Of SUBJECTs.")
@click.option(
    "--min-effect",
    type=float,
    default=3.0,
    show_default=True,
    metavar="PERCENT",
    help="The least slowdown that matters.",
)
@click.option("--pairs", type=int, metavar="N", help="Pairs before an extension. Default: 24.")
@click.option(
    "--without", multiple=True, metavar="NAME", help="Leave out a workload, or a subject's."
)
@click.option("--threads", type=int, default=1, show_default=True, help="Of torch, on both sides.")
@click.option("--build", metavar="COMMAND", help="Run in each copy of the repository first.")
@click.option("--timeout", type=float, default=120.0, show_default=True, metavar="S")
@click.option("--seed", type=int, help="Take turns in the order of a run with this seed.")
@click.option("--prove", is_flag=True, help="Measure the gate's own rates on this machine.")
@click.option(
    "--budget", type=float, default=300.0, show_default=True, metavar="S", help="Of --prove."
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write verdicts and pairs as JSON.")
def gate(
    subject: tuple[str, ...],
    revision: str | None,
    kind: str | None,
    dtypes: str | None,
    lengths: str | None,
    device: str,
    min_effect: float,
    pairs: int | None,
    without: tuple[str, ...],
    threads: int,
    build: str | None,
    timeout: float,
    seed: int | None,
    prove: bool,
    budget: float,
    json_file: str | None,
) -> int:
    """Say whether this working tree is slower, or takes more memory, than commit REV.

    Without a SUBJECT: the suite of this project, in its clone. With one, of the repository in which
    the command runs: that. With two and no --against: the second against the first.

    Exit status: 0 faster or same; 4 a regression; 5 inconclusive, or the old side differs from
    itself; 2 usage; 3 the sides cannot be compared: something is missing on one of them, or
    differs that should not.
    """
    from tempfile import TemporaryDirectory

    from harness.api import fresh_seed
    from harness.outfile import OutFile
    from harness.terminal import abandon, show

    json_out = None if json_file is None else OutFile("--json", json_file)
    _require(subject, revision, min_effect, pairs, threads, timeout, budget, seed, prove)
    piped = json_out is not None and json_out.standard_output
    with (
        redirect_stdout(sys.stderr) if piped else nullcontext(),
        TemporaryDirectory(prefix="neuron-harness-gate-") as folder,
    ):
        from harness.bench import plan as plans
        from harness.bench.gate import DEFAULT_PAIRS
        from harness.bench.rule import Rule
        from harness.bench.runner import Effort

        plan = plans.make_plan(
            subject,
            revision=revision,
            kind=kind,
            dtypes=None if dtypes is None else _names("--dtype", dtypes),
            lengths=None if lengths is None else _lengths(lengths),
            device=device,
            without=without,
            build=build,
            folder=Path(folder),
            seed=fresh_seed() if seed is None else seed,
            pairs=DEFAULT_PAIRS if pairs is None else pairs,
            rule=Rule(min_effect / 100),
            effort=Effort(patience=timeout),
            threads=threads,
        )
        found: Gate | Proof = _prove(plan, budget) if prove else _gate(plan)
    try:
        # First, since the reader of the table may leave early, as `| head` does.
        if json_out is not None:
            json_out.write(_to_json(found))
    except BrokenPipeError:
        abandon(sys.stdout)
    finally:
        stream = sys.stderr if piped else sys.stdout
        show(_summary(found, stream), stream)
    return getattr(found, "exit_status", 0)


def _require(
    subject: Sequence[str],
    revision: str | None,
    min_effect: float,
    pairs: int | None,
    threads: int,
    timeout: float,
    budget: float,
    seed: int | None,
    prove: bool,
) -> None:
    if len(subject) > 2 or (len(subject) == 2 and revision is not None):
        raise UsageError(
            f"{len(subject)} subjects{' and --against' if revision else ''}; expected one with "
            "--against, or two without; leave some out"
        )
    if len(subject) < 2 and revision is None and not prove:
        raise UsageError(
            "nothing to compare with; expected --against REV, or two subjects; "
            "say --against HEAD for the last commit"
        )
    if not 0 < min_effect < 100:
        raise UsageError(f"--min-effect {min_effect:g}; expected percents between 0 and 100")
    if pairs is not None and not 1 <= pairs <= _MOST_PAIRS:
        raise UsageError(f"--pairs {pairs}; expected 1 to {_MOST_PAIRS}")
    if threads < 1:
        raise UsageError(f"--threads {threads}; expected 1 or more")
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed}; expected 0 or more; leave it out for a fresh one")
    for option, seconds in (("--timeout", timeout), ("--budget", budget)):
        if not 0 < seconds < float("inf"):
            raise UsageError(f"{option} {seconds:g}; expected a number of seconds greater than 0")


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError(f"{option} {text!r} names nothing; expected names separated by commas")
    return names


def _lengths(text: str) -> list[int]:
    lengths = []
    for name in _names("--n", text):
        if not name.isdecimal():
            raise UsageError(f"--n {name!r} is no length; expected a whole number of 0 or more")
        lengths.append(int(name))
    return lengths


def _gate(plan: GatePlan) -> Gate:
    from harness.bench.gate import run_gate
    from harness.bench.watch import counting

    with counting("turns") as count:
        return run_gate(plan, on_turn=count)


def _prove(plan: GatePlan, budget: float) -> Proof:
    from harness.bench.prove import run_proof
    from harness.bench.watch import counting

    with counting("seconds") as count:
        return run_proof(plan, budget, lambda elapsed: count(round(elapsed), round(budget)))


def _to_json(found: Gate | Proof) -> bytes:
    from harness.bench.gate import Gate
    from harness.bench.record import gate_json, proof_json

    return gate_json(found) if isinstance(found, Gate) else proof_json(found)


def _summary(found: Gate | Proof, stream: IO[str]) -> str:
    from harness.bench import table
    from harness.bench.gate import Gate
    from harness.terminal import table_text

    if isinstance(found, Gate):
        parts = table.gate_table(found), table.gate_lines(found)
    else:
        parts = table.proof_table(found), table.proof_lines(found)
    return "\n".join([table_text(parts[0], stream), *parts[1], ""])
