"""The garbage collector while a verification runs, and afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from harness.collection import rare_collection


@pytest.fixture(autouse=True)
def _as_found() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_what_was_there_is_left_out_and_collections_are_rare() -> None:
    """And back again afterwards, also when something is raised."""
    before = gc.get_threshold()
    with pytest.raises(LookupError), rare_collection():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] >= 50_000
        raise LookupError
    assert before == gc.get_threshold()
    assert 0 == gc.get_freeze_count()


def test_a_collector_that_is_switched_off_stays_off() -> None:
    """A threshold of 0 is somebody's choice."""
    gc.set_threshold(0)
    with rare_collection():
        assert 0 == gc.get_threshold()[0]
        assert 0 == gc.get_freeze_count()


def test_objects_that_somebody_froze_stay_frozen() -> None:
    """They cannot be told apart from ours."""
    gc.freeze()
    frozen = gc.get_freeze_count()
    with rare_collection():
        pass
    assert frozen <= gc.get_freeze_count() > 0
