"""Hypothesis as a source of cases that a seed alone decides.

Left to itself hypothesis draws, now and then, a constant that it finds in the source of the modules
of the process at hand. A subject edited and run again with its seed would be shown other cases, and
so would a subject that imports something in the middle of a run; and a cache of those constants,
`.hypothesis`, would be left in the working directory. Here it is kept from looking.

It also seeds the global random number generators before every example and puts their states back
afterwards, a tenth of a verification's time. Here that is done once around all examples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Final, TypeVar
from unittest.mock import patch

import hypothesis
import hypothesis.core
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import HypothesisWarning
from hypothesis.internal.conjecture import providers
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def draw(
    strategy: SearchStrategy[T],
    examples: int,
    seed: int,
    phases: Sequence[Phase],
    run: Callable[[T], None],
) -> None:
    """Run a function on `examples` drawn values: the same ones for the same seed, whatever else is
    in the process, the environment or the working directory. Raises what `run` raises."""

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        backend="hypothesis",
    )
    @hypothesis.given(strategy)
    def test(value: T) -> None:
        run(value)

    with _no_constants_of_this_process(), _seeded_once(), warnings.catch_warnings():
        # Hypothesis puts a failing value into words, which nobody sees, and finds a long one long.
        warnings.filterwarnings("ignore", "Generating overly large repr", HypothesisWarning)
        test()


class _Nothing:
    """A pool of constants that holds none of any type."""

    def set_for_type(self, _type: object) -> tuple[()]:
        return ()


_NOTHING: Final = _Nothing()


@contextmanager
def _no_constants_of_this_process() -> Iterator[None]:
    """Hypothesis has no setting for this. A release without these names has nothing to switch off,
    and one that renames them fails the tests that compare seeds."""
    provider: Any = providers.HypothesisProvider
    with ExitStack() as stack:
        if hasattr(provider, "_local_constants"):
            stack.enter_context(patch.object(provider, "_local_constants", _NOTHING))
        if hasattr(providers, "CONSTANTS_CACHE"):
            # Of its own, for the usual one may hold constants from a test that ran before.
            cache = type(providers.CONSTANTS_CACHE)(1024)
            stack.enter_context(patch.object(providers, "CONSTANTS_CACHE", cache))
        yield


@contextmanager
def _seeded_once() -> Iterator[None]:
    """A release without this name goes on seeding as often as it does."""
    core: Any = hypothesis.core
    with ExitStack() as stack:
        if hasattr(core, "deterministic_PRNG"):
            stack.enter_context(core.deterministic_PRNG())
            stack.enter_context(patch.object(core, "deterministic_PRNG", nullcontext))
        yield
