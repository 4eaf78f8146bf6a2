"""C99 hexadecimal text of floats, written and read on integers.

`float.hex` and `float.fromhex` scale by multiplication, which turns subnormals into zeros in a
process that flushes them; a counterexample must not change on its way to the reader.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from reference.dyadic import Dyadic, from_float, subtract
from reference.formats import Format

_TEXT: Final = re.compile(
    r"(?P<sign>[+-]?)0x(?P<whole>[0-9a-f]*)(?:\.(?P<part>[0-9a-f]*))?(?:p(?P<power>[+-]?\d{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
_WORDS: Final = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
#: Longest text read: twice what 53 bits need, far less than what would make the integers slow.
_LONGEST: Final = 64


def hex_text(value: float) -> str:
    """`value` as `float.hex` spells it: "0x1.8000000000000p+1", "nan", "inf", "-inf"."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    sign = "-" if bits >> 63 else ""
    biased = bits >> 52 & 0x7FF
    fraction = bits & ((1 << 52) - 1)
    if biased == 0x7FF:
        return "nan" if fraction else f"{sign}inf"
    if not biased and not fraction:
        return f"{sign}0x0.0p+0"
    return f"{sign}0x{int(biased > 0)}.{fraction:013x}p{(biased or 1) - 1023:+d}"


def parse_hex(text: str, format: Format) -> float:
    """The member of `format` that `text` spells exactly.

    Raises ValueError, in one line, for text that is not a hexadecimal float and for a number that
    would have to be rounded.
    """
    if text in _WORDS:
        return _WORDS[text]
    match = _TEXT.fullmatch(text) if len(text) <= _LONGEST else None
    digits = (match["whole"] + (match["part"] or "")) if match else ""
    if match is None or not digits:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        raise ValueError(
            f"{shown!r} is not a hexadecimal float; "
            "write it like '0x1.8p+1' (float.hex), 'nan', 'inf' or '-inf'"
        )
    negative = match["sign"] == "-"
    exponent = int(match["power"] or 0) - 4 * len(match["part"] or "")
    mantissa = int(digits, 16)
    if not mantissa:
        return -0.0 if negative else 0.0
    exact = Dyadic(-mantissa if negative else mantissa, exponent)
    rounded = format.round(exact)
    if rounded in (_WORDS["inf"], _WORDS["-inf"]):
        raise ValueError(
            f"{text!r} is beyond the largest {format.name} number, "
            f"{hex_text(format.round(format.largest_finite))}; write 'inf' for infinity"
        )
    if subtract(from_float(rounded), exact).mantissa:
        raise ValueError(
            f"{text!r} is not a {format.name} number; the nearest is {hex_text(rounded)!r}"
        )
    return rounded
