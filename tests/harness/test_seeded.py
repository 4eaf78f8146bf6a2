"""Hypothesis, seeded: nothing but the seed decides what is drawn."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from harness.seeded import draw

#: In this range hypothesis's own constants are few, so that a local one would soon be drawn.
_RANGE = st.integers(0, 2**40)


def drawn(seed: int, count: int = 300) -> list[int]:
    """The values for a seed."""
    values: list[int] = []
    draw(_RANGE, count, seed, (Phase.generate,), values.append)
    return values


def test_a_seed_decides() -> None:
    """The same values again, and others for another seed."""
    assert drawn(1) == drawn(1)
    assert len(set(drawn(1)) & set(drawn(2))) < 100


def test_examples_are_as_many_as_asked() -> None:
    """One, or three hundred."""
    assert (1, 300) == (len(drawn(1, 1)), len(drawn(1)))


def test_constants_of_other_modules_are_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers in the source of a module imported between two runs change nothing."""
    before = drawn(3)
    numbers = [2**39 + 7919 * index for index in range(1, 61)]
    (tmp_path / "numerous.py").write_text(f"NUMBERS = {numbers}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import numerous  # type: ignore[import-not-found]

    assert numerous.NUMBERS == numbers
    try:
        plain: list[int] = []

        @settings(max_examples=300, database=None)
        @given(_RANGE)
        def test(value: int) -> None:
            plain.append(value)

        test()
        # Hypothesis on its own does draw them; else this test would show nothing.
        assert set(plain) & set(numbers)
        assert before == drawn(3)
        assert not set(before) & set(numbers)
    finally:
        del sys.modules["numerous"]


def test_nothing_is_left_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No `.hypothesis`, neither examples nor constants."""
    monkeypatch.chdir(tmp_path)
    drawn(4)
    assert [] == list(tmp_path.iterdir())


def test_what_the_function_raises_comes_out() -> None:
    """As it is, from the smallest value."""

    def run(value: int) -> None:
        if value >= 1000:
            raise LookupError(value)

    with pytest.raises(LookupError, match=r"^1000$"):
        draw(_RANGE, 300, 1, (Phase.generate, Phase.shrink), run)


def test_within_a_test_of_hypothesis() -> None:
    """The values of a seed are the same inside another hypothesis test."""
    outside = drawn(5, 30)

    nested = HealthCheck.nested_given

    @settings(max_examples=3, database=None, deadline=None, suppress_health_check=[nested])
    @given(st.integers())
    def test(_value: int) -> None:
        assert outside == drawn(5, 30)

    test()


def test_a_long_value_that_fails_brings_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    """Nobody sees the words that hypothesis warns are many."""

    def run(_value: tuple[str, ...]) -> None:
        raise LookupError

    long = st.just(("x" * 40_000,))
    with pytest.raises(LookupError):
        draw(long, 3, 1, (Phase.generate,), run)
    assert [] == list(recwarn)


def test_the_global_generators_are_seeded_once_and_put_back() -> None:
    """A run draws the same numbers each time, and whoever calls it draws what they would have."""

    def numbers() -> list[float]:
        found: list[float] = []

        def run(_value: int) -> None:
            found.extend((random.random(), float(np.random.random())))

        draw(_RANGE, 5, 1, (Phase.generate,), run)
        return found

    random.seed(7)
    np.random.seed(7)
    expected = random.random(), float(np.random.random())
    random.seed(7)
    np.random.seed(7)
    first = numbers()
    assert expected == (random.random(), float(np.random.random()))
    assert first == numbers()
    assert len(set(first)) == len(first)
