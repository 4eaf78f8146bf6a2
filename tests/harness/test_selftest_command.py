"""The command `selftest`: exit statuses, tables, clean JSON, errors of one line, an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.selftest.contest import CONTESTANTS, Task, Trial
from tests.harness.command import environment, invoke, spawn
from tests.harness.selftest.made_up import CAUGHT, trial

QUICK = ("--examples", "40", "--budget", "0.05", "--seed", "1", "--dtype", "float32")


def test_all_caught_and_none_flagged_is_exit_0(tmp_path: Path) -> None:
    """Three tables, one line a fault, and the same as JSON and as a page."""
    files = tmp_path / "found.json", tmp_path / "found.md"
    outcome = invoke(
        *("selftest", "wrong-sign", "writes-weights", "raw-division", "dot", "raw-in-storage"),
        *QUICK,
        *("--json", str(files[0]), "--page", str(files[1])),
    )
    assert 0 == outcome.status, outcome.out + outcome.err
    (head,) = (line for line in outcome.out.splitlines() if line.startswith("fault "))
    assert list(CONTESTANTS) == [each.strip() for each in head.split("┃")[2:]]
    (line,) = (line for line in outcome.out.splitlines() if line.startswith("writes-weights"))
    assert "inputs-untouched" in line
    assert "3 of 3 faults caught, 0 of 2 sound subjects flagged" in outcome.out
    record = json.loads(files[0].read_bytes())
    assert {"raw-division", "wrong-sign", "writes-weights"} == {
        fault["name"] for fault in record["faults"]
    }
    assert "| `writes-weights`" in files[1].read_text(encoding="utf-8")


def test_a_fault_that_is_missed_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its name: here the harness is made blind."""
    monkeypatch.setattr("harness.selftest.contest._how", lambda verdict: ())
    outcome = invoke("selftest", "wrong-sign", *QUICK)
    assert 1 == outcome.status
    assert "MISSED: wrong-sign float32" in outcome.out
    assert "0 of 1 faults caught" in outcome.out


def test_a_sound_subject_that_is_flagged_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its name: here the harness cries wolf."""
    monkeypatch.setattr("harness.selftest.contest._how", lambda verdict: ("wolf",))
    outcome = invoke("selftest", "dot", *QUICK)
    assert 1 == outcome.status
    assert "FALSE ALARM: dot float32" in outcome.out
    assert "harness flags dot (float32: wolf)" in outcome.out


def test_json_goes_alone_to_standard_output() -> None:
    """What people read goes to standard error then."""
    outcome = invoke("selftest", "wrong-sign", *QUICK, "--json", "-")
    assert 0 == outcome.status
    assert "neuron-harness/selftest/1" == json.loads(outcome.out)["schema"]
    assert "1 of 1 faults caught" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("wrong-sgn",), 2, "did you mean wrong-sign?"),
        (("--group", "style"), 2, "unknown group 'style'; expected one of calculus"),
        (("--dtype", "float8"), 2, "unknown dtype 'float8'"),
        (("--dtype", ","), 2, "--dtype ',' names nothing"),
        (("--examples", "0"), 2, "--examples 0; expected 1 or more"),
        (("--seed", "-3"), 2, "--seed -3; expected 0 or more"),
        (("--budget", "0"), 2, "--budget 0; expected a number of seconds"),
        (("--budget", "nan"), 2, "--budget nan; expected a number of seconds"),
        (("--budget", "soon"), 2, "'soon' is not a valid float"),
        (("--jobs", "0"), 2, "--jobs 0; expected 1 to"),
        (("dot", "--group", "calculus"), 3, "nothing that was named"),
        (("--json", "/nowhere/at/all.json"), 2, "--json /nowhere/at/all.json cannot be written"),
        (("--page", "/nowhere/at/all.md"), 2, "--page /nowhere/at/all.md cannot be written"),
        (("--json", "-", "--page", "-"), 2, "--json and --page both name -"),
    ],
)
def test_a_bad_request_is_one_line(arguments: tuple[str, ...], status: int, message: str) -> None:
    """The value, what was expected, and the exit status that is documented."""
    outcome = invoke("selftest", *arguments)
    assert status == outcome.status, outcome.err
    assert message in outcome.err
    assert 1 == outcome.err.count("\n")
    assert "" == outcome.out


def test_an_interrupt_shows_what_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 5 where nothing was missed until then, in the table and in the JSON."""

    def stopping(task: Task) -> Trial:
        if task.dtype == "float64":
            raise KeyboardInterrupt
        return trial(task.subject, task.dtype, CAUGHT)

    monkeypatch.setattr("harness.selftest.run.contest", stopping)
    file = tmp_path / "found.json"
    outcome = invoke("selftest", "wrong-sign", "--json", str(file))
    assert 5 == outcome.status
    assert "3 of 3 faults caught" in outcome.out
    assert "stopped: interrupted; what was complete is shown" in outcome.out
    record = json.loads(file.read_bytes())
    assert "interrupted" == record["stopped"]
    assert ["float16", "bfloat16", "float32"] == list(record["faults"][0]["dtypes"])


def test_ctrl_c_is_exit_5() -> None:
    """Whenever it comes, and without a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "selftest", "dot", "--examples", "1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        # A shell ignores SIGINT in what it runs in the background, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(6)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert 5 == process.returncode, err
    assert "interrupted" in out + err
    assert "Traceback" not in err


def test_help_says_what_the_statuses_mean() -> None:
    """In a process of its own, without torch."""
    outcome = spawn("selftest", "--help")
    assert 0 == outcome.status
    for option in ("--group", "--dtype", "--examples", "--seed", "--budget", "--jobs", "--json"):
        assert option in outcome.out
    assert "Exit status: 0 the harness caught every fault" in " ".join(outcome.out.split())
