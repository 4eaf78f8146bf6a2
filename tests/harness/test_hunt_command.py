"""The command `hunt`: exit statuses, clean JSON, errors of one line, and an interrupt."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.command import ROOT, environment, invoke, spawn

PLANTED = f"{ROOT}/tests/harness/hunt/planted.py"


def test_a_hunt_reports_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0, a table on standard output, finds in the default store."""
    monkeypatch.chdir(tmp_path)
    outcome = invoke("hunt", "torch-tanh", "--evaluations", "40000", "--seed", "1")
    assert 0 == outcome.status
    assert "torch-tanh float64 cpu\n" in outcome.out
    assert "40,000 inputs" in outcome.out
    assert "seed 1" in outcome.out
    assert (tmp_path / ".neuron-harness" / "store.sqlite").exists()


def test_a_wrong_find_is_exit_1(tmp_path: Path) -> None:
    """With the input, and the command that shows it again."""
    subject = f"{PLANTED}:below_a_threshold"
    outcome = invoke(
        *("hunt", subject, "--as", "activation", "--evaluations", "20000"),
        *("--store", str(tmp_path / "s.sqlite")),
    )
    assert 1 == outcome.status
    assert "FAILED: output ulps 8.5 at 0x1.30fc1931f09" in outcome.out
    (again, *_) = (line for line in outcome.out.splitlines() if line.startswith("again: "))
    explained = invoke(*shlex.split(again)[2:])
    assert 0 == explained.status
    assert "wrong" in explained.out


@pytest.mark.parametrize(
    "subject",
    ["math:tanh", f"{PLANTED}:without_gradient", f"{PLANTED}:by_exponentials", "torch-tanh"],
)
def test_what_is_printed_as_again_shows_the_find_again(tmp_path: Path, subject: str) -> None:
    """Pasted as it stands, for subjects without a gradient too: the error that the table has, or
    the exception."""
    outcome = invoke(
        *("hunt", subject, "--as", "activation", "--evaluations", "9000", "--seed", "3"),
        *("--store", str(tmp_path / "s.sqlite")),
    )
    commands = [line for line in outcome.out.splitlines() if line.startswith("again: ")]
    assert commands
    shown = []
    for command in commands:
        program, *arguments = shlex.split(command.removeprefix("again: "))
        assert "neuron-harness" == program
        explained = invoke(*arguments)
        assert (0, "") == (explained.status, explained.err)
        shown.append(explained.out.split("\n\n")[0])
    (value,) = re.findall(r"^output +│ ulps +│ +([\d.]+)", outcome.out, re.M)
    errors = [
        abs(float(row.split()[4]))
        for text in shown
        for row in text.splitlines()
        if row.startswith("output") and row.split()[4] != "-"
    ]
    # The smallest case keeps 99 % of the error.
    assert any(0.99 * float(value) - 0.001 <= error <= float(value) for error in errors)
    if "by_exponentials" in subject:
        assert any("raised OverflowError" in text for text in shown)


def test_a_call_that_does_not_return_is_told(tmp_path: Path) -> None:
    """Exit 3 where nothing else was tried, with the reason."""
    outcome = invoke(
        *("hunt", f"{PLANTED}:stuck", "--as", "activation", "--budget", "2"),
        *("--store", str(tmp_path / "s.sqlite")),
    )
    assert 3 == outcome.status
    assert re.search(r"^a call on \d+ inputs from .* did not return within", outcome.out, re.M)


def test_json_goes_alone_to_standard_output(tmp_path: Path) -> None:
    """What people read goes to standard error then."""
    outcome = invoke(
        *("hunt", "math:tanh", "--as", "activation", "--evaluations", "20000", "--json", "-"),
        *("--store", str(tmp_path / "s.sqlite")),
    )
    assert 0 == outcome.status
    (entry,) = json.loads(outcome.out)["sweeps"]
    assert 20_000 == entry["hunt"]["evaluations"]
    assert "math:tanh is called on Python floats" in outcome.err
    assert "20,000 inputs" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("textbook", "--budget", "-1"), 2, "--budget -1; expected"),
        (("textbook", "--budget", "soon"), 2, "'soon' is not a valid float"),
        (("textbook", "--evaluations", "0"), 2, "--evaluations 0; expected"),
        (("textbook", "--dtype", "float8"), 2, "unknown dtype 'float8'"),
        (("textbook", "--seed", "-3"), 2, "--seed -3; expected"),
        (("textbok",), 2, "did you mean textbook?"),
        (("textbook", "--device", "tpu"), 2, "unknown device 'tpu'"),
        (("math:tanh", "--as", "activation", "--dtype", "float32"), 3, "works on Python floats"),
        (("math:tanh", "--evaluations", "9"), 3, "math:tanh cannot be swept"),
        (("nowhere:tanh",), 3, "there is no module 'nowhere'"),
        (("textbook", "--json", "/nowhere/at/all.json"), 2, "cannot be written"),
        (("textbook", "--store", "/dev/null/s", "--evaluations", "9"), 3, "cannot be opened"),
    ],
)
def test_a_bad_request_is_one_line(
    arguments: tuple[str, ...],
    status: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The value, what was expected, and the exit status that is documented."""
    monkeypatch.chdir(tmp_path)
    outcome = invoke("hunt", *arguments)
    assert status == outcome.status, outcome.err
    assert message in outcome.err
    assert 1 == outcome.err.count("\n")
    assert "" == outcome.out


def test_ctrl_c_reports_what_was_found(tmp_path: Path) -> None:
    """Exit 5, marked incomplete, with the finds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "hunt", "torch-tanh", "--budget", "300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
        text=True,
        # A shell that runs the tests in the background lets them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    store = tmp_path / ".neuron-harness" / "store.sqlite"
    deadline = time.monotonic() + 60
    while not store.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(3)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert 5 == process.returncode, err
    assert "torch-tanh float64 cpu: INCOMPLETE" in out
    assert "stopped: interrupted; what was found until then is kept" in out
    assert "output" in out


def test_help_says_what_the_statuses_mean() -> None:
    """In a process of its own, without torch."""
    outcome = spawn("hunt", "--help")
    assert 0 == outcome.status
    for option in ("--budget", "--evaluations", "--seed", "--cold", "--no-known", "--json"):
        assert option in outcome.out
