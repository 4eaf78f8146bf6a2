"""What to look at every night, from the table [tool.neuron-harness.report] of pyproject.toml.

    [tool.neuron-harness.report]
    budget = 5400                    # seconds for everything; what there is no time for is left out
    seed = 1                         # the same cases every night, so that figures can be compared
    reports = "reports"              # the accepted figures, and a folder for every night
    history = ".neuron-harness/history.sqlite"

    [[tool.neuron-harness.report.verify]]
    subjects = ["textbook", "path/to/file.py:neuron"]
    dtypes = ["float16", "bfloat16", "float32", "float64"]
    devices = ["cpu"]                # default: cpu, and cuda where there is one
    kind = "neuron"                  # default: neuron, or what a built-in is
    examples = 1000

    [[tool.neuron-harness.report.sweep]]     # as for verify, with jobs and require
    [[tool.neuron-harness.report.hunt]]      # as for verify, with evaluations

Looks are taken in the order verify, sweep, hunt, so that what matters most is done first.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from harness.case import DTYPES
from harness.errors import UsageError

FILE: Final = "pyproject.toml"
TABLE: Final = "tool.neuron-harness.report"

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class Looks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every table of looks says: which subjects, in which dtypes, on which devices (None: on
    those that are there), and the kind that `--as` takes."""

    subjects: _Names
    dtypes: _Names = DTYPES
    devices: _Names | None = None
    kind: str | None = None


class Verifications(Looks, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Subjects to verify, on so many cases for each dtype and device."""

    examples: _Count = 1000


class Sweeps(Looks, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Subjects to sweep over every number, in so many processes, and what to require."""

    jobs: _Count = 1
    require: Literal["correct", "faithful"] | None = None


class Hunts(Looks, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Subjects to hunt for bad inputs, with so many tries, so that figures do not hang on time."""

    evaluations: _Count = 200_000


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A night: seconds for all of it, the seed of what is drawn, where results go, and the looks.

    `close` says whether to look closely at each subject too: envelopes, curves, special values,
    throughput, and the worst inputs judged one by one.
    """

    budget: Annotated[float, msgspec.Meta(gt=0)] = 5400.0
    seed: Annotated[int, msgspec.Meta(ge=0)] = 1
    reports: str = "reports"
    history: str = ".neuron-harness/history.sqlite"
    close: bool = True
    verify: tuple[Verifications, ...] = ()
    sweep: tuple[Sweeps, ...] = ()
    hunt: tuple[Hunts, ...] = ()


def read_plan(file: str | Path = FILE) -> Plan:
    """The plan in a file of TOML: in the table `tool.neuron-harness.report`, or, where there is no
    table `tool`, the whole file.

    Raises UsageError, in one line, for a file that cannot be read or says something else.
    """
    path = Path(file)
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); expected the plan of a night; run this "
            "where pyproject.toml is, or name a file with --plan"
        ) from None
    except (UnicodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} is not TOML ({error}); expected the plan of a night") from None
    return _plan(path, _table(path, found) if "tool" in found or path.name == FILE else found)


def _table(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    table: Any = found
    for name in TABLE.split("."):
        table = table.get(name) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise UsageError(
            f"{path} has no table [{TABLE}]; expected the plan of a night there; add one, or name "
            "a file with --plan"
        )
    return table


def _plan(path: Path, table: dict[str, Any]) -> Plan:
    try:
        plan = msgspec.convert(table, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: [{TABLE}]: {error}; change it there") from None
    for looks in (*plan.verify, *plan.sweep, *plan.hunt):
        for dtype in looks.dtypes:
            if dtype not in DTYPES:
                raise UsageError(
                    f"{path}: [{TABLE}]: unknown dtype {dtype!r}; expected one of "
                    f"{', '.join(DTYPES)}"
                )
        for device in looks.devices or ():
            if device not in ("cpu", "cuda"):
                raise UsageError(
                    f"{path}: [{TABLE}]: unknown device {device!r}; expected one of cpu, cuda"
                )
    return plan
