"""A self-test as a page of the documentation: docs/selftest.md is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Final

from harness.selftest.contest import CONTESTANTS, RIVALS
from harness.selftest.run import Selftest
from harness.selftest.tally import Count, cell, false_alarms, flagged_by, named, totals

_WIDTH: Final = 100

_INTRODUCTION: Final = """\
# What the harness catches, and what other tests catch

`neuron-harness selftest` runs a bank of faulty neurons, activations and raw gradients, each a small
model of a fault that exists in the field, and of sound ones that are written unlike the textbook.
It shows what this harness makes of each, and what four other tests do.

    neuron-harness selftest                          everything
    neuron-harness selftest twice-logistic dot       these two
    neuron-harness selftest --group structure --dtype float16,bfloat16 --budget 2 --jobs 4

It exits with 0 if the harness catches every fault in every dtype in which it is one and flags no
sound subject, and else with 1 and the names of those that were missed or flagged.

This page is written by `neuron-harness selftest --page docs/selftest.md`.
"""

_RULES: Final = """\
## The rules

- Subject by subject and dtype by dtype, each test gets the same time: as long as the harness takes
  for its examples, the shrinking of what it finds included, or `--budget` seconds.
- A rival repeats its test on fresh random inputs until it has caught the subject or its time is up;
  it is run to its end once, however long that takes. An exception counts as a catch: it would turn
  a test red.
- What a subject does to torch's global state is put back after every round, and inputs come from a
  generator of the rival's own, so no fault can spoil the tests of others.
- Where a rival cannot judge at all, as gradcheck outside float64, it is not held against it: its
  counts are of what it could judge, and `n/a` stands where that is nothing.
- A rival is worth what it tells apart. What it flags among the sound subjects is shown beside what
  it catches, since a test that is always red would catch every fault.
"""

_ADDING: Final = """\
## How a fault is added

A fault is a function in one of the modules of `harness/bank/`, with a decorator from
`harness/bank/fault.py`. Its name becomes that of the fault, the first line of its docstring what is
wrong; the decorator takes its group and kind, where the like of it was seen, and for each dtype in
which it is a fault a case that shows it:

    @fault(Group.CALCULUS, Kind.ACTIVATION, "hand-written backward passes", at(0.5))
    def wrong_sign(x: Tensor) -> Tensor:
        \"\"\"g * (y*y - 1): the difference the other way round.\"\"\"
        return custom(x, torch.tanh, lambda g, x, y: g * (y.square() - 1))

`shows_as` names what may catch it, if not its grade; `elsewhere` says why it is no fault in the
other dtypes. The module collects it, and the tests of the bank check that its witnesses show it. A
sound subject is added likewise, with `sound` and the grade that it earns.
"""


def to_markdown(selftest: Selftest) -> str:
    """The page."""
    return "\n".join(
        [
            _INTRODUCTION,
            rivals_section(),
            _RULES,
            _results_section(selftest),
            _ADDING,
            _faults_section(selftest),
        ]
    )


def rivals_section() -> str:
    """Every test that takes part, with its settings."""
    parts = [
        "## The tests\n",
        "**harness**\n",
        fill(
            "`harness.verify` at `--examples` cases per dtype, 500 unless asked otherwise. A fault "
            "is caught if it is graded wrong, raises, or breaks a required law; a sound subject is "
            "flagged if it falls short of the grade that it states, raises, or breaks a law. The "
            "table names which.",
            _WIDTH,
        ),
    ]
    for rival in RIVALS:
        parts += [f"\n**{rival.name}**\n", fill(rival.settings, _WIDTH)]
    return "\n".join([*parts, ""])


def _results_section(selftest: Selftest) -> str:
    settings, environment = selftest.settings, selftest.environment
    budget = "the harness's own time" if settings.budget is None else f"{settings.budget:g} seconds"
    state = "" if selftest.stopped is None else f" The run is incomplete: {selftest.stopped}."
    parts = [
        "## What was caught\n",
        fill(
            f"{len(selftest.faults)} faults and {len(selftest.sound)} sound subjects; "
            f"{settings.examples} examples for the harness, {budget} for each rival, per subject "
            f"and dtype; seed {settings.seed}; torch {environment['torch']} on "
            f"{environment['machine']}.{state}",
            _WIDTH,
        ),
    ]
    rows = totals(selftest)
    if rows:
        parts += ["\nPairs of a fault and a dtype, caught of judged:\n", _counts("", rows), ""]
    alarms = false_alarms(selftest)
    if alarms:
        parts += ["False alarms, sound subjects flagged of judged:\n", _counts("", alarms), ""]
        parts += [
            f"- {name} flags {', '.join(flagged)}"
            for name in CONTESTANTS
            if (flagged := flagged_by(name, selftest))
        ]
    parts += [f"- not run: {name}: {lacks}" for name, lacks in selftest.skipped.items()]
    parts += [f"- missed by the harness: {name}" for name in named(selftest.missed)]
    return "\n".join([*parts, ""])


def _faults_section(selftest: Selftest) -> str:
    parts = [
        "## Fault by fault\n",
        "Dtypes in which it was caught, of those in which it is a fault and could be judged, and "
        "by what.\n",
    ]
    for group in dict.fromkeys(fault.group for fault in selftest.faults):
        rows = [
            [f"`{fault.name}`: {fault.what}", *(cell(name, trials) for name in CONTESTANTS)]
            for fault in selftest.faults
            if fault.group == group and (trials := selftest.of(fault))
        ]
        parts += [f"### {group.capitalize()}\n", _table(["fault", *CONTESTANTS], rows), ""]
    return "\n".join(parts)


def _counts(head: str, rows: Mapping[str, Sequence[Count]]) -> str:
    cells = [[name, *map(str, counts)] for name, counts in rows.items()]
    return _table([head, *CONTESTANTS], cells)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)


def _escaped(text: str) -> str:
    # What is code stands between backticks already; in the rest, | and * mean something.
    return text.replace("|", "\\|").replace("*", "\\*")
