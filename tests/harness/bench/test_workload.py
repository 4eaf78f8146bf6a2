"""Suites by name."""

from __future__ import annotations

import pytest

from harness.bench.worker import make_arguments
from harness.bench.workload import against, default_suite, grid, without
from harness.errors import UsageError
from harness.subjects import builtin_names


def test_the_suite_has_every_built_in_once_in_float32() -> None:
    """The textbook neuron in all dtypes, the oracle in two; no name twice."""
    suite = default_suite(builtin_names())
    names = [workload.name for workload in suite]
    assert len(names) == len(set(names))
    assert set(builtin_names()) == {
        each.subject for each in suite if each.dtype == "float32" and each.recipe == "subject"
    }
    assert 4 == sum(each.subject == "textbook" for each in suite)
    assert ["oracle float32", "oracle float64"] == names[-2:]


def test_the_other_side_has_the_same_names() -> None:
    """Only the subject differs, so that pairs are found."""
    old = grid("a:f", ["float32"], [0, 8], kind=None, device="cuda")
    new = against(old, "b:g", "activation")
    assert ["a:f float32 n=0 cuda", "a:f float32 n=8 cuda"] == [each.name for each in new]
    assert [("b:g", "activation")] * 2 == [(each.subject, each.kind) for each in new]


def test_left_out_by_name_or_by_subject() -> None:
    """A name that is none is an error: it may be what the caller thought was left out."""
    suite = default_suite(["textbook", "sigmoid"])
    assert "sigmoid" not in {each.subject for each in without(suite, ["sigmoid"])}
    assert len(suite) - 1 == len(without(suite, ["oracle float64"]))
    with pytest.raises(UsageError, match="--without 'sigmod' names no workload"):
        without(suite, ["sigmod"])
    with pytest.raises(UsageError, match="leaves no workload"):
        without(suite, ["textbook", "sigmoid", "oracle"])


@pytest.mark.parametrize("kind", ["neuron", "tanh-gradient"])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_arguments_are_ordinary_and_always_the_same(kind: str, dtype: str) -> None:
    """In [-1, 1], of the dtype, with the shapes of the kind; n = 0 too."""
    for n in (0, 100):
        first, second = (make_arguments(kind, dtype, n, "cpu") for _ in range(2))
        shapes = [(n,), (n,), (), ()] if kind == "neuron" else [(n,), (n,)]
        assert shapes == [tuple(each.shape) for each in first]
        for one, other in zip(first, second, strict=True):
            assert one.equal(other)
            assert dtype == str(one.dtype).removeprefix("torch.")
            assert bool((one.abs() <= 1).all())
