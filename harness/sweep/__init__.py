"""Exhaustive sweeps: every bit pattern of a format, or of a range, judged by the bulk oracle.

    plan        what to sweep: a range cut into blocks
    segments    where a block's figures belong: binades and thresholds of |x|
    apply       the subject on an array of bit patterns
    laws        what must hold along the way, and across the seams of blocks
    statistics  the figures of one quantity in one segment, and how they merge
    block       one block from its bit patterns to its summary
    engine      all blocks through an executor, with a store
    record      the finished sweep, its grades and its JSON

Imports torch only in `apply` and what builds on it.
"""

from __future__ import annotations
