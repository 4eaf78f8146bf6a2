"""What a gate, a proof and a throughput run come to, as JSON."""

from __future__ import annotations

import hashlib
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness._version import __version__

if TYPE_CHECKING:
    from harness.bench.gate import Gate
    from harness.bench.processes import Side
    from harness.bench.prove import Proof
    from harness.bench.rule import Finding
    from harness.bench.throughput import Bench

GATE_SCHEMA: Final = "neuron-harness/gate/1"
PROOF_SCHEMA: Final = "neuron-harness/gate-proof/1"
BENCH_SCHEMA: Final = "neuron-harness/bench/1"


def machine(state: Mapping[str, Any]) -> dict[str, Any]:
    """The environment of timings: the machine, and the state of a timed process. `fingerprint` is
    the same as long as times may be compared: it leaves out this project's own version."""
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        **state,
    }
    digest = hashlib.sha256(msgspec.json.encode(found, order="sorted")).hexdigest()
    return {"neuron_harness": __version__, **found, "fingerprint": digest[:16]}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def gate_json(gate: Gate) -> bytes:
    """A gate with every pair, so that it can be judged again; null for an infinite end."""
    plan = gate.plan
    return _encode(
        {
            "schema": GATE_SCHEMA,
            "environment": machine(gate.environment),
            "verdict": str(gate.verdict),
            "exit_status": gate.exit_status,
            "sides": {name: _side(side) for name, side in plan.sides.items()},
            "rule": asdict(plan.rule),
            "seed": plan.seed,
            "extended": gate.extended,
            "seconds": gate.seconds,
            "left_out": sorted(plan.without),
            "time": _findings(gate.times),
            "memory": _findings(gate.bytes),
            "control": _findings(gate.control),
            "control_failures": gate.control_failures,
            "seconds_a_call": gate.seconds_a_call,
            "log_ratios": gate.pairs,
            "control_log_ratios": gate.control_pairs,
        }
    )


def proof_json(proof: Proof) -> bytes:
    """The rates of a proof."""
    return _encode(
        {
            "schema": PROOF_SCHEMA,
            **asdict(proof),
            "environment": machine(proof.environment),
        }
    )


def bench_json(bench: Bench) -> bytes:
    """The lines of a throughput run."""
    return _encode(
        {
            "schema": BENCH_SCHEMA,
            "environment": machine(bench.environment),
            "seconds": bench.seconds,
            "benchmarks": [asdict(line) for line in bench.lines],
            "engines": [asdict(line) for line in bench.engines],
        }
    )


def _side(side: Side) -> dict[str, Any]:
    return {"label": side.label, "workloads": [each.name for each in side.workloads]}


def _findings(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [asdict(finding) for finding in findings]


def _encode(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(_finite(value)), indent=2) + b"\n"


def _finite(value: Any) -> Any:
    """The value with null for what JSON has no number for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
