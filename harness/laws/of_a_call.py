"""Laws that every single call shows kept or broken; `harness.evaluate` looks."""

from __future__ import annotations

from typing import Final

from harness.laws.law import Law
from harness.subjects import Kind

_ALL: Final = dict.fromkeys(Kind)

STRUCTURE: Final = Law(
    "structure",
    "the results are tensors of the right number, shape, dtype and device",
    required=True,
    checks=_ALL,
)
INPUTS_UNTOUCHED: Final = Law(
    "inputs-untouched", "the arguments hold the same bits after the call", True, _ALL
)
RESULTS_OWN_MEMORY: Final = Law(
    "results-own-memory",
    "no result shares memory with an argument, or with a result of the next call",
    required=True,
    checks=_ALL,
)
REPEATABLE: Final = Law("repeatable", "the same call a second time gives the same bits", True, _ALL)
GLOBAL_STATE: Final = Law(
    "global-state",
    "default dtype, grad mode, threads, random state and flush-to-zero are as found",
    required=True,
    checks=_ALL,
)
