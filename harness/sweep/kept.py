"""Whether a batch keeps every law, or is right altogether, at a glance: the usual case in a sweep.

Each result is read once, in pieces that stay in the processor's second cache. The answer no says
only that `laws` and the oracle must look closer.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.sweep.apply import Arguments, Results
from reference.certified.alike import Plain

#: Elements a piece: 256 KiB an array of float32.
_PIECE: Final = 1 << 16

Bits = NDArray[np.unsignedinteger[Any]]


class Glance:
    """Looks at batches of float32 or float64; scratch for one thread."""

    def __init__(self, width: int) -> None:
        self._sign = np.dtype(f"u{width // 8}").type(1 << width - 1)
        self._scratch = np.empty(_PIECE, f"u{width // 8}")
        self._flags = np.empty(_PIECE, np.bool_)

    def all_kept(self, given: Arguments, positive: Results, negative: Results) -> bool:
        """Whether an activation or a neuron keeps every law but that of lanes at rising magnitudes
        `given` and, by `negative`, at the same with their sign bits set; and none is NaN.

        What the results for -x must be is known from those for x, so that the laws of symmetry
        carry all others over.
        """
        size = given.x.size
        return all(
            self._piece_kept(
                given.part(start, start + _PIECE),
                positive.part(start, start + _PIECE),
                negative.part(start, start + _PIECE),
            )
            and self._seam_kept(positive, start)
            for start in range(0, size, _PIECE)
        )

    def all_plain(self, plain: Plain, given: Arguments, results: Results) -> bool:
        """Whether results of one side are just those of a plain range, and the factors of a neuron
        with weight 1 follow from them. All laws of `laws` on values and factors are then kept, and
        if so on either side those of symmetry.
        """
        return all(
            self._piece_plain(
                plain, given.part(start, start + _PIECE), results.part(start, start + _PIECE)
            )
            for start in range(0, given.x.size, _PIECE)
        )

    def _piece_plain(self, plain: Plain, given: Arguments, results: Results) -> bool:
        x = given.x
        sign = x[0] & self._sign
        gradient = self._bits(plain.gradient)
        if results.output is None:
            return self._equal(results.gradient, gradient)
        # d = 1 where y = x, else 0: the weight gradient d x is x or a zero of its sign.
        output, product = (x, x) if plain.identity else (self._bits(1.0) | sign, sign)
        factors = results.input_gradient, results.weight_gradient
        return (
            self._equal(results.output, output)
            and self._equal(results.gradient, gradient)
            and (factors[0] is None or self._equal(factors[0], gradient))
            and (factors[1] is None or self._equal(factors[1], product))
        )

    def _bits(self, value: float) -> np.unsignedinteger[Any]:
        bits: np.unsignedinteger[Any] = (
            np.dtype(f"f{self._sign.itemsize}").type(value).view(self._sign.dtype)
        )
        return bits

    def _piece_kept(self, given: Arguments, positive: Results, negative: Results) -> bool:
        y, d = positive.output, positive.gradient
        assert y is not None and negative.output is not None
        return (
            self._opposite(y, negative.output)
            and self._bounded_and_monotone(_floats(y))
            and self._equal(d, negative.gradient)
            # NaN compares false.
            and bool(_floats(d).min() >= 0)
            and self._factors_kept(given.x, positive, negative)
        )

    def _factors_kept(self, x: Bits, positive: Results, negative: Results) -> bool:
        """With w = 1 the input gradient is d, the weight gradient d * x rounded once."""
        d = positive.gradient
        if positive.input_gradient is None:
            return True
        assert positive.weight_gradient is not None
        assert negative.input_gradient is not None and negative.weight_gradient is not None
        product = self._scratch[: d.size]
        np.multiply(_floats(d), _floats(x), out=_floats(product))
        return (
            self._equal(d, positive.input_gradient)
            and self._equal(d, negative.input_gradient)
            and self._equal(product, positive.weight_gradient)
            and self._opposite(positive.weight_gradient, negative.weight_gradient)
        )

    def _bounded_and_monotone(self, y: NDArray[np.floating[Any]]) -> bool:
        """Where no y is below the one before, the first and the last bound them all."""
        steps = np.greater_equal(y[1:], y[:-1], out=self._flags[: y.size - 1])
        return bool(steps.all() and y[0] >= -1 and y[-1] <= 1)

    def _seam_kept(self, positive: Results, start: int) -> bool:
        assert positive.output is not None
        y = _floats(positive.output)
        return start == 0 or bool(y[start] >= y[start - 1])

    def _equal(self, a: Bits, b: Bits | np.unsignedinteger[Any]) -> bool:
        return bool(np.equal(a, b, out=self._flags[: a.size]).all())

    def _opposite(self, a: Bits, b: Bits) -> bool:
        """Whether they differ in their signs and in nothing else."""
        difference = np.bitwise_xor(a, b, out=self._scratch[: a.size])
        return bool(np.equal(difference, self._sign, out=self._flags[: a.size]).all())


def _floats(bits: Bits) -> NDArray[np.floating[Any]]:
    floats: NDArray[np.floating[Any]] = bits.view(f"f{bits.itemsize}")
    return floats
