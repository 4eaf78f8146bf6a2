"""The pytest plugin on a small project of a user's: red with a small case, green after the mend."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[3]

#: Ten lines, one of them wrong.
PROJECT = """
import pytest, torch

def neuron(x, w, b, g):
    y = torch.tanh((x * w).sum() + b)
    d = g * (1 - {square})
    return y, d * w, d * x, d

@pytest.mark.neuron(dtypes=["float32"], devices=["cpu"])
def test_neuron(verify_neuron):
    verify_neuron(neuron)
"""
#: The user's own settings: few examples, and a database beside the tests.
PROFILE = """
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase
settings.register_profile(
    "mine", max_examples=30, database=DirectoryBasedExampleDatabase("kept")
)
settings.load_profile("mine")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project's folder, where the plugin is found whether or not the harness is installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("PYTEST_ADDOPTS", "HYPOTHESIS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(PROFILE)
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """pytest in a process of its own."""
    plugin = () if _installed() else ("-p", "harness.pytest_plugin")
    return project.runpytest_subprocess(*plugin, "--hypothesis-seed=1", *arguments)


def _installed() -> bool:
    from importlib.metadata import entry_points

    return any(each.value == "harness.pytest_plugin" for each in entry_points(group="pytest11"))


def kept(project: pytest.Pytester) -> list[Path]:
    """The files of the example database."""
    return [path for path in (project.path / "kept").rglob("*") if path.is_file()]


def test_a_red_test_and_a_green_one_after_the_mend(project: pytest.Pytester) -> None:
    """The case is small and in hexadecimal, kept in the user's database, and tried first; the
    figures are in the JUnit XML and in the summary."""
    project.makepyfile(test_mine=PROJECT.format(square="y"))
    red = run(project, "--junitxml=junit.xml")
    red.assert_outcomes(failed=1)
    text = red.stdout.str()
    assert re.search(
        r'case +\{"dtype":"float32","inputs":\[\],"weights":\[\],"bias":"0x1.0+p', text
    )
    assert "def test_test_mine_neuron_in_float32() -> None:" in text
    assert "neuron-harness explain test_mine:neuron" in text
    red.stdout.fnmatch_lines(
        [
            "*= neuron-harness =*",
            "test_neuron?float32-cpu?  test_mine:neuron  float32  cpu     wrong  textbook  *  30",
            "0 verdicts as required, 1 not",
        ]
    )
    properties = {
        each.get("name"): each.get("value")
        for each in ElementTree.parse(project.path / "junit.xml").iter("property")
    }
    assert ("wrong", "textbook") == (
        properties["neuron_harness.grade"],
        properties["neuron_harness.required"],
    )
    assert float(properties["neuron_harness.max_ulp.bias_gradient"] or 0) > 1000
    assert b'"bias":"0x1.0' in b"".join(path.read_bytes() for path in kept(project))

    again = run(project)
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["test_neuron*wrong  textbook  *  1"])

    project.makepyfile(test_mine=PROJECT.format(square="y * y"))
    green = run(project)
    green.assert_outcomes(passed=1)
    green.stdout.fnmatch_lines(
        ["test_neuron*  textbook  textbook  *  30", "1 verdicts as required, 0 not"]
    )
    assert not kept(project)


def test_markers_and_what_is_not_supported(project: pytest.Pytester) -> None:
    """A class's marker is completed by a test's; a dtype that a subject does not support is
    skipped; and all of it goes through processes of pytest-xdist."""
    project.makepyfile(
        """
        import harness, pytest, torch

        kind = harness.Kind.ACTIVATION
        only_wide = harness.Subject("wide", kind, torch.tanh, dtypes=("float64",))

        @pytest.mark.neuron(devices=["cpu"], dtypes=["float32", "float64"], examples=14)
        class TestTanh:
            @pytest.mark.neuron(kind="activation", require="stable")
            def test_too_much_is_asked(self, verify_neuron):
                with pytest.raises(AssertionError, match="required stable"):
                    verify_neuron(torch.tanh)

            def test_wide(self, verify_neuron):
                verdict = verify_neuron(only_wide)
                assert (14, "float64") == (verdict.examples, verdict.dtype)
        """
    )
    found = run(project, "-n", "1")
    found.assert_outcomes(passed=3, skipped=1)
    found.stdout.fnmatch_lines(["*required  worst ulps  examples", "*verdicts as required, * not"])
    assert 3 == found.stdout.str().count("  cpu  ")


def test_markers_that_are_wrong(project: pytest.Pytester) -> None:
    """One line each says what it was and what is expected, and no test is run."""
    for name, marker in {
        "unknown": "dtype=['float32']",
        "unnamed": "'float32'",
        "no_dtype": "dtypes=['float8']",
    }.items():
        project.makepyfile(
            **{
                f"test_{name}": f"""
                import pytest

                @pytest.mark.neuron({marker})
                def test_it(verify_neuron):
                    pass
                """
            }
        )
    found = run(project)
    found.assert_outcomes(errors=3)
    found.stdout.fnmatch_lines_random(
        [
            "*the marker neuron has no argument 'dtype'; expected some of dtypes,*",
            "*the marker neuron was given 'float32' without a name; expected name=value*",
            "*the marker neuron names the dtype 'float8'; expected some of float16*",
        ]
    )


def test_a_run_without_it_imports_nothing(project: pytest.Pytester) -> None:
    """Neither torch nor the oracle, and it says nothing."""
    project.makeconftest("")
    project.makepyfile(
        """
        import sys

        def test_nothing():
            assert not {"torch", "mpmath", "reference"} & set(sys.modules)
        """
    )
    found = run(project)
    found.assert_outcomes(passed=1)
    assert "= neuron-harness =" not in found.stdout.str()
