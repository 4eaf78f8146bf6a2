"""Inputs that made public libraries go wrong, as first inputs of a hunt.

A hunt looks at each of them and refines where one is bad. `--no-known` leaves them out: what is
found then owes nothing to what others found before.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.hexfloat import parse_hex
from reference.dyadic import from_float
from reference.formats import FORMATS, Format


class Known(NamedTuple):
    """A number x, in C99 hexadecimal, and where it was reported to be bad."""

    x: str
    source: str


KNOWN: Final = (
    Known("0x1.e126eee514cbcp-3", "tanh of glibc 2.36 in binary64, 2.206 ulps"),
    Known("-0x1.205968p+3", "pytorch/pytorch#195685, jax-ml/jax#40388"),
    Known("0x1p+2", "tenstorrent/tt-metal#35885"),
    Known("0x1.42p+3", "tenstorrent/tt-metal#35885"),
    Known("0x1.4p+1", "intel/torch-xpu-ops#3023"),
    Known("0x1.86p+7", "jax-ml/jax#764"),
    Known("0x1.7cp+7", "jax-ml/jax#764"),
    Known("0x1.634p+2", "pytorch/pytorch#172406"),
    Known("0x1.638d5p+5", "webonnx/wonnx#114, apache/tvm#16438"),
    Known("0x1.635eb851eb852p+8", "odin-lang/Odin#2088"),
    Known("-0x1.64p+6", "(e^x - e^-x) / (e^x + e^-x), e^-x overflows"),
    Known("-0x1.3p+3", "sonos/tract#84"),
    Known("0x1.5fa866p+5", "Tencent/ncnn#1769"),
    Known("0x1.2p+3", "Tencent/ncnn#6978"),
    Known("0x1.f78p-15", "ARM-software/ComputeLibrary#1002"),
    Known("0x1.4f8b58p-17", "2*sigmoid(2x) - 1"),
    Known("0x1.5798eep-27", "2*sigmoid(2x) - 1"),
    Known("-0x0.0000000000001p-1022", "moonbitlang/core#3910"),
    Known("0x1.000002p-24", "shibatch/sleef#451"),
    Known("0x1p-1", "a derivative fitted for bfloat16, used in binary32"),
    Known("0x1.8p+1", "tensorflow/tensorflow#2234"),
    Known("nan", "apache/tvm#11696, heal-research/operon#171"),
    Known("inf", "apache/tvm#11696, heal-research/operon#171"),
    Known("-inf", "apache/tvm#11696, heal-research/operon#171"),
    Known("-0x0p+0", "tenstorrent/tt-metal#46720"),
)


def known_numbers(format: Format) -> tuple[float, ...]:
    """The numbers of the table, rounded to `format` where it does not hold them."""
    widest = FORMATS[-1]
    numbers = (parse_hex(known.x, widest) for known in KNOWN)
    return tuple(x if format.contains(x) else format.round(from_float(x)) for x in numbers)
