"""Landmarks against mpmath, from both sides."""

import mpmath
import pytest

from harness.landmarks import landmarks
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format

by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def _pair(format: Format, ordinal: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The member below a landmark and the member at it."""
    return mpmath.mpf(format.from_ordinal(ordinal - 1)), mpmath.mpf(format.from_ordinal(ordinal))


@pytest.fixture(autouse=True)
def _precision() -> None:
    mpmath.mp.prec = 500


@pytest.mark.parametrize(
    ("format", "value"),
    [
        (BFLOAT16, 3.46875),
        (BINARY16, 4.5078125),
        (BINARY32, 9.010913848876953),
        (BINARY64, 19.061547465398498),
    ],
    ids=lambda argument: getattr(argument, "name", str(argument)),
)
def test_known_thresholds_of_tanh(format: Format, value: float) -> None:
    """The first float whose tanh rounds to 1, as published for each format."""
    assert value == format.from_ordinal(landmarks(format).one_from)


@by_format
def test_tanh_rounds_to_one_from_its_landmark_on(format: Format) -> None:
    """1 - tanh(a) is more than half an ulp just below, at most that at the landmark."""
    below, at = _pair(format, landmarks(format).one_from)
    half_ulp = mpmath.mpf(2) ** (-format.precision - 1)
    assert 1 - mpmath.tanh(at) <= half_ulp < 1 - mpmath.tanh(below)


@by_format
def test_half_the_bits_are_lost_from_saturation_on(format: Format) -> None:
    """sech^2 passes 2^(-p/2) there."""
    below, at = _pair(format, landmarks(format).saturating_from)
    edge = mpmath.mpf(2) ** (-mpmath.mpf(format.precision) / 2)
    assert mpmath.sech(at) ** 2 <= edge < mpmath.sech(below) ** 2


@by_format
def test_the_derivative_leaves_the_normal_range_at_its_landmark(format: Format) -> None:
    """sech^2 passes 2^emin there."""
    below, at = _pair(format, landmarks(format).vanished_from)
    assert mpmath.sech(at) ** 2 <= mpmath.mpf(2) ** format.emin < mpmath.sech(below) ** 2


@by_format
def test_the_linear_range_ends_at_two_to_minus_half_the_precision(format: Format) -> None:
    """Its square is 2^-p."""
    below, at = _pair(format, landmarks(format).linear_below)
    assert below**2 < mpmath.mpf(2) ** -format.precision <= at**2


@by_format
def test_exponentials_overflow_just_beyond_their_landmarks(format: Format) -> None:
    """exp(a) and exp(2a) are finite at the landmark and beyond the largest number after it."""
    marks = landmarks(format)
    largest = mpmath.mpf(format.round(format.largest_finite))
    for factor, ordinal in ((1, marks.exp_overflow), (2, marks.half_exp_overflow)):
        at, above = _pair(format, ordinal + 1)
        assert mpmath.exp(factor * at) <= largest < mpmath.exp(factor * above)
