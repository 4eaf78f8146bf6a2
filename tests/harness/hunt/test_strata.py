"""Where a hunt over numbers starts, and where it goes on from a bad one."""

import numpy as np
import pytest

from harness.hunt.plan import make_plan
from harness.hunt.refine import around, windows
from harness.hunt.strata import (
    edge_surroundings,
    landmark_surroundings,
    strata,
    with_both_signs,
)
from harness.landmarks import landmarks
from harness.subjects import Kind, load
from reference.formats import BINARY64, FORMATS, Format

KINDS = (Kind.ACTIVATION, Kind.TANH_GRADIENT)


def _stop(kind: Kind, format: Format) -> int:
    return format.to_bits(1.0) + 1 if kind is Kind.TANH_GRADIENT else 1 << format.width - 1


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("kind", KINDS)
def test_strata_are_all_magnitudes(kind: Kind, format: Format) -> None:
    """Every number belongs to one stratum; those near 1 come first and get more draws."""
    stop = _stop(kind, format)
    found = strata(kind, format, stop)
    by_start = sorted(found)
    assert (0, stop) == (by_start[0].start, by_start[-1].stop)
    assert [each.stop for each in by_start[:-1]] == [each.start for each in by_start[1:]]
    assert found[0].draws == max(each.draws for each in found)


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_landmarks_are_surrounded(format: Format) -> None:
    """All magnitudes within 64 of each."""
    found = set(landmark_surroundings(Kind.ACTIVATION, format, _stop(Kind.ACTIVATION, format)))
    at = landmarks(format)
    for name in at.__dataclass_fields__:
        assert set(range(getattr(at, name) - 64, getattr(at, name) + 65)) <= set(map(int, found))


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_surrounded_at_every_distance(kind: Kind, format: Format) -> None:
    """Every power of two in reach has its neighbours, and none lies outside the range."""
    stop = _stop(kind, format)
    rng = np.random.default_rng(0)
    found = set(map(int, np.concatenate(list(edge_surroundings(kind, format, stop, rng)))))
    assert max(found) < stop
    for exponent in range(format.emin, 1):
        power = format.to_bits(2.0**exponent)
        assert {at for at in (power - 1, power, power + 1) if at < stop} <= found


def test_simple_numbers_are_among_the_edges() -> None:
    """0.6875 = 11/16 is a number someone may have written down; so is a multiple of ln(2)/4."""
    rng = np.random.default_rng(0)
    groups = edge_surroundings(Kind.ACTIVATION, BINARY64, _stop(Kind.ACTIVATION, BINARY64), rng)
    found = np.concatenate(list(groups)).astype(np.int64)
    for edge in (0.6875, 0.34657359027997264, 1.7328679513998633):
        distances = found - BINARY64.to_bits(edge)
        orders = {int(d).bit_length() for d in distances if 0 < d < 1 << 50}
        assert set(range(1, 45)) <= orders, edge
        orders = {int(-d).bit_length() for d in distances if -(1 << 50) < d < 0}
        assert set(range(1, 45)) <= orders, edge


def test_signs_alternate() -> None:
    """Each magnitude is followed by its negative."""
    bits = with_both_signs(np.array([1, 5], np.uint64), BINARY64)
    assert [1, 1 | 1 << 63, 5, 5 | 1 << 63] == bits.tolist()


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("x", [0.25, -0.25, 2.0**-14, 0.0, 240.0])
def test_refinement_stays_in_the_format_and_near(format: Format, x: float) -> None:
    """The number itself, its neighbours on both sides, its negative, and the same significand in
    the next binades."""
    stop = 1 << format.width - 1
    bits = format.to_bits(x)
    found = set(map(int, around(bits, format, stop, np.random.default_rng(0))))
    assert all(each < 1 << format.width for each in found)
    assert {bits, bits ^ stop} <= found
    assert abs(x) < 1 or bits - 1 in found
    if x == 0.25:
        assert {bits + 1, bits - 1, bits + 400, format.to_bits(0.5), format.to_bits(0.125)} <= found


def test_windows_are_around_and_inside_the_range() -> None:
    """Each holds the number, the narrow come first, and none passes the end."""
    plan = make_plan(load("aten-tanh-gradient"), dtype="float64")
    stop = plan.sweep.positive[1]
    bits = plan.format.to_bits(-1.0)
    found = windows(bits, plan.format, stop)
    assert found
    magnitude = plan.format.to_bits(1.0)
    assert all(low <= magnitude < high <= stop and side == 1 for low, high, side in found)
    assert sorted(high - low for low, high, _ in found) == [high - low for low, high, _ in found]
