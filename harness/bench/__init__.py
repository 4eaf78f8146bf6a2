"""Throughput, and a gate on regressions whose verdict can be believed."""

from __future__ import annotations

from harness.bench.gate import Gate, GatePlan, run_gate
from harness.bench.rule import Finding, Rule, Verdict

__all__ = ["Finding", "Gate", "GatePlan", "Rule", "Verdict", "run_gate"]
