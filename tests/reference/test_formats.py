"""Formats against NumPy's casts, exhaustive lists of members, and IEEE 754's own words."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import copysign, inf, isinf, isnan, nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.dyadic import Dyadic, from_float
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from tests.rationals import binade, dyadic, fraction, members, nearest_member

NARROW = (BINARY16, BFLOAT16)
each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
each_narrow_format = pytest.mark.parametrize("format", NARROW, ids=lambda format: format.name)

dyadics = st.builds(Dyadic, st.integers(-(2**70), 2**70), st.integers(-1200, 1000))


def magnitudes(format: Format) -> st.SearchStrategy[Dyadic]:
    """Dyadics from far under the smallest subnormal of `format` to far over its largest number."""
    return st.builds(
        lambda mantissa, place: Dyadic(mantissa, place - mantissa.bit_length()),
        st.integers(-(2**90), 2**90),
        st.integers(format.least_ulp_exponent - 4, format.emax + 4),
    )


def around_midpoints(format: Format) -> st.SearchStrategy[Dyadic]:
    """Midpoints of neighbouring members, hit exactly or missed by one part in 2^60 of an ulp."""

    def midpoint(ordinal: int, miss: int, negative: bool) -> Dyadic:
        below = from_float(format.from_ordinal(ordinal))
        quantum = format.ulp_exponent(below)
        mantissa = (below.mantissa << 61) >> (quantum - below.exponent)
        mantissa += (1 << 60) + miss
        return Dyadic(-mantissa if negative else mantissa, quantum - 61)

    largest = format.ordinal(inf) - 1
    smallest_normal = 1 << format.precision - 1
    return st.builds(
        midpoint,
        st.integers(0, largest)
        | st.integers(0, 2 * smallest_normal)
        | st.integers(largest - smallest_normal, largest),
        st.sampled_from([-1, 0, 1]),
        st.booleans(),
    )


# What the standard says.


@pytest.mark.parametrize(
    ("format", "largest", "normal", "subnormal", "epsilon"),
    [
        (BINARY16, 65504.0, 2.0**-14, 2.0**-24, 2.0**-10),
        (BFLOAT16, 3.3895313892515355e38, 2.0**-126, 2.0**-133, 2.0**-7),
        (BINARY32, 3.4028234663852886e38, 2.0**-126, 2.0**-149, 2.0**-23),
        (BINARY64, 1.7976931348623157e308, 2.0**-1022, 2.0**-1074, 2.0**-52),
    ],
    ids=lambda value: value.name if isinstance(value, Format) else "",
)
def test_landmarks(
    format: Format, largest: float, normal: float, subnormal: float, epsilon: float
) -> None:
    """Largest, smallest normal, smallest subnormal and 2u are those of IEEE 754 and bfloat16."""
    landmarks = (format.largest_finite, format.smallest_normal, format.smallest_subnormal)
    assert [largest, normal, subnormal] == [float(fraction(each)) for each in landmarks]
    assert Fraction(epsilon) == 2 * fraction(format.unit_roundoff)
    assert fraction(format.overflow_value) == 2 ** Fraction(format.emax + 1)
    halfway = (Fraction(largest) + fraction(format.overflow_value)) / 2
    assert halfway == fraction(format.overflow_threshold)


# Bit patterns.


@each_narrow_format
def test_every_bit_pattern_survives_the_round_trip(format: Format) -> None:
    """Each of the 2^16 patterns comes back from its value; NaNs come back as the quiet NaN."""
    quiet = format.to_bits(nan)
    for bits in range(1 << 16):
        value = format.from_bits(bits)
        assert (quiet if isnan(value) else bits) == format.to_bits(value)


def test_every_binary16_pattern_is_numpys_float16() -> None:
    """The 2^16 values are NumPy's, and only NaNs are NaN."""
    expected = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    actual = np.array([BINARY16.from_bits(bits) for bits in range(1 << 16)])
    np.testing.assert_array_equal(expected, actual)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(expected[numbers]), np.signbit(actual[numbers]))


def test_every_bfloat16_pattern_is_the_upper_half_of_a_float32() -> None:
    """The 2^16 values are those of the binary32 numbers whose lower 16 bits are 0."""
    patterns = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    with np.errstate(invalid="ignore"):
        expected = patterns.view(np.float32).astype(np.float64)
    actual = np.array([BFLOAT16.from_bits(bits) for bits in range(1 << 16)])
    np.testing.assert_array_equal(expected, actual)


@pytest.mark.parametrize(
    ("format", "code", "word"), [(BINARY32, "f", "I"), (BINARY64, "d", "Q")], ids=["32", "64"]
)
@given(data=st.data())
def test_wide_patterns_are_structs(
    format: Format, code: str, word: str, data: st.DataObject
) -> None:
    """Patterns of binary32 and binary64 decode and encode as the C types do."""
    bits = data.draw(st.integers(0, 2**format.width - 1))
    (expected,) = struct.unpack(f"<{code}", struct.pack(f"<{word}", bits))
    actual = format.from_bits(bits)
    if isnan(expected):
        assert isnan(actual)
    else:
        assert (expected, copysign(1, expected)) == (actual, copysign(1, actual))
        assert bits == format.to_bits(actual)


@each_format
def test_the_signs_of_zero_have_their_patterns(format: Format) -> None:
    """-0 is the sign bit alone, +0 no bit at all."""
    assert [0, 1 << format.width - 1] == [format.to_bits(0.0), format.to_bits(-0.0)]
    assert copysign(1, format.from_bits(1 << format.width - 1)) == -1


@each_format
@pytest.mark.parametrize("offset", [-1, None], ids=["negative", "too wide"])
def test_a_pattern_out_of_range_is_refused(format: Format, offset: int | None) -> None:
    """A pattern that does not fit the width is an error that names the range."""
    bits = 1 << format.width if offset is None else offset
    with pytest.raises(
        ValueError, match=rf"not a bit pattern of {format.name}; expected 0 to 0xf+"
    ):
        format.from_bits(bits)


@pytest.mark.parametrize(
    ("format", "value"),
    [
        (BINARY16, 2049.0),
        (BINARY16, 2.0**-25),
        (BFLOAT16, 257.0),
        (BINARY32, 0.1),
        (BINARY16, 65520.0),
    ],
    ids=lambda value: value.name if isinstance(value, Format) else value.hex(),
)
def test_only_members_have_patterns(format: Format, value: float) -> None:
    """A value between members, under the subnormals or over the largest has no pattern."""
    assert not format.contains(value)
    with pytest.raises(ValueError, match=f"is not a {format.name} number; round it first"):
        format.to_bits(value)


@each_format
def test_special_values_are_members(format: Format) -> None:
    """Infinities, NaN and both zeros belong to every format."""
    assert all(map(format.contains, (inf, -inf, nan, 0.0, -0.0)))


# Rounding.


@pytest.mark.parametrize(
    ("format", "type_"), [(BINARY16, np.float16), (BINARY32, np.float32)], ids=["16", "32"]
)
def test_rounding_is_numpys_cast(format: Format, type_: type[np.floating]) -> None:
    """A binary64 number rounds as NumPy casts it: random bits, every magnitude, near ties."""
    rng = np.random.default_rng(2024)
    span = format.emax + format.precision + 4
    spread = np.ldexp(rng.uniform(-2, 2, 6_000), rng.integers(-span, format.emax + 3, 6_000))
    with np.errstate(over="ignore"):
        ties = spread[:4_000].astype(type_).astype(np.float64)
    ties = ties[np.isfinite(ties)]
    ulps = np.array([float(fraction(format.ulp(from_float(each)))) for each in ties])
    ties = ties + ulps / 2
    values = np.concatenate([spread, ties, np.nextafter(ties, inf), np.nextafter(ties, -inf)])
    with np.errstate(over="ignore"):
        expected = values.astype(type_).astype(np.float64)
    actual = np.array([format.round(from_float(each)) for each in values])
    np.testing.assert_array_equal(expected, actual)


@pytest.mark.parametrize("strategy", [magnitudes, around_midpoints], ids=["anywhere", "near ties"])
@each_narrow_format
@given(data=st.data())
def test_rounding_is_to_the_nearest_of_all_members(
    format: Format, strategy: object, data: st.DataObject
) -> None:
    """A search among all members finds the same float, ties and overflow included."""
    assert callable(strategy)
    value = data.draw(strategy(format))
    assert nearest_member(fraction(value), format) == format.round(value)


@given(magnitudes(BINARY64) | around_midpoints(BINARY64))
@example(Dyadic(1, -1075))
@example(Dyadic(3, -1075))
@example(Dyadic(2**54 - 1, 970))
def test_rounding_to_binary64_is_pythons_division(value: Dyadic) -> None:
    """Python rounds the quotient of two integers once, in the subnormal range too."""
    exact = fraction(value)
    try:
        expected = exact.numerator / exact.denominator
    except OverflowError:
        expected = inf if exact > 0 else -inf
    assert expected == BINARY64.round(value)


@each_format
@given(data=st.data())
def test_near_ties_fall_to_the_right_side(format: Format, data: st.DataObject) -> None:
    """2^-60 ulp from a midpoint decides; on the midpoint the even pattern wins; below 0 mirrors."""
    value = data.draw(around_midpoints(format))
    exact, result = abs(fraction(value)), abs(format.round(value))
    below, above = (abs(format.round_down(value)), abs(format.round_up(value)))
    low, high = min(below, above), max(below, above)
    top = fraction(format.overflow_value) if isinf(high) else Fraction(high)
    middle = (Fraction(low) + top) / 2
    if exact == middle:
        assert format.to_bits(result) % 2 == 0
        assert result in (low, high)
    else:
        assert (low if exact < middle else high) == result


@each_format
def test_the_overflow_threshold_is_the_first_to_overflow(format: Format) -> None:
    """The threshold rounds to infinity, and anything less to the largest finite number."""
    mantissa, exponent = format.overflow_threshold
    below = Dyadic((mantissa << 100) - 1, exponent - 100)
    largest = float(fraction(format.largest_finite))
    assert [inf, largest] == [format.round(format.overflow_threshold), format.round(below)]
    assert [-inf, -largest] == [
        format.round(Dyadic(-mantissa, exponent)),
        format.round(Dyadic(-below.mantissa, below.exponent)),
    ]


@each_format
@pytest.mark.parametrize("negative", [False, True], ids=["positive", "negative"])
def test_half_the_smallest_subnormal_rounds_to_zero(format: Format, negative: bool) -> None:
    """The tie goes to zero with the sign of the value, the least bit more to the subnormal."""
    sign = -1 if negative else 1
    half = Dyadic(sign, format.least_ulp_exponent - 1)
    more = Dyadic(sign * (2**80 + 1), format.least_ulp_exponent - 81)
    rounded = format.round(half)
    assert (0.0, sign) == (rounded, copysign(1, rounded))
    assert sign * fraction(format.smallest_subnormal) == Fraction(format.round(more))


@each_format
def test_rounding_up_carries_into_the_next_binade(format: Format) -> None:
    """All-ones significands round up to the power of two, from the subnormals to normals too."""
    for exponent in (format.emin, 0, format.emax - 1):
        just_below = Dyadic(2 ** (format.precision + 3) - 1, exponent - format.precision - 3)
        assert Fraction(2) ** exponent == Fraction(format.round(just_below))


@each_format
@given(data=st.data())
def test_directed_rounding_brackets(format: Format, data: st.DataObject) -> None:
    """round_down and round_up are the members on either side, equal only on a member."""
    value = data.draw(magnitudes(format) | around_midpoints(format))
    low, high = format.round_down(value), format.round_up(value)
    exact = fraction(value)
    assert (low == -inf or Fraction(low) <= exact) and (high == inf or exact <= Fraction(high))
    assert low == high or format.next_up(low) == high
    assert (low == high) == (format.contains(low) and not isinf(low) and Fraction(low) == exact)
    assert format.round(value) in (low, high)


@each_format
def test_directed_rounding_beyond_the_largest(format: Format) -> None:
    """Down stops at the largest finite number, up goes to infinity, and below 0 the other way."""
    beyond = Dyadic(1, format.emax + 1)
    largest = float(fraction(format.largest_finite))
    assert [largest, inf] == [format.round_down(beyond), format.round_up(beyond)]
    negative = Dyadic(-1, format.emax + 1)
    assert [-inf, -largest] == [format.round_down(negative), format.round_up(negative)]


@each_format
@given(data=st.data())
def test_members_round_to_themselves(format: Format, data: st.DataObject) -> None:
    """No rounding moves a member, whichever of its many mantissas it comes with."""
    value = format.from_ordinal(data.draw(st.integers(0, format.ordinal(inf) - 1)))
    mantissa, exponent = from_float(value)
    widened = Dyadic(mantissa << 9, exponent - 9)
    roundings = (format.round, format.round_down, format.round_up)
    assert [value] * 3 == [rounding(widened) for rounding in roundings]


# Ulps.


@each_format
@given(data=st.data())
def test_ulp_is_the_definition(format: Format, data: st.DataObject) -> None:
    """2^(max(floor(log2|r|), emin) - p + 1), of values with more bits than the format too."""
    value = data.draw(magnitudes(format))
    least = format.emin - format.precision + 1
    expected = (
        max(binade(fraction(value)), format.emin) - format.precision + 1
        if value.mantissa
        else least
    )
    assert expected == format.ulp_exponent(value)
    assert Fraction(2) ** expected == fraction(format.ulp(value))


@each_format
def test_the_ulp_changes_at_the_power_of_two(format: Format) -> None:
    """2^k has the ulp of the binade above it, the least bit under 2^k that of the binade below."""
    for exponent in (format.emin + 1, -1, 0, 1, format.emax):
        edge = Dyadic(1, exponent)
        below = Dyadic(2**90 - 1, exponent - 90)
        quantum = exponent - format.precision + 1
        for sign in (1, -1):
            assert [quantum, quantum - 1] == [
                format.ulp_exponent(Dyadic(sign * each.mantissa, each.exponent))
                for each in (edge, below)
            ]


@each_format
def test_the_ulp_stops_shrinking_at_the_subnormals(format: Format) -> None:
    """From the smallest normal down to 0 one ulp is the smallest subnormal."""
    least = format.least_ulp_exponent
    tiny = [Dyadic(1, format.emin), Dyadic(2**70 - 1, format.emin - 70), Dyadic(1, least - 99)]
    assert [least] * 4 == [format.ulp_exponent(each) for each in [*tiny, Dyadic(0, 700)]]


# The number line.


@each_narrow_format
def test_ordinals_count_the_members(format: Format) -> None:
    """From -inf to inf each member is one step from the next, and both zeros share a place."""
    values, _ = members(format)
    line = [-inf, *(-float(each) for each in reversed(values[1:])), *map(float, values), inf]
    first = -len(values)
    assert list(range(first, -first + 1)) == [format.ordinal(each) for each in line]
    assert line == [format.from_ordinal(each) for each in range(first, -first + 1)]
    some = [*range(1, len(line) - 1, 7), len(line) // 2 - 1, len(line) // 2, len(line) // 2 + 1]
    assert [line[at + 1] for at in some] == [format.next_up(line[at]) for at in some]
    assert [line[at - 1] for at in some] == [format.next_down(line[at]) for at in some]
    assert [0, 0] == [format.ordinal(0.0), format.ordinal(-0.0)]


@given(st.floats(allow_nan=False))
def test_neighbours_of_binary64_are_numpys(value: float) -> None:
    """next_up and next_down agree with nextafter."""
    with np.errstate(over="ignore"):
        expected = [np.nextafter(value, inf), np.nextafter(value, -inf)]
    assert expected == [BINARY64.next_up(value), BINARY64.next_down(value)]


@given(st.floats(allow_nan=False, width=32))
def test_neighbours_of_binary32_are_numpys(value: float) -> None:
    """next_up and next_down agree with nextafter of float32."""
    with np.errstate(over="ignore"):
        expected = [float(np.nextafter(np.float32(value), np.float32(end))) for end in (inf, -inf)]
    assert expected == [BINARY32.next_up(value), BINARY32.next_down(value)]


@each_format
def test_the_ends_of_the_number_line(format: Format) -> None:
    """Nothing lies beyond the infinities, and NaN lies nowhere."""
    assert [inf, -inf] == [format.next_up(inf), format.next_down(-inf)]
    assert isnan(format.next_up(nan)) and isnan(format.next_down(nan))
    assert -float(fraction(format.largest_finite)) == format.next_up(-inf)
    beyond = format.ordinal(inf) + 1
    for ordinal in (beyond, -beyond):
        with pytest.raises(
            ValueError, match=f"{ordinal} is beyond the infinities of {format.name}"
        ):
            format.from_ordinal(ordinal)
    with pytest.raises(ValueError, match="nan has no place on the number line"):
        format.ordinal(nan)


# Traps of other ways to round, on values where they fall in.


def test_trap_float32_on_the_way_to_bfloat16_rounds_twice() -> None:
    """1 + 2^-8 + 2^-40 is above a tie; through binary32 it becomes the tie, and then 1."""
    value = Dyadic(2**40 + 2**32 + 1, -40)
    through_binary32 = BINARY32.round(value)
    assert BFLOAT16.round(from_float(through_binary32)) == 1.0
    assert BFLOAT16.round(value) == 1.0 + 2.0**-7


def test_trap_bfloat16_is_not_a_truncated_float32() -> None:
    """Dropping the lower half of a binary32 pattern rounds 1 + 3 * 2^-9 down instead of up."""
    value = 1.0 + 3 * 2.0**-9
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    assert BFLOAT16.from_bits(bits >> 16) == 1.0
    assert BFLOAT16.round(from_float(value)) == 1.0 + 2.0**-7


def test_trap_float64_on_the_way_to_float32_rounds_twice() -> None:
    """1 + 2^-24 + 2^-60 is above a tie; through binary64, as NumPy takes it, it becomes 1."""
    value = dyadic(1 + Fraction(2) ** -24 + Fraction(2) ** -60)
    assert np.float32(float(fraction(value))) == 1.0
    assert BINARY32.round(value) == 1.0 + 2.0**-23


def test_trap_an_ordinary_significand_does_not_fit_among_subnormals() -> None:
    """Rounding to 11 bits first, then to a subnormal of binary16, rounds twice."""
    value = Dyadic(2**12 + 2**11 - 1, -36)  # 1.4998 of the smallest subnormal
    eleven_bits = Format("unbounded", precision=11, emax=1000, width=16).round(value)
    assert BINARY16.round(from_float(eleven_bits)) == 2.0**-23
    assert BINARY16.round(value) == 2.0**-24
