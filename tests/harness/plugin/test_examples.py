"""The example database: what failed is kept, found, and forgotten when it passes."""

from __future__ import annotations

from hypothesis.database import InMemoryExampleDatabase

from harness.case import Case
from harness.plugin.examples import Examples

CASE = Case("float32", (1.0,), (2.0,), 0.5, 1.0)
SMALLER = Case("float32", (), (), 0.5, 1.0)


def test_a_case_is_kept_until_it_passes() -> None:
    """For its own test alone, the smallest first."""
    database = InMemoryExampleDatabase()
    examples = Examples(database, "test_x[float32-cpu]")
    examples.keep(CASE)
    examples.keep(SMALLER)
    assert [SMALLER, CASE] == list(examples.kept())
    assert [] == list(Examples(database, "test_y[float32-cpu]").kept())
    examples.forget(CASE)
    assert [SMALLER] == list(examples.kept())


def test_what_is_no_case_is_thrown_away() -> None:
    """As one from an earlier release might be."""
    database = InMemoryExampleDatabase()
    examples = Examples(database, "test_x")
    examples.keep(CASE)
    (key,) = database.data
    database.save(key, b"not a case")
    assert [CASE] == list(examples.kept())
    assert 1 == len(database.data[key])


def test_without_a_database_nothing_is_kept() -> None:
    """As hypothesis' settings may say."""
    examples = Examples(None, "test_x")
    examples.keep(CASE)
    examples.forget(CASE)
    assert [] == list(examples.kept())


def test_a_database_that_cannot_be_written_loses_no_failure() -> None:
    """The disk is full: the test goes on to say what failed."""

    class Full(InMemoryExampleDatabase):
        def save(self, key: bytes, value: bytes) -> None:
            raise OSError(28, "No space left on device")

    Examples(Full(), "test_x").keep(CASE)
