"""The enclosures of tanh and sech^2 against mpmath's at 900 bits: attempts to break them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from mpmath import libmp

from reference.certified import curves as curves
from reference.certified.enclosures import Enclosures
from reference.dyadic import Dyadic
from reference.elementary import tanh_sech2
from tests.rationals import dyadic, fraction

Floats = npt.NDArray[np.float64]

_STEP = float(fraction(Dyadic(int(libmp.ln2_fixed(200)), -200))) / 8192


def half_steps() -> Floats:
    """Arguments around a change of table entry, where the reduced part is largest."""
    k = np.random.default_rng(1).integers(23, 1 << 21, 400)
    middle = (k + 0.5) * _STEP
    return np.concatenate([np.nextafter(middle, 0), middle, np.nextafter(middle, 9e9)])


def table_entries() -> Floats:
    """Arguments next to table entries, where the reduced part is almost 0 and the product thin."""
    k = np.random.default_rng(2).integers(23, 1 << 21, 400)
    return np.concatenate([np.nextafter(k * _STEP, 0), k * _STEP, np.nextafter(k * _STEP, 9e9)])


def around(*seams: float) -> Floats:
    """The neighbourhood of the seams between formulas."""
    steps = np.arange(-40, 41)
    return np.concatenate([seam * (1 + steps * 2.0**-52) for seam in seams])


ARGUMENTS = {
    "every binade": 2.0 ** np.random.default_rng(3).uniform(-90, 10, 1500),
    "where tanh is curved": np.random.default_rng(4).uniform(0.0, 4.0, 1500),
    "where tanh saturates": np.random.default_rng(5).uniform(17.0, 40.0, 400),
    "to the end of binary64's gradient": np.random.default_rng(6).uniform(300.0, 400.0, 300),
    "half steps of the table": half_steps(),
    "entries of the table": table_entries(),
    "seams between formulas": around(2.0**-9, 0.34, 2.0**-100, 0.5, 1.0, 300 * np.log(2) / 2),
    "the far end": around(1200.0, 1199.9, 103.9, 104.0),
    "subnormal": np.array([5e-324, 1e-320, 2.0**-1022, 2.0**-1023, 3e-310, 1e-300, 2.0**-511]),
    "largest": np.array([1201.0, 8192.0, 1e17, 1.7976931348623157e308]),
}


def exact_interval(argument: Fraction, bits: int = 900) -> dict[str, tuple[Fraction, Fraction]]:
    found = tanh_sech2(dyadic(argument), bits)
    return {
        name: (fraction(enclosure.lower), fraction(enclosure.upper))
        for name, enclosure in zip(("tanh", "sech2"), found, strict=True)
    }


def assert_encloses(
    values: Enclosures, i: int, exact: tuple[Fraction, Fraction], what: str
) -> None:
    """head + tail +- radius holds the exact value, and the invariants hold."""
    unit = Fraction(2) ** int(values.scale[i])
    middle = Fraction(float(values.head[i])) + Fraction(float(values.tail[i]))
    radius = Fraction(float(values.radius[i]))
    sign = int(values.kind[i])
    lower, upper = sorted(sign * end / unit for end in exact)
    assert 1 <= values.head[i] <= 2, what
    assert float(values.head[i] + values.tail[i]) == values.head[i], what
    assert middle - radius <= lower, what
    assert upper <= middle + radius, what


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive", "negative"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_enclosures_hold_the_exact_values(name: str, sign: float) -> None:
    """Neither function leaves its enclosure, wherever an error of the evaluation would peak."""
    arguments = sign * ARGUMENTS[name]
    with np.errstate(all="ignore"):
        pairs = curves.tanh_sech2(arguments)
    for i, a in enumerate(arguments.tolist()):
        exact = exact_interval(Fraction(a))
        assert_encloses(pairs.tanh, i, exact["tanh"], f"tanh({a.hex()})")
        assert_encloses(pairs.sech2, i, exact["sech2"], f"sech2({a.hex()})")


def test_enclosures_hold_the_exact_values_of_pairs() -> None:
    """The same where the argument has a low part of up to half an ulp, of either sign."""
    rng = np.random.default_rng(8)
    high = np.concatenate(list(ARGUMENTS.values())[:8])
    high = high[rng.permutation(high.size)[:2500]] * rng.choice([-1.0, 1.0], 2500)
    low = np.spacing(np.abs(high)) * rng.choice([-0.5, -0.25, 0.37, 0.5], high.size)
    with np.errstate(all="ignore"):
        pairs = curves.tanh_sech2(high, low)
    for i, (a, b) in enumerate(zip(high.tolist(), low.tolist(), strict=True)):
        exact = exact_interval(Fraction(a) + Fraction(b))
        assert_encloses(pairs.tanh, i, exact["tanh"], f"tanh({a.hex()} + {b.hex()})")
        assert_encloses(pairs.sech2, i, exact["sech2"], f"sech2({a.hex()} + {b.hex()})")


@pytest.mark.parametrize("end", [-1, 1], ids=["least argument", "greatest argument"])
def test_enclosures_hold_what_an_uncertain_argument_may_be(end: int) -> None:
    """A true argument at either end of its uncertainty stays inside."""
    rng = np.random.default_rng(9)
    argument = 2.0 ** rng.uniform(-30, 10, 1500) * rng.choice([-1.0, 1.0], 1500)
    uncertainty = np.minimum(np.abs(argument) / 2, 1.0) * 2.0 ** rng.uniform(-60, -12, 1500)
    with np.errstate(all="ignore"):
        pairs = curves.tanh_sech2(argument, np.zeros(1500), uncertainty)
    for i, (a, e) in enumerate(zip(argument.tolist(), uncertainty.tolist(), strict=True)):
        exact = exact_interval(Fraction(a) + end * Fraction(e))
        assert_encloses(pairs.tanh, i, exact["tanh"], f"tanh({a.hex()} +- {e.hex()})")
        assert_encloses(pairs.sech2, i, exact["sech2"], f"sech2({a.hex()} +- {e.hex()})")


def test_hopeless_arguments_are_left_open() -> None:
    """An uncertainty of more than 2^-10 encloses nothing, unless the tail is certain anyway."""
    argument = np.array([1.0, 1.0, 1e6])
    tanh, sech2 = curves.tanh_sech2(argument, np.zeros(3), np.array([0.002, 1e300, 10.0]))
    assert [True, True, False] == np.isinf(tanh.radius).tolist()
    assert [True, True, False] == np.isinf(sech2.radius).tolist()


def test_radii_are_what_the_docstring_says() -> None:
    """Below 2^-67 everywhere and below 2^-73 beyond 1: a bound loosened later is a change."""
    for bound, arguments in (
        (2.0**-67, 2.0 ** np.random.default_rng(10).uniform(-100, 9, 20000)),
        (2.0**-73, np.random.default_rng(11).uniform(1, 370, 20000)),
    ):
        for values in curves.tanh_sech2(arguments):
            assert (values.radius / values.head).max() <= bound


@pytest.mark.parametrize("a", [5e-324, 1e-200, 1e-30, 1e-10, 0.1, 20.0, 60.0, 300.0, 1e5, 1e300])
def test_strict_inequalities_are_decided(a: float) -> None:
    """|tanh a| < |a|, tanh a < 1 and sech^2 a < 1, also where the values round to those bounds."""
    tanh, sech2 = curves.tanh_sech2(np.array([a]))
    for values, bound in ((tanh, min(Fraction(a), Fraction(1))), (sech2, Fraction(1))):
        upper = sum(Fraction(float(part[0])) for part in (values.head, values.tail, values.radius))
        assert upper * Fraction(2) ** int(values.scale[0]) <= bound


def test_special_arguments() -> None:
    """tanh(+-0) = +-0, tanh(+-inf) = +-1, sech^2(+-0) = 1, sech^2(+-inf) = +0, NaN stays NaN."""
    argument = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.25])
    with np.errstate(all="ignore"):
        tanh, sech2 = curves.tanh_sech2(argument)
    assert ["0.0", "-0.0", "1.0", "-1.0", "nan", "1.0"] == [str(k) for k in tanh.kind.tolist()]
    assert ["1.0", "1.0", "0.0", "0.0", "nan", "1.0"] == [str(k) for k in sech2.kind.tolist()]
    ones = [
        (values.head[i], values.tail[i], values.radius[i], values.scale[i])
        for values, i in ((tanh, 2), (tanh, 3), (sech2, 0), (sech2, 1))
    ]
    assert [(1.0, 0.0, 0.0, 0)] * 4 == ones


def test_arguments_are_not_written_to() -> None:
    """The caller's array keeps its bits."""
    argument = np.array([0.0, np.nan, 0.1, -3.0, 2000.0])
    before = argument.tobytes()
    with np.errstate(all="ignore"):
        curves.tanh_sech2(argument)
    assert before == argument.tobytes()
