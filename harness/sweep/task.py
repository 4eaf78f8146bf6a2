"""A block on its way to a worker and its summary on the way back and into the store."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import msgspec
import torch

from harness.hexfloat import hex_text
from harness.subjects import Kind, Subject, load
from harness.sweep.apply import probe
from harness.sweep.block import sweep_block
from harness.sweep.plan import Block, Plan
from harness.sweep.summary import Summary

#: glibc's names for its tunables (malloc.h).
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 1 << 28

_loaded: dict[tuple[str, Kind, str, str], Subject] = {}


@dataclass(frozen=True, slots=True)
class Task:
    """One block of a plan. `plan` has a subject without a function if it is to be loaded by name
    where the work is done, because not every callable can be pickled."""

    plan: Plan
    block: Block
    by_name: bool

    def __str__(self) -> str:
        (x, *_), (last, *_) = (
            self.plan.point(self.plan.key(at, self.block.sides[0]))
            for at in (self.block.start, self.block.stop - 1)
        )
        return f"{self.plan.subject.name} from {hex_text(x)} to {hex_text(last)}"


def portable(plan: Plan) -> Plan:
    """The plan with its subject's function left out, to be loaded by name."""
    subject = plan.subject
    return replace(
        plan,
        subject=Subject(subject.name, subject.kind, _left_out),
        locator=plan.locator or subject.name,
    )


def carry_out(task: Task) -> bytes:
    """The summary of a task's block, encoded. For executors: runs anywhere."""
    plan = task.plan
    if task.by_name:
        plan = in_worker(plan)
    threads = torch.get_num_threads()
    # One: blocks run side by side, and the threads of one would disturb the others.
    torch.set_num_threads(1)
    try:
        return encode(sweep_block(plan, task.block))
    finally:
        torch.set_num_threads(threads)


def encode(summary: Summary) -> bytes:
    """A summary as bytes (msgpack), exactly."""
    return msgspec.msgpack.encode(summary)


def decode(content: bytes) -> Summary:
    """The inverse of `encode`. Raises ValueError for anything else."""
    if not isinstance(content, bytes):
        raise ValueError(f"not the record of a block: {type(content).__name__}, expected bytes")
    try:
        return msgspec.msgpack.decode(content, type=Summary)
    except msgspec.DecodeError as error:
        raise ValueError(f"not the record of a block: {error}") from None


def in_worker(plan: Plan) -> Plan:
    """A portable plan with its subject loaded here, once, and called, once: torch does much of its
    importing in the first call.

    Raises SubjectError if it cannot be loaded here, CannotVerify if it cannot be swept.
    """
    name = plan.locator or plan.subject.name
    place = (name, plan.subject.kind, plan.dtype, plan.device)
    subject = _loaded.get(place)
    if subject is None:
        _prepare_worker()
        subject = load(name, plan.subject.kind)
        probe(replace(plan, subject=subject))
        _loaded[place] = subject
    return replace(plan, subject=subject)


@lru_cache
def _prepare_worker() -> None:
    """Let malloc keep freed memory: by default glibc gives each large tensor back to the system and
    pays for its pages anew, a quarter of a batch's time."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def _left_out() -> None:
    raise AssertionError("a subject that is loaded by name was called before that")
