"""Exhaustive sweeps: every bit pattern of a format, or of a range, judged by the bulk oracle.

    plan        what to sweep: a range cut into blocks
    segments    where a block's figures belong: binades and thresholds of |x|
    apply       the subject on an array of bit patterns
    laws        what must hold along the way, and across the seams of blocks
    kept        whether a batch keeps all laws, or is right altogether, at a glance
    statistics  the figures of one quantity in one segment, and how they merge
    oracle      the bulk oracle as a sweep asks it
    figures     the figures of a block while it is being judged
    block       one block from its bit patterns to its summary
    summary     what was found in a range, and how it joins the next
    task        a block on its way to a worker, and back as bytes
    look        the first calls, and what they show
    engine      all blocks through an executor, with a store
    record      the finished sweep, its exit status and its JSON
    replay      the commands that show single inputs again
    table       the finished sweep as tables, and its progress

Imports torch only in `apply` and what builds on it.
"""

from __future__ import annotations
