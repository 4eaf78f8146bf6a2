"""What is timed: a subject on arguments of one dtype and length, or the certified oracle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from harness.errors import UsageError

DTYPES: Final = ("float16", "bfloat16", "float32", "float64")
#: Long enough that the kernels count, short enough to stay in a core's own cache: beyond it the
#: pages that a process happens to get move times by a tenth and more.
SUITE_LENGTH: Final = 4096
#: For a subject of one's own: what a call costs, and what an element costs.
LENGTHS: Final = (8, SUITE_LENGTH)


@dataclass(frozen=True, slots=True)
class Workload:
    """One line of a comparison. `recipe` is "subject" or "oracle"; `n` the length of the vectors;
    `subject` and `kind` are as the command line takes them."""

    name: str
    recipe: str
    subject: str
    kind: str | None
    dtype: str
    n: int
    device: str

    def as_json(self) -> dict[str, Any]:
        """The fields, as the worker takes them."""
        return asdict(self)


def subject_workload(
    subject: str, dtype: str, n: int, *, kind: str | None = None, device: str = "cpu"
) -> Workload:
    """A subject's call; a neuron's is forward and backward."""
    on = "" if device == "cpu" else f" {device}"
    return Workload(f"{subject} {dtype} n={n}{on}", "subject", subject, kind, dtype, n, device)


def default_suite(subjects: Iterable[str]) -> tuple[Workload, ...]:
    """Every built-in subject in float32, the textbook neuron in the other formats, the oracle."""
    return (
        *(subject_workload(subject, "float32", SUITE_LENGTH) for subject in subjects),
        *(
            subject_workload("textbook", dtype, SUITE_LENGTH)
            for dtype in DTYPES
            if dtype != "float32"
        ),
        *(
            Workload(f"oracle {dtype}", "oracle", "oracle", None, dtype, 0, "cpu")
            for dtype in ("float32", "float64")
        ),
    )


def grid(
    subject: str,
    dtypes: Sequence[str],
    lengths: Sequence[int],
    *,
    kind: str | None,
    device: str,
) -> tuple[Workload, ...]:
    """One subject in each dtype at each length."""
    return tuple(
        subject_workload(subject, dtype, n, kind=kind, device=device)
        for dtype in dtypes
        for n in lengths
    )


def against(workloads: Sequence[Workload], subject: str, kind: str | None) -> tuple[Workload, ...]:
    """The same workloads, under the same names, of another subject."""
    return tuple(replace(each, subject=subject, kind=kind) for each in workloads)


def without(workloads: Sequence[Workload], names: Iterable[str]) -> tuple[Workload, ...]:
    """The workloads but those named, by their own name or their subject's.

    Raises UsageError for a name that is none, and if nothing is left.
    """
    left = tuple(workloads)
    for name in names:
        kept = tuple(each for each in left if name not in (each.name, each.subject))
        if len(kept) == len(left):
            raise UsageError(
                f"--without {name!r} names no workload; expected one of "
                f"{', '.join(repr(each.name) for each in left)}, or a subject among them"
            )
        left = kept
    if not left:
        raise UsageError("--without leaves no workload; expected one or more to measure")
    return left
