"""What every test shares: versions in the header, hypothesis profiles, mpmath's precision, devices.

Imports nothing that the oracle's own tests would not need; torch is looked at only where a CUDA
test was selected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata

import mpmath
import pytest
from hypothesis import settings

_HEADER_DISTRIBUTIONS = ("numpy", "torch", "gmpy2", "python-flint")

# Built on hypothesis' own default by name: where it guesses at CI, what is loaded is another.
# No deadline: a first example pays for imports and caches, and a shared machine for its neighbours.
_DEFAULT = settings(settings.get_profile("default"), deadline=None, print_blob=True)
_PROFILES = {
    "default": _DEFAULT,
    "ci": settings(_DEFAULT, derandomize=True, database=None),  # the same examples in every run
    "nightly": settings(_DEFAULT, max_examples=5_000),
}
for _name, _profile in _PROFILES.items():
    settings.register_profile(_name, _profile)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--require-cuda`, for machines that are there to test on a device."""
    parser.addoption(
        "--require-cuda",
        action="store_true",
        help="fail at once where there is no CUDA device, instead of skipping its tests",
    )


def _missing_cuda() -> str | None:
    """Why no CUDA device can be used, in one line; None where one can."""
    try:
        import torch
    except ImportError:
        return "a CUDA device is needed and torch is not installed: pip install torch"
    if torch.cuda.is_available():
        return None
    build = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "a CPU build"
    return f"a CUDA device is needed and torch {torch.__version__} ({build}) sees none"


@pytest.hookimpl(tryfirst=True)  # before hypothesis loads its --hypothesis-profile, which so wins
def pytest_configure(config: pytest.Config) -> None:
    """Loads the profile that HYPOTHESIS_PROFILE names. Raises UsageError for what cannot be had."""
    profile = os.environ.get("HYPOTHESIS_PROFILE", "default")
    if profile not in _PROFILES:
        expected = ", ".join(_PROFILES)
        raise pytest.UsageError(f"HYPOTHESIS_PROFILE is {profile!r}: set it to one of {expected}")
    settings.load_profile(profile)
    if config.getoption("--require-cuda") and (reason := _missing_cuda()):
        raise pytest.UsageError(f"--require-cuda: {reason}")


def pytest_report_header() -> str:
    versions = [f"mpmath {mpmath.__version__} on {mpmath.libmp.BACKEND} integers"]
    for name in _HEADER_DISTRIBUTIONS:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    return "oracle: " + ", ".join(versions)


@pytest.hookimpl(trylast=True)  # after -m has deselected: torch is not imported for nothing
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needing = [item for item in items if item.get_closest_marker("cuda")]
    if needing and (reason := _missing_cuda()):
        for item in needing:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _restore_mpmath_precision() -> Iterator[None]:
    """Gives each test, and whatever runs after it, mpmath's global precisions as they were."""
    before = mpmath.mp.prec, mpmath.iv.prec
    yield
    mpmath.mp.prec, mpmath.iv.prec = before


@pytest.fixture(autouse=True)
def _restore_environment() -> Iterator[None]:
    """Takes back the variables a test leaves behind, as a dask cluster does with OMP_NUM_THREADS,
    which later processes would inherit."""
    before = dict(os.environ)
    yield
    for name in set(os.environ) - set(before) - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update({name: text for name, text in before.items() if os.environ.get(name) != text})
