"""Plans: every number of a range once, in blocks; ranges that make no sense in one line."""

import itertools
from functools import cache
from math import inf, isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.case import format_of
from harness.errors import CannotVerify, UsageError
from harness.hexfloat import hex_text
from harness.subjects import Kind, Subject
from harness.sweep.plan import Plan, make_plan

SIXTEEN = ("float16", "bfloat16")


def subject(kind: Kind = Kind.ACTIVATION, **declared: object) -> Subject:
    return Subject("a subject", kind, lambda *_: None, **declared)  # type: ignore[arg-type]


def swept(plan: Plan) -> list[tuple[float, ...]]:
    return [
        plan.point(plan.key(magnitude, side))
        for block in plan.blocks()
        for magnitude in range(block.start, block.stop)
        for side in block.sides
    ]


def texts(points: list[tuple[float, ...]]) -> list[str]:
    return sorted(" ".join(map(hex_text, point)) for point in points)


@pytest.mark.parametrize("dtype", SIXTEEN)
def test_without_a_range_every_bit_pattern_is_swept_once(dtype: str) -> None:
    """NaNs, infinities and both zeros included."""
    format = format_of(dtype)
    plan = make_plan(subject(), dtype=dtype)
    expected = [(format.from_bits(bits),) for bits in range(1 << 16)]
    assert texts(expected) == texts(swept(plan))
    assert 1 << 16 == plan.points


@pytest.mark.parametrize("dtype", SIXTEEN)
def test_a_tanh_gradient_is_swept_over_the_outputs_of_tanh(dtype: str) -> None:
    """All y in [-1, 1], unless a range says otherwise."""
    format = format_of(dtype)
    values = [format.from_bits(bits) for bits in range(1 << 16)]
    expected = [(value,) for value in values if abs(value) <= 1]
    assert texts(expected) == texts(swept(make_plan(subject(Kind.TANH_GRADIENT), dtype=dtype)))


@cache
def members(dtype: str) -> list[float]:
    """All but NaN in order, -0 before +0."""
    format = format_of(dtype)
    infinity, sign = format.to_bits(inf), 1 << format.width - 1
    bits = [*range(sign + infinity, sign - 1, -1), *range(infinity + 1)]
    return [format.from_bits(pattern) for pattern in bits]


@st.composite
def ranges(draw: st.DrawFn) -> tuple[str, float, float, list[float]]:
    """A dtype, two ends, each a member or between two, and the members from one to the other."""
    dtype = draw(st.sampled_from(SIXTEEN))
    all_members = members(dtype)
    zero = len(all_members) // 2
    first = draw(st.integers(0, len(all_members) - 1) | st.integers(zero - 9, zero + 9))
    last = min(first + draw(st.integers(0, 400)), len(all_members) - 1)
    low, high = all_members[first], all_members[last]
    if draw(st.booleans()) and first and isfinite(all_members[first - 1]) and low != 0:
        low = (low + all_members[first - 1]) / 2
    if draw(st.booleans()) and last + 1 < len(all_members) and isfinite(all_members[last + 1]):
        high = high if high == 0 else (high + all_members[last + 1]) / 2
    return dtype, low, high, all_members[first : last + 1]


@given(ranges())
def test_a_range_holds_exactly_the_members_between_its_ends(
    case: tuple[str, float, float, list[float]],
) -> None:
    """Ends included, whether they are members or lie between two; -0 lies below +0."""
    dtype, low, high, expected = case
    plan = make_plan(subject(), dtype=dtype, first=low, last=high)
    assert len(expected) == plan.points
    assert texts([(value,) for value in expected]) == texts(swept(plan))


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (-1e-30, 1e-30, ["-0x0.0p+0", "0x0.0p+0"]),
        (0.0, 1e-30, ["0x0.0p+0"]),
        (-1e-30, -0.0, ["-0x0.0p+0"]),
        (-0.0, 0.0, ["-0x0.0p+0", "0x0.0p+0"]),
    ],
    ids=["around both", "from +0", "to -0", "from -0 to +0"],
)
def test_a_zero_is_swept_if_its_sign_lies_in_the_range(
    first: float, last: float, expected: list[str]
) -> None:
    """Also where an end lies between zero and the smallest number."""
    plan = make_plan(subject(), dtype="float16", first=first, last=last)
    assert expected == texts(swept(plan))


@pytest.mark.parametrize(
    ("first", "last"),
    [(-inf, inf), (0.0, inf), (-3.5, 1e-30), (1.0, 2.5), (-2.0, -1.0)],
    ids=["all", "positive", "mostly negative", "positive range", "negative range"],
)
def test_blocks_follow_one_another_without_gap_on_a_fixed_grid(first: float, last: float) -> None:
    """Blocks begin where the one before ended or where only one sign goes on, and no block crosses
    a multiple of the block size, so that equal plans have equal blocks."""
    plan = make_plan(subject(), dtype="float32", first=first, last=last)
    blocks = list(plan.blocks())
    assert plan.block_count == len(blocks)
    assert plan.points == sum(block.points for block in blocks)
    assert [block.name for block in blocks] == sorted({block.name for block in blocks})
    for lower, upper in itertools.pairwise(blocks):
        assert lower.stop == upper.start
    for block in blocks:
        assert block.start // plan.block_size == (block.stop - 1) // plan.block_size


def test_pairs_hold_every_y_with_every_g() -> None:
    """The magnitude of a pair is that of y followed by that of g; there are four sides."""
    one = format_of("bfloat16").to_bits(1.0)
    plan = make_plan(subject(Kind.TANH_GRADIENT), dtype="bfloat16", pairs=True)
    assert 2 * (one + 1) << 16 == plan.points
    key = plan.key(one << 15 | format_of("bfloat16").to_bits(0.5), 0)
    found = [plan.point(key | side) for side in range(4)]
    assert [(1.0, 0.5), (-1.0, 0.5), (1.0, -0.5), (-1.0, -0.5)] == found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first": 1.0, "last": 0.5}, "upside down: --from 0x1.0000000000000p.0 is above --to"),
        ({"first": 0.0, "last": -0.0}, "upside down"),
        ({"first": nan, "last": 0.5}, "--from is nan; expected a number"),
        ({"first": 0.5, "last": nan}, "--to is nan; expected a number"),
        ({"first": 0.5}, "--from without --to"),
        ({"last": 0.5}, "--to without --from"),
        ({"first": 1.00001, "last": 1.00002}, "no binary16 number lies from"),
        ({"pairs": True}, "--pairs with a subject .activation.*; leave it out"),
        ({"dtype": "float8"}, "unknown dtype 'float8'"),
        ({"dtype": "float64"}, "float64 has 1.8e.19 numbers in this range"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plan_that_makes_no_sense_is_one_line(arguments: dict[str, object], message: str) -> None:
    """The value, what was expected, the remedy."""
    with pytest.raises(UsageError, match=message) as caught:
        make_plan(subject(), **{"dtype": "float16", **arguments})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"dtypes": ("float32",)}, "does not support float16; expected one of float32"),
        ({"devices": ("cuda",)}, "does not support cpu; expected one of cuda"),
    ],
    ids=["dtype", "device"],
)
def test_what_the_subject_does_not_support_is_not_swept(
    declared: dict[str, object], message: str
) -> None:
    """The environment's fault, not the usage's."""
    with pytest.raises(CannotVerify, match=message):
        make_plan(subject(**declared), dtype="float16")
