"""From what the user names to the sides of a comparison."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import torch

from harness.bench.checkout import build as build_in
from harness.bench.checkout import commit, copy_commit, copy_tree, repository
from harness.bench.gate import GatePlan
from harness.bench.processes import Side
from harness.bench.rule import Rule
from harness.bench.runner import Effort
from harness.bench.turn import CONTROL, NEW, OLD
from harness.bench.workload import (
    DTYPES,
    LENGTHS,
    Workload,
    against,
    default_suite,
    grid,
)
from harness.bench.workload import without as leave_out
from harness.errors import CannotVerify, UsageError
from harness.subjects import builtin_names, load


def make_plan(
    subjects: Sequence[str],
    *,
    revision: str | None,
    kind: str | None,
    dtypes: Sequence[str] | None,
    lengths: Sequence[int] | None,
    device: str,
    without: Collection[str],
    build: str | None,
    folder: Path,
    seed: int,
    pairs: int,
    rule: Rule,
    effort: Effort,
    threads: int,
) -> GatePlan:
    """The plan for a suite or one subject against a revision, for two subjects, or, with neither,
    for the working tree against itself. Copies go into `folder`, an existing one.

    Raises UsageError, SubjectError or CannotVerify for what cannot be compared.
    """
    require_names(dtypes, device)
    if not subjects and (dtypes, lengths, kind) != (None, None, None):
        raise UsageError(
            "--dtype, --n and --as are of a subject's; expected one; name it, or leave them out"
        )
    if subjects:
        workloads = _workloads(subjects[0], kind, dtypes, lengths, device)
    else:
        workloads = default_suite(builtin_names())
    workloads = leave_out(workloads, without)
    if len(subjects) == 2:
        here = Path.cwd()
        load(subjects[1], kind)
        sides = {
            OLD: Side(subjects[0], here, (), workloads),
            CONTROL: Side(subjects[0], here, (), workloads),
            NEW: Side(subjects[1], here, (), against(workloads, subjects[1], kind)),
        }
    else:
        sides = _copies(revision, workloads, build, folder, whole_suite=not subjects)
    return GatePlan(
        sides[OLD],
        sides[CONTROL],
        sides[NEW],
        seed=seed,
        pairs=pairs,
        rule=rule,
        effort=effort,
        threads=threads,
        without=without,
        whole_suite=not subjects,
    )


def require_names(dtypes: Sequence[str] | None, device: str) -> None:
    """Raises UsageError for an unknown dtype or device, CannotVerify for a missing device."""
    for dtype in dtypes or ():
        if dtype not in DTYPES:
            raise UsageError(f"unknown dtype {dtype!r}; expected one of {', '.join(DTYPES)}")
    if device not in ("cpu", "cuda"):
        raise UsageError(f"unknown device {device!r}; expected one of cpu, cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise CannotVerify(
            f"device 'cuda' was asked for, but this torch ({torch.__version__}) sees no CUDA "
            "device; leave it out, or install a CUDA build of torch on a machine with one"
        )


def _workloads(
    name: str,
    kind: str | None,
    dtypes: Sequence[str] | None,
    lengths: Sequence[int] | None,
    device: str,
) -> tuple[Workload, ...]:
    subject = load(name, kind)
    return grid(
        name,
        tuple(dict.fromkeys(dtypes or subject.dtypes or DTYPES)),
        tuple(dict.fromkeys(lengths or LENGTHS)),
        kind=kind,
        device=device,
    )


def _copies(
    revision: str | None,
    workloads: tuple[Workload, ...],
    build: str | None,
    folder: Path,
    *,
    whole_suite: bool,
) -> dict[str, Side]:
    """Three copies under names of one length, since even that of a folder may move a time."""
    top = repository(Path.cwd())
    if whole_suite and not (top / "harness" / "bench").is_dir():
        raise CannotVerify(
            f"{top} is no clone of neuron-harness, whose suite this is; expected a SUBJECT of its "
            "own; name one"
        )
    folders = {side: folder / letter for side, letter in ((OLD, "a"), (CONTROL, "b"), (NEW, "c"))}
    found = None if revision is None else commit(top, revision)
    for side, to in folders.items():
        if side == NEW or found is None:
            copy_tree(top, to)
        else:
            copy_commit(top, found, to)
    if build is not None:
        build_in(build, list(folders.values()))
    inside = Path.cwd().resolve().relative_to(top.resolve())
    labels = {
        NEW: "the working tree",
        OLD: "the working tree" if found is None else f"{revision} ({found[:12]})",
    }
    sides = {}
    for side, to in folders.items():
        source = (to / "src",) if (to / "src").is_dir() else ()
        directory = to / inside
        directory.mkdir(parents=True, exist_ok=True)
        sides[side] = Side(
            labels.get(side, labels[OLD]), directory, (to, *source, directory), workloads
        )
    return sides
