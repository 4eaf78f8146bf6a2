"""The suite's own set-up, run on small suites of its own in a child pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_CONFTEST = Path(__file__).with_name("conftest.py")
_SETTINGS = """\
[pytest]
addopts = --strict-markers -m "not slow" -p no:cacheprovider
markers =
    slow: minutes
    cuda: a device
"""


def run_pytest(
    folder: Path, source: str, *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs `source` as a suite under this suite's conftest; the environment is as found, but for
    `variables` and for torch, which a stand-in without a device replaces.
    """
    shutil.copy(_CONFTEST, folder)
    (folder / "pytest.ini").write_text(_SETTINGS)
    (folder / "test_sample.py").write_text(source)
    (folder / "torch.py").write_text(
        "class cuda:\n    is_available = staticmethod(lambda: False)\n"
        "class version:\n    cuda = None\n"
        "__version__ = '0.0'\n"
    )
    inherited = {k: v for k, v in os.environ.items() if k != "HYPOTHESIS_PROFILE"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", *options],
        cwd=folder,
        env=inherited | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


_PRECISION = """\
import mpmath

def test_first():
    mpmath.mp.prec, mpmath.iv.prec = 77, 78

def test_second():
    assert (53, 53) == (mpmath.mp.prec, mpmath.iv.prec)
"""

_PROFILE = """\
from hypothesis import settings

def test_profile():
    active = settings()
    print((active.deadline, active.print_blob, active.derandomize, active.max_examples))
    assert False
"""

_MARKED = """\
import pytest

@pytest.mark.cuda
def test_device(): assert False

@pytest.mark.slow
def test_long(): assert False

def test_plain(): pass
"""


def test_a_test_that_changes_mpmaths_precision_leaves_it_as_it_was(tmp_path: Path) -> None:
    """Both global precisions, mp and iv, are the defaults again in the next test."""
    result = run_pytest(tmp_path, _PRECISION)
    assert "2 passed" in result.stdout, result.stdout


@pytest.mark.parametrize(
    ("options", "variables", "expected"),
    [
        pytest.param([], {}, (None, True, False, 100), id="none named -> default"),
        pytest.param([], {"CI": "true"}, (None, True, False, 100), id="CI set -> default"),
        pytest.param(
            [], {"HYPOTHESIS_PROFILE": "ci"}, (None, True, True, 100), id="ci -> derandomised"
        ),
        pytest.param(
            ["--hypothesis-profile=nightly"],
            {"HYPOTHESIS_PROFILE": "ci"},
            (None, True, False, 5_000),
            id="option over variable -> nightly",
        ),
    ],
)
def test_profile(
    tmp_path: Path,
    options: list[str],
    variables: dict[str, str],
    expected: tuple[object, ...],
) -> None:
    """The profile is the one named, and hypothesis' guess at CI changes nothing."""
    result = run_pytest(tmp_path, _PROFILE, *options, **variables)
    assert f"\n{expected}\n" in result.stdout, result.stdout


def test_an_unknown_profile_is_one_line(tmp_path: Path) -> None:
    """A misspelt profile stops the run and names those there are."""
    result = run_pytest(tmp_path, _PROFILE, HYPOTHESIS_PROFILE="nightyl")
    expected = "ERROR: HYPOTHESIS_PROFILE is 'nightyl': set it to one of default, ci, nightly"
    assert (4, expected) == (result.returncode, result.stderr.strip())


def test_without_a_device_its_tests_are_skipped_and_slow_ones_deselected(tmp_path: Path) -> None:
    """Neither passes unseen: the skip gives its reason, the closing line counts both."""
    result = run_pytest(tmp_path, _MARKED)
    assert "1 passed, 1 skipped, 1 deselected" in result.stdout, result.stdout
    assert "a CUDA device is needed and torch 0.0 (a CPU build) sees none" in result.stdout


def test_a_required_device_that_is_missing_is_one_line(tmp_path: Path) -> None:
    """With --require-cuda nothing runs and the exit status says so."""
    result = run_pytest(tmp_path, _MARKED, "--require-cuda")
    expected = (
        "ERROR: --require-cuda: a CUDA device is needed and torch 0.0 (a CPU build) sees none"
    )
    assert (4, expected) == (result.returncode, result.stderr.strip())


def test_the_header_says_what_computes_the_oracle(tmp_path: Path) -> None:
    """mpmath's version and the integers beneath it, before the first result."""
    import mpmath

    result = run_pytest(tmp_path, _PRECISION, MPMATH_NOGMPY="1")
    assert f"oracle: mpmath {mpmath.__version__} on python integers, numpy " in result.stdout
