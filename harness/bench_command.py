"""The command `bench`. Imports nothing that takes long until it runs."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout

import click

from harness.errors import UsageError


@click.command()
@click.argument("subject", nargs=-1)
@click.option("--as", "kind", metavar="KIND", help="neuron, activation or tanh-gradient.")
@click.option("--dtype", "dtypes", metavar="D,..", help="Default: all.")
@click.option("--device", "devices", metavar="D,..", help="Default: cpu, and cuda if present.")
@click.option("--n", "lengths", metavar="N,..", help="Default: 0,8,256,4096,65536,1048576.")
@click.option("--quick", is_flag=True, help="Two dtypes, three lengths, few rounds: under 20 s.")
@click.option("--threads", type=int, default=1, show_default=True, help="Of torch.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the figures as JSON.")
def bench(
    subject: tuple[str, ...],
    kind: str | None,
    dtypes: str | None,
    devices: str | None,
    lengths: str | None,
    quick: bool,
    threads: int,
    json_file: str | None,
) -> int:
    """Throughput of SUBJECTs, beside autograd and the time to move the same bytes.

    Without a SUBJECT: every built-in, and the rates of the oracle, of sweeps and of verifications.
    Figures are reported, not judged: for that there is `gate`.

    Exit status: 0 timed; 3 nothing could be timed, or a device is missing.
    """
    from harness.gate_command import _lengths, _names
    from harness.outfile import OutFile
    from harness.terminal import abandon, show

    if threads < 1:
        raise UsageError(f"--threads {threads}; expected 1 or more")
    json_out = None if json_file is None else OutFile("--json", json_file)
    piped = json_out is not None and json_out.standard_output
    with redirect_stdout(sys.stderr) if piped else nullcontext():
        import torch

        from harness.bench import throughput
        from harness.bench.plan import require_names
        from harness.bench.record import bench_json
        from harness.bench.table import bench_lines, bench_table
        from harness.bench.watch import counting
        from harness.bench.workload import DTYPES
        from harness.errors import CannotVerify
        from harness.subjects import builtin_names
        from harness.terminal import table_text

        default_dtypes = throughput.QUICK_DTYPES if quick else DTYPES
        chosen = default_dtypes if dtypes is None else _names("--dtype", dtypes)
        default_lengths = throughput.QUICK_LENGTHS if quick else throughput.LENGTHS
        default_devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        on = default_devices if devices is None else _names("--device", devices)
        for device in on:
            require_names(chosen, device)
        with counting("groups") as count:
            done = iter(range(1, 1 << 30))
            found = throughput.run_bench(
                tuple(dict.fromkeys(subject or builtin_names())),
                kind=kind,
                dtypes=chosen,
                devices=on,
                lengths=default_lengths if lengths is None else _lengths(lengths),
                pace=throughput.Pace(rounds=7, block=1e-3) if quick else throughput.Pace(),
                threads=threads,
                engines=not subject,
                on_group=lambda name: count(next(done), None, name),
            )
    if all(line.seconds_a_call is None for line in found.lines):
        errors = next(line.error for line in found.lines)
        raise CannotVerify(f"nothing could be timed: {errors}; expected a subject that runs")
    try:
        # First, since the reader of the table may leave early, as `| head` does.
        if json_out is not None:
            json_out.write(bench_json(found))
    except BrokenPipeError:
        abandon(sys.stdout)
    finally:
        stream = sys.stderr if piped else sys.stdout
        text = "\n".join([table_text(bench_table(found), stream), *bench_lines(found), ""])
        show(text, stream)
    return 0
