"""Garbage collection that keeps out of the way of a verification.

One makes millions of tuples and few cycles. Python looks through the youngest objects after every
700 that are made, and now and then through all that torch consists of: a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNGEST: Final = 50_000


@contextmanager
def rare_collection() -> Iterator[None]:
    """Within this what was there before is left out of collections, which are rare. Afterwards all
    is as it was; a collector that is switched off, or has objects frozen, is left alone."""
    thresholds = gc.get_threshold()
    if not thresholds[0] or gc.get_freeze_count():
        yield
        return
    gc.freeze()
    gc.set_threshold(max(_YOUNGEST, thresholds[0]), *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
