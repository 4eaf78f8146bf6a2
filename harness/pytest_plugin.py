"""A pytest plugin: one's own neuron verified in one's own test suite, in one line.

    def test_my_neuron(verify_neuron):
        verify_neuron(mypackage.neuron)

The fixture is parametrised by dtype and device. What a test wants otherwise its marker says,

    @pytest.mark.neuron(dtypes=["float32"], require="stable", kind="activation")

with the arguments of `harness.verify`. The examples, the seed and the example database are those of
hypothesis' settings. Nothing of torch or hypothesis is imported before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import pytest

_FIXTURE: Final = "verify_neuron"
_MARKER: Final = "neuron"
#: The attribute of a test's report that the summary at the end is made of.
_ROWS: Final = "neuron_harness_rows"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(dtypes, devices, kind, require, examples, seed, activation_ulps, strict_laws, "
        "second_order): how the fixture verify_neuron verifies (neuron-harness)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each dtype and device."""
    if _FIXTURE not in metafunc.fixturenames:
        return
    from harness.plugin.options import options_of, places

    options = options_of(metafunc.definition.iter_markers(_MARKER))
    metafunc.parametrize(
        _FIXTURE, places(options), indirect=True, ids=lambda place: "-".join(place)
    )


@pytest.fixture
def verify_neuron(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A function that verifies a subject in the dtype and on the device of this test.

    It takes what `harness.verify` takes as a subject, returns the `Verdict`, and raises
    VerificationError, with the smallest case, unless the subject earns what is required.
    """
    from harness.plugin.options import options_of
    from harness.plugin.session import VerifyNeuron

    dtype, device = request.param
    options = options_of(request.node.iter_markers(_MARKER))
    return VerifyNeuron(request.node, dtype, device, options)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test has verified goes with its report, which may go to another process."""
    report = yield
    if call.when == "call" and _FIXTURE in getattr(item, "fixturenames", ()):
        from harness.plugin.session import ROWS

        setattr(report, _ROWS, item.stash.get(ROWS, []))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was verified, a line each."""
    rows = list(_rows(terminalreporter))
    if not rows:
        return
    from harness.plugin.summary import summary_lines

    terminalreporter.section("neuron-harness")
    for line in summary_lines(rows):
        terminalreporter.write_line(line)


def _rows(terminalreporter: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of all tests, with the tests' names."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for row in getattr(report, _ROWS, ()):
                yield report.nodeid, row
