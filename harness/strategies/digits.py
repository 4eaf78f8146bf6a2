"""Bytes as a source of bounded integers, laid out so that hypothesis shrinks them well."""

from __future__ import annotations


class Digits:
    """Reads integers off a string of bytes, from the front; past the end it reads zeros.

    Each integer takes whole bytes, most significant first, and rises with them. So hypothesis,
    which shrinks bytes towards zero from the front, shrinks every integer towards zero by itself.
    """

    def __init__(self, entropy: bytes) -> None:
        self._entropy = entropy
        self._position = 0

    def below(self, count: int) -> int:
        """An integer in [0, count), for a count >= 1: each equally likely, to about 1 in 256."""
        width = (count - 1).bit_length() + 7 >> 3
        raw = self._entropy[self._position : self._position + width]
        self._position += width
        missing = width - len(raw)
        number = int.from_bytes(raw, "big") << 8 * missing
        return number * count >> 8 * width
