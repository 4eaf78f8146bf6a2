"""What a gate, a proof and a throughput run come to, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from harness.bench.gate import Gate
from harness.bench.prove import Proof, Rate
from harness.bench.rule import Finding, Verdict
from harness.bench.throughput import Bench
from harness.bench.turn import NEW, OLD

_COLOURS = {Verdict.REGRESSION: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.SAME: "green"}


def _table(left: Sequence[str], right: Sequence[str], last: Sequence[str] = ()) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for head in left:
        table.add_column(head, no_wrap=True)
    for head in right:
        table.add_column(head, justify="right", no_wrap=True)
    for head in last:
        table.add_column(head, no_wrap=True)
    return table


def gate_table(gate: Gate) -> Table:
    """One row for each workload: times a call, new over old with its interval, the same of the
    control, memory, and the verdict."""
    table = _table(
        ("workload",),
        ("old us", "new us", "new/old", "interval", "control", "memory", "pairs"),
        ("verdict",),
    )
    for time, memory, control in zip(gate.times, gate.bytes, gate.control, strict=True):
        old, new = (gate.seconds_a_call[side][time.name] * 1e6 for side in (OLD, NEW))
        verdict = _worse(time, memory)
        table.add_row(
            Text(time.name),
            *(Text(f"{each:.2f}") for each in (old, new)),
            Text(f"{time.ratio:.3f}"),
            Text(_interval(time)),
            Text(f"{control.ratio:.3f}"),
            Text(_ratio(memory.ratio)),
            Text(str(time.pairs)),
            Text(_verdict(time, memory), style=_COLOURS[verdict]),
        )
    return table


def _worse(*findings: Finding) -> Verdict:
    verdicts = {finding.verdict for finding in findings}
    return next(verdict for verdict in _COLOURS if verdict in verdicts)


def _verdict(time: Finding, memory: Finding) -> str:
    worse = _worse(time, memory)
    if worse is Verdict.SAME:
        return str(worse)
    where = [
        name for name, finding in (("time", time), ("memory", memory)) if finding.verdict is worse
    ]
    return f"{worse}: {', '.join(where)}"


def _interval(finding: Finding) -> str:
    return f"{_ratio(finding.low)} to {_ratio(finding.high)}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.3f}" if math.isfinite(ratio) else "inf"


def gate_lines(gate: Gate) -> list[str]:
    """What the table means: the sides, the control, and the verdict of the run."""
    plan, rule = gate.plan, gate.plan.rule
    lines = [f"old: {plan.old.label}; new: {plan.new.label}"]
    if plan.without:
        lines.append(f"left out, as asked: {', '.join(sorted(plan.without))}")
    if gate.control_failures:
        lines.append(
            "INCONCLUSIVE: the machine is too noisy, or treats one side better: the old side "
            "differs from itself"
        )
        lines += [f"  {failure}" for failure in gate.control_failures]
    pairs = f"{plan.pairs} pairs" + (f" and {plan.pairs} more" if gate.extended else "")
    lines.append(
        f"{gate.verdict}, for slowdowns of more than {rule.min_effect:.3g} "
        f"({1 - rule.level:.3g} intervals); {pairs} in {gate.seconds:.0f} s; seed {plan.seed}"
    )
    return lines


def proof_table(proof: Proof) -> Table:
    """One row for each injected slowdown and least effect: what the gate said, of all runs."""
    table = _table(
        ("injected", "came to", "least effect"),
        ("runs", "regression", "faster or same", "inconclusive", "control failed"),
    )
    for rate in proof.drawn:
        table.add_row(*_rate_row(rate, f"{rate.effect:.0%}" if rate.effect else "nothing"))
    for rate in proof.real:
        table.add_row(*_rate_row(rate, "nothing, as timed"))
    return table


def _rate_row(rate: Rate, injected: str) -> list[str]:
    counts = (rate.regression, rate.same, rate.inconclusive, rate.control_failed)
    return [
        injected,
        f"{rate.realised:.4f}",
        f"{rate.min_effect:.0%}",
        str(rate.runs),
        *(f"{count / rate.runs:.1%}" if rate.runs else "-" for count in counts),
    ]


def proof_lines(proof: Proof) -> list[str]:
    """How the rates were had."""
    worst = max(proof.spread, key=proof.spread.__getitem__)
    return [
        f"{proof.turns} turns of {len(proof.workloads)} workloads in {proof.seconds:.0f} s, runs "
        f"of {proof.pairs} pairs drawn from them; seed {proof.seed}",
        f"spread of a pair of equal sides: {min(proof.spread.values()):.2%} to "
        f"{proof.spread[worst]:.2%} ({worst})",
    ]


def bench_table(bench: Bench) -> Table:
    """One row for each subject, dtype, device and length."""
    table = _table(
        ("subject", "dtype", "device"),
        ("n", "us/call", "neurons/s", "GB/s", "/autograd", "/floor", "first ms", "peak bytes"),
    )
    for line in bench.lines:
        head = [line.subject, line.dtype, line.device, str(line.n)]
        if line.seconds_a_call is None:
            table.add_row(*map(Text, [*head, *["-"] * 7]))
            continue
        assert line.neurons_a_second is not None and line.bytes_a_second is not None
        assert line.over_floor is not None and line.first_call is not None
        table.add_row(
            *map(Text, head),
            f"{line.seconds_a_call * 1e6:.2f}",
            f"{line.neurons_a_second:.3g}",
            f"{line.bytes_a_second / 1e9:.3f}",
            "-" if line.over_autograd is None else f"{line.over_autograd:.2f}",
            f"{line.over_floor:.2f}",
            f"{line.first_call * 1e3:.2f}",
            str(line.peak_bytes),
        )
    return table


def bench_lines(bench: Bench) -> list[str]:
    """The harness's own rates, what could not be timed, and the machine."""
    lines = [f"{each.name}: {each.a_second:.3g} {each.unit}/s" for each in bench.engines]
    lines += [
        f"{line.subject} {line.dtype} {line.device} n={line.n}: {line.error}"
        for line in bench.lines
        if line.error is not None
    ]
    lines.append(
        f"{len(bench.lines)} lines in {bench.seconds:.0f} s; torch {bench.environment['torch']}, "
        f"{bench.environment['threads']} thread(s)"
    )
    return lines
