"""The commands `report` and `history`: a night is run, kept, judged and shown; one ulp is seen."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import harness.cli as cli
from harness.examine import __main__ as examine
from harness.report import children, night_run
from harness.report.children import Ended, run_module
from harness.report.history import History
from tests.harness.command import Outcome, invoke, spawn
from tests.harness.report.made import details, row, run, with_ulps

SUBJECT = """
import torch

def tanh(x):
    y = torch.tanh(x)
    if {ulps}:
        with torch.no_grad():
            bits = y.view(torch.int32)
            inside = (y.abs() > 0.5) & (y.abs() < 0.9)
            y.copy_(torch.where(inside, bits + {ulps}, bits).view(torch.float32))
    return y
"""
PLAN = """
budget = {budget}
reports = "{folder}/reports"
history = "{folder}/history.sqlite"
close = {close}
{looks}
"""
HUNT = """
[[hunt]]
subjects = ["{folder}/mine.py:tanh", "torch-tanh"]
kind = "activation"
dtypes = ["float32"]
devices = ["cpu"]
evaluations = 4000
"""


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of a night run in this process, where torch is imported already."""

    def here(module: str, words: Sequence[str], output: Path, seconds: float) -> Ended:
        output.unlink(missing_ok=True)
        started = time.monotonic()
        status = cli.run(list(words)) if module == "harness" else examine.main(list(words))
        content = output.read_bytes() if output.exists() else None
        return Ended(status, content, "", time.monotonic() - started, False, False)

    monkeypatch.setattr(night_run, "run_module", here)


class Place:
    """A folder with a plan, a subject and what comes of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = folder / "plan.toml"
        self.reports = folder / "reports"
        self.writes = 0
        self.write()
        self.ulps(0)

    def write(self, looks: str = HUNT, budget: float = 300, close: str = "false") -> None:
        looks = looks.format(folder=self.folder)
        text = PLAN.format(folder=self.folder, looks=looks, budget=budget, close=close)
        self.plan.write_text(text)

    def ulps(self, ulps: int) -> None:
        # Another length each time: Python takes a file of the same second and length for the same.
        self.writes += 1
        text = SUBJECT.format(ulps=ulps) + "#" * self.writes + "\n"
        (self.folder / "mine.py").write_text(text)

    def report(self, *words: str) -> Outcome:
        return invoke("report", "--plan", str(self.plan), *words)

    def add(self, *runs: object) -> None:
        with History.open(self.folder / "history.sqlite") as history:
            history.add(runs)  # type: ignore[arg-type]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_one_ulp_more_in_one_subject_is_red_and_named(in_process: None, place: Place) -> None:
    """No baseline at first; accepted, green; an ulp worse, red; taken back, green again."""
    first = place.report("--night", "n1")
    assert (5, True) == (first.status, "no baseline: " in first.out)
    accepted = place.report("--accept")
    assert (0, True) == (accepted.status, "new: torch-tanh float32 cpu" in accepted.out)
    assert 0 == place.report("--night", "n2").status

    place.ulps(1)
    worse = place.report("--night", "n3")
    assert 1 == worse.status
    lines = [line for line in worse.out.splitlines() if line.startswith("worse: ")]
    assert lines and all("mine.py:tanh float32 cpu" in line for line in lines)
    page = (place.reports / "n3" / "index.html").read_text()
    assert ">RED</strong>" in page and "mine.py:tanh" in page
    compared = place.report("compare", "n2", "n3")
    assert (1, True) == (compared.status, "worse: " in compared.out)
    assert "torch-tanh float32" not in compared.out

    place.ulps(0)
    again = place.report("--night", "n4")
    assert (0, True) == (again.status, "green: all 2 looks as required" in again.out)
    assert "fixed" not in again.out
    assert 0 == place.report("compare", "n2", "n4").status


def test_every_look_has_its_details(in_process: None, place: Place) -> None:
    """A close look at every target: envelopes, curves, special values, throughput, worst inputs."""
    place.write(HUNT.replace("4000", "1000"), close="true")
    place.report("--night", "n1")
    report = json.loads((place.reports / "n1" / "report.json").read_text())
    (found,) = report["runs"]
    assert [] == found["left_out"]
    assert 2 == len(found["details"])
    for each in found["details"]:
        for name in ("envelopes", "curves", "specials", "throughput", "worst", "laws"):
            assert each[name], name
        assert all(entry["exact"] for entry in each["worst"])
    assert {"torch", "commit", "cpu", "cpu_capability", "threads", "flush_to_zero"} <= set(
        found["environment"]
    )


def test_a_budget_that_is_used_up_leaves_out_the_rest(in_process: None, place: Place) -> None:
    """By name, with the reason, on the page too; what was accepted is then not measured."""
    place.write(budget=1)
    found = place.report("--night", "n1")
    assert 3 == found.status
    page = (place.reports / "n1" / "index.html").read_text()
    assert "hunt torch-tanh float32 cpu: the budget of 1.0 s is used up" in page


def test_what_cannot_be_had_is_left_out_with_what_the_command_says(
    monkeypatch: pytest.MonkeyPatch, in_process: None, place: Place
) -> None:
    """And a command that dies is a failure, not a gap."""
    real = night_run.run_module

    def dies(module: str, words: Sequence[str], output: Path, seconds: float) -> Ended:
        if "torch-tanh" in words:
            return Ended(-11, None, "a fault", 1.0, False, False)
        if module == "harness":
            return Ended(3, None, "the subject cannot be imported", 1.0, False, False)
        return real(module, words, output, seconds)

    monkeypatch.setattr(night_run, "run_module", dies)
    found = place.report("--night", "n1")
    assert 1 == found.status
    assert "failed: torch-tanh float32 cpu" in found.out
    assert "the command was ended by signal 11; a fault" in found.out
    page = (place.reports / "n1" / "index.html").read_text()
    assert "mine.py:tanh float32 cpu: the subject cannot be imported" in page


def test_an_interrupted_night_keeps_what_it_found(
    monkeypatch: pytest.MonkeyPatch, in_process: None, place: Place
) -> None:
    """The first look is stored, the second left out, and the night is no pass."""
    real = night_run.run_module

    def interrupted(module: str, words: Sequence[str], output: Path, seconds: float) -> Ended:
        return real(module, words, output, seconds)._replace(interrupted="hunt" in words)

    monkeypatch.setattr(night_run, "run_module", interrupted)
    found = place.report("--night", "n1")
    assert (5, True) == (found.status, "interrupted" in found.out)
    (stored,) = History.open(place.folder / "history.sqlite").runs()
    assert (1, True) == (len(stored.rows), stored.interrupted)


def test_build_shows_a_stored_night_without_running_it(place: Place) -> None:
    """The latest, or the one that is named, judged by what is accepted now."""
    place.add(run(night="n1"), run([with_ulps(row(), 1.75)], night="n2", started=1.0))
    assert 0 == place.report("--night", "n1", "--accept").status
    assert 1 == place.report("build").status
    assert (place.reports / "n2" / "index.html").exists()
    assert 0 == place.report("--night", "n1", "build").status


def test_a_comparison_is_written_as_json(place: Place) -> None:
    """Nights by label; runs by the beginning of their identity."""
    runs = [run(night="n1"), run([with_ulps(row(), 1.75)], night="n2", started=1.0)]
    place.add(*runs)
    found = place.report("compare", "n1", runs[1].id[:8], "--json", "-")
    document = json.loads(found.out)
    assert ("neuron-harness/comparison/1", 1) == (document["schema"], found.status)
    (difference,) = document["differences"]
    assert ("worse", "output") == (difference["kind"], difference["quantity"])
    assert "worse: torch-tanh float16" in found.err


def test_an_export_is_imported_elsewhere_and_twice_changes_nothing(
    place: Place, tmp_path: Path
) -> None:
    """One night of two machines, merged from two files."""
    plan = ("--plan", str(place.plan))
    place.add(run(night="n1", details=[details()]), run(night="n2", started=1.0))
    file, other = tmp_path / "nights.jsonl", tmp_path / "other.sqlite"
    assert 0 == invoke("history", *plan, "export", str(file), "--night", "n1").status
    assert 1 == len(file.read_text().splitlines())
    for new in (1, 0):
        words = ("history", *plan, "--history", str(other), "import", str(file))
        assert f"{file}: 1 runs, {new} of them new\n" == invoke(*words).out
    back = invoke("history", *plan, "--history", str(other), "export")
    assert file.read_text() == back.out


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (("report", "build"), 3, "there is no history"),
        (("report", "--accept"), 3, "there is no history"),
        (("report", "compare", "a", "b"), 3, "there is no history"),
        (("report", "--night", "../up"), 2, "--night '../up'; expected a date"),
        (("report", "--accept", "build"), 2, "--accept with report build"),
        (("history", "export"), 3, "there is no history"),
        (("history", "import", "/no/such/file"), 2, "/no/such/file cannot be read"),
    ],
)
def test_an_error_of_the_user_is_one_line(
    place: Place, words: tuple[str, ...], status: int, expected: str
) -> None:
    """And the exit status that is documented."""
    command, *rest = words
    found = invoke(command, "--plan", str(place.plan), *rest)
    assert status == found.status
    assert expected in found.err and 1 == found.err.count("\n")


def test_a_plan_without_looks_is_refused(place: Place) -> None:
    """A night that looks at nothing would be green for ever."""
    place.plan.write_text("budget = 60\n")
    found = place.report()
    assert (2, True) == (found.status, "the plan has no looks" in found.err)


def test_the_schema_is_printed() -> None:
    """The one that is published."""
    published = Path(__file__).parents[2] / "reports" / "report.schema.json"
    assert published.read_text() == invoke("report", "schema").out


def test_a_command_is_ended_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Asked first, so that what it has is not lost; also where this process ignores interrupts, as
    the one that runs a subject does."""
    script = tmp_path / "slow.py"
    script.write_text(
        "import sys, time\n"
        "try:\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    open(sys.argv[1], 'w').write('so far')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    output = tmp_path / "out"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        found = run_module("slow", [str(output)], output, 2.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (True, b"so far") == (found.timed_out, found.output)
    assert found.seconds < 30


def test_a_command_that_does_not_heed_that_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After some patience, with the processes that it has started."""
    script = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)\n"
    (tmp_path / "deaf.py").write_text(script)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(children, "_GRACE", 0.5)
    found = run_module("deaf", [], tmp_path / "out", 1.0)
    assert (-9, None, True) == (found.status, found.output, found.timed_out)
    assert found.seconds < 30


@pytest.mark.slow
def test_a_night_of_real_commands(place: Place) -> None:
    """Each look in a process of its own: verify, sweep and hunt, and every command on the page
    shows the figures that stand beside it."""
    looks = """
[[verify]]
subjects = ["torch-tanh"]
dtypes = ["float16"]
devices = ["cpu"]
examples = 40

[[sweep]]
subjects = ["{folder}/mine.py:tanh"]
kind = "activation"
dtypes = ["float16"]
devices = ["cpu"]

[[hunt]]
subjects = ["aten-tanh-gradient"]
dtypes = ["float32"]
devices = ["cpu"]
evaluations = 2000
"""
    place.write(looks, close="true")
    found = spawn("report", "--plan", str(place.plan), "--night", "n1")
    assert 5 == found.status, found.err
    report = json.loads((place.reports / "n1" / "report.json").read_text())
    assert ["verify", "second order", "sweep", "hunt"] == [
        each["look"] for each in report["runs"][0]["rows"]
    ]
    assert [] == report["runs"][0]["left_out"]
    assert 0 == spawn("report", "--plan", str(place.plan), "--accept").status
    again = spawn("report", "--plan", str(place.plan), "--night", "n2")
    assert 0 == again.status, again.out
