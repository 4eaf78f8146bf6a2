"""Structural and metamorphic laws: what must hold beyond accuracy.

Laws of a call are seen in each evaluation; those on signs and bounds are read from its results; the
rest call the subject again on a transformed case, and take turns.
"""

from __future__ import annotations

from typing import Final

from harness.laws.lanes import LANES
from harness.laws.law import CallFailed, Check, Law, Look, Seen, Values
from harness.laws.mismatch import MISMATCH_RAISES
from harness.laws.monotone import OUTPUT_MONOTONE
from harness.laws.of_a_call import (
    GLOBAL_STATE,
    INPUTS_UNTOUCHED,
    REPEATABLE,
    RESULTS_OWN_MEMORY,
    STRUCTURE,
)
from harness.laws.rotation import Rotation
from harness.laws.signs import GRADIENT_SIGN, OUTPUT_BOUNDED, ZERO_SIGN
from harness.laws.symmetries import (
    DOUBLING,
    GRADIENT_EVEN,
    GRADIENT_ODD,
    OUTPUT_ODD,
    PERMUTATION,
    SWAP,
)
from harness.laws.within_grade import LAYOUT, ZERO_PADDING

#: Every law, the required ones first.
LAWS: Final = (
    STRUCTURE,
    INPUTS_UNTOUCHED,
    RESULTS_OWN_MEMORY,
    REPEATABLE,
    GLOBAL_STATE,
    LAYOUT,
    OUTPUT_BOUNDED,
    GRADIENT_SIGN,
    ZERO_PADDING,
    ZERO_SIGN,
    SWAP,
    OUTPUT_ODD,
    GRADIENT_EVEN,
    GRADIENT_ODD,
    DOUBLING,
    PERMUTATION,
    LANES,
    OUTPUT_MONOTONE,
    MISMATCH_RAISES,
)

__all__ = ["LAWS", "CallFailed", "Check", "Law", "Look", "Rotation", "Seen", "Values"]
