"""Ranges of numbers and the rules that choose among them."""

import numpy as np
import pytest

from harness.hunt.arms import PARTS, TOP, Arms

WIDE = 1 << 52


def _scores(*values: float, count: int = 100) -> np.ndarray:
    """Scores of one objective: zeros, and these."""
    row = np.zeros(count)
    row[: len(values)] = values
    return row[None, :]


def _filled(levels: list[tuple[int, int, float]]) -> tuple[Arms, list[int]]:
    """Arms from (size, side, score of all their draws)."""
    arms = Arms(1, WIDE)
    found = []
    for size, side, score in levels:
        arm = arms.add(0, size, side)
        arms.update(arm, np.full((1, 100), score))
        found.append(arm)
    return arms, found


def test_parts_are_the_whole() -> None:
    """The parts of a range meet and cover it, and take its place."""
    arms = Arms(1, WIDE)
    arm = arms.add(1000, 1000 + 803, 1)
    parts = [arms.range(part) for part in arms.split(arm)]
    assert PARTS == len(parts)
    assert (1000, 1803) == (parts[0][0], parts[-1][1])
    assert [high for _, high, _ in parts[:-1]] == [low for low, _, _ in parts[1:]]
    assert {1} == {side for _, _, side in parts}
    assert arm not in arms.live()


def test_many_arms_keep_their_ranges() -> None:
    """The tables grow without a loss."""
    arms = Arms(2, WIDE)
    for index in range(5000):
        assert index == arms.add(index, index + 7, index % 2)
    assert [(i, i + 7, i % 2) for i in range(5000)] == [arms.range(i) for i in range(5000)]


def test_the_best_of_every_size_is_split() -> None:
    """A narrower range comes after a wider one only with larger scores."""
    arms, (wide, wider_worse, narrow, too_small) = _filled(
        [(WIDE, 0, 2.0), (WIDE, 0, 1.0), (WIDE >> 3, 0, 3.0), (WIDE >> 6, 0, 2.5)]
    )
    assert [wide, narrow] == arms.best_of_levels(0, positive=False)
    assert too_small not in arms.best_of_levels(0, positive=False)
    arms.retire(wide)
    assert [wider_worse, narrow] == arms.best_of_levels(0, positive=False)


def test_one_side_is_enough_where_both_are_alike() -> None:
    """Negative ranges are left out if asked."""
    arms, (_, positive) = _filled([(WIDE, 1, 3.0), (WIDE, 0, 2.0)])
    assert [positive] == arms.best_of_levels(0, positive=True)
    assert positive in arms.most_promising(0, 1, positive=True) or not arms.most_promising(
        0, 1, positive=True
    )


def test_a_heavier_tail_promises_more() -> None:
    """Of two ranges with the same median the one whose largest scores reach higher."""
    arms = Arms(1, WIDE)
    rng = np.random.default_rng(1)
    light, heavy = arms.add(0, WIDE, 0), arms.add(WIDE, 2 * WIDE, 0)
    arms.update(light, 1.0 + 0.1 * rng.random((1, 2000)))
    arms.update(heavy, 1.0 + 0.1 * rng.exponential(size=(1, 2000)))
    assert [heavy, light] == arms.most_promising(0, 2, positive=False)


def test_the_promise_is_the_expected_gain_of_an_exponential_tail() -> None:
    """Half of many ranges promise more than what is right, half less."""
    arms = Arms(1, WIDE)
    rng = np.random.default_rng(3)
    scale = 0.05
    for index in range(200):
        compressed = 1.0 + scale * rng.exponential(size=(1, 5000))
        arms.update(arms.add(index, index + WIDE, 0), 2.0**compressed - 1.0)
    expected = np.log(scale) - (arms.record[0] - 1.0) / scale
    assert float(np.median(arms.promises(0))) == pytest.approx(expected, abs=0.5)


def test_scores_add_up_over_visits() -> None:
    """Two visits are one with all the scores."""
    rng = np.random.default_rng(4)
    scores = rng.random((2, 400))
    once, twice = Arms(2, WIDE), Arms(2, WIDE)
    once.update(once.add(0, 10_000, 0), scores)
    arm = twice.add(0, 10_000, 0)
    twice.update(arm, scores[:, :150])
    twice.update(arm, scores[:, 150:])
    assert 400 == twice.count(arm)
    for objective in range(2):
        assert once.promises(objective).tolist() == twice.promises(objective).tolist()


def test_equal_scores_make_no_warning() -> None:
    """Rounding errors of their mean do not count as a tail."""
    for score in np.linspace(0.1, 3.0, 200):
        arms, (arm,) = _filled([(WIDE, 0, float(score))])
        assert -np.inf == arms.promises(0)[arm]


def test_what_cannot_add_anything_promises_nothing() -> None:
    """Neither equal scores, nor too few, nor a retired arm."""
    arms, (equal,) = _filled([(WIDE, 0, 1.0)])
    few = arms.add(0, 100, 0)
    arms.update(few, _scores(5.0, count=TOP))
    assert [] == arms.most_promising(0, 5, positive=False)
    varied = arms.add(0, WIDE, 0)
    arms.update(varied, _scores(*np.linspace(1, 4, 50)))
    assert [varied] == arms.most_promising(0, 5, positive=False)
    arms.retire(varied)
    assert [] == arms.most_promising(0, 5, positive=False)
    assert equal not in arms.most_promising(0, 5, positive=False)
