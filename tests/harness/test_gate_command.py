"""The command `gate`, from what is typed to the exit status; its comparisons are real ones."""

from __future__ import annotations

import json
import subprocess
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.harness.bench.conftest import NEURON, _stem, one_stem
from tests.harness.bench.test_checkout import git
from tests.harness.command import invoke

__all__ = ["_stem", "one_stem"]

SUMS = "[(x * w).sum() for _ in range({})]"
QUICK = ("--dtype", "float32", "--n", "8", "--seed", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a project of one's own with one commit: `mine.py`, whose neuron is as it should
    be. The working directory."""
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder, "pass")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "as it should be")
    monkeypatch.chdir(folder)
    return folder


def write(folder: Path, extra: str, attribute: str = "neuron", file: str = "mine.py") -> None:
    """A file with a neuron that does something extra."""
    text = NEURON.format(extra=extra).replace("def neuron", f"def {attribute}")
    (folder / file).write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("one_stem")
def test_a_real_regression_is_exit_4(here: Path) -> None:
    """Thirty sums more in the working tree than in the commit; the JSON says the same."""
    write(here, SUMS.format(30))
    outcome = invoke(
        *("gate", "--against", "HEAD", "mine.py:neuron", "--pairs", "10", "--json", "out.json"),
        *QUICK,
    )
    assert 4 == outcome.status, outcome.out + outcome.err
    assert "regression: time" in outcome.out
    assert f"old: HEAD ({git(here, 'rev-parse', 'HEAD')[:12]}); new: the working tree" in (
        outcome.out
    )
    record = json.loads((here / "out.json").read_bytes())
    assert ("regression", 4) == (record["verdict"], record["exit_status"])
    assert record["time"][0]["low"] > 1.03


@pytest.mark.slow
@pytest.mark.usefixtures("one_stem")
def test_a_real_improvement_is_exit_0(here: Path) -> None:
    """And the other way round."""
    write(here, SUMS.format(30), file="other.py")
    outcome = invoke("gate", "other.py:neuron", "mine.py:neuron", "--pairs", "10", *QUICK)
    assert 0 == outcome.status, outcome.out + outcome.err
    assert "old: other.py:neuron; new: mine.py:neuron" in outcome.out


@pytest.mark.slow
@pytest.mark.usefixtures("one_stem")
def test_more_memory_is_exit_4(here: Path) -> None:
    """A kilobyte more: counted, not timed."""
    write(here, "kept = torch.empty(256)")
    outcome = invoke(
        *("gate", "--against", "HEAD", "mine.py:neuron", "--pairs", "10", *QUICK),
        *("--min-effect", "90"),
    )
    assert 4 == outcome.status, outcome.out + outcome.err
    assert "regression: memory" in outcome.out


@pytest.mark.usefixtures("one_stem")
def test_a_subject_that_is_new_is_an_error(here: Path) -> None:
    """The commit has none of that name."""
    write(here, "pass", attribute="renamed")
    outcome = invoke("gate", "--against", "HEAD", "mine.py:renamed", *QUICK)
    assert 3 == outcome.status
    assert "cannot be timed on the old side" in outcome.err
    assert 1 == len(outcome.err.splitlines())


@pytest.mark.usefixtures("one_stem")
def test_a_subject_that_is_gone_is_an_error(here: Path) -> None:
    """The working tree has none of that name any more."""
    write(here, "pass", attribute="renamed")
    outcome = invoke("gate", "--against", "HEAD", "mine.py:neuron", *QUICK)
    assert 3 == outcome.status
    assert "no attribute 'neuron'" in outcome.err


@pytest.mark.usefixtures("one_stem")
def test_what_is_left_out_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload is left out by name alone, and the report names it."""
    outcome = invoke(
        *("gate", "mine.py:neuron", "mine.py:neuron", "--dtype", "float32", "--n", "8,9"),
        *("--pairs", "1", "--without", "mine.py:neuron float32 n=9"),
    )
    assert 5 == outcome.status, outcome.err
    assert "left out, as asked: mine.py:neuron float32 n=9" in outcome.out
    assert "n=9  " not in outcome.out


@pytest.mark.usefixtures("one_stem")
def test_disabled_by_an_empty_measurement_is_no_pass(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a flag that skips the timing: a turn without times is an error."""
    from harness.bench.runner import Runner

    monkeypatch.setattr(Runner, "_time", lambda self, children, names: {"old": {}, "new": {}})
    outcome = invoke("gate", "mine.py:neuron", "mine.py:neuron", "--pairs", "2", *QUICK)
    assert 3 == outcome.status
    assert "no turn has measured it on any side" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "nothing to compare with; expected --against REV, or two subjects"),
        (("textbook",), 2, "nothing to compare with"),
        (("a", "b", "c"), 2, "3 subjects; expected one with --against"),
        (("a", "b", "--against", "HEAD"), 2, "2 subjects and --against"),
        (("--against", "no-such", "mine.py:neuron"), 2, "--against 'no-such' is no commit"),
        (("--against", "HEAD"), 3, "is no clone of neuron-harness"),
        (("--against", "HEAD", "--n", "8"), 2, "--dtype, --n and --as are of a subject's"),
        (("mine.py:neuron", "mine.py:none"), 3, "no attribute 'none'"),
        (("textbook", "mine.py:neuron", "--dtype", "float8"), 2, "unknown dtype 'float8'"),
        (("textbook", "mine.py:neuron", "--n", "-1"), 2, "--n '-1' is no length"),
        (("textbook", "mine.py:neuron", "--n", ","), 2, "--n ',' names nothing"),
        (("textbook", "mine.py:neuron", "--device", "tpu"), 2, "unknown device 'tpu'"),
        (("textbook", "mine.py:neuron", "--min-effect", "0"), 2, "--min-effect 0"),
        (("textbook", "mine.py:neuron", "--min-effect", "nan"), 2, "--min-effect nan"),
        (("textbook", "mine.py:neuron", "--pairs", "0"), 2, "--pairs 0; expected 1 to 1000"),
        (("textbook", "mine.py:neuron", "--threads", "0"), 2, "--threads 0"),
        (("textbook", "mine.py:neuron", "--timeout", "inf"), 2, "--timeout inf"),
        (("textbook", "mine.py:neuron", "--seed", "-1"), 2, "--seed -1"),
        (("textbook", "mine.py:neuron", "--without", "x"), 2, "--without 'x' names no workload"),
        (("textbook", "mine.py:neuron", "--without", "textbook"), 2, "leaves no workload"),
        (("--against", "HEAD", "mine.py:neuron", "--build", "exit 3"), 3, "ended with status 3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_compared(
    here: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    """One line, before anything is timed."""
    outcome = invoke("gate", *arguments)
    assert status == outcome.status, outcome.out + outcome.err
    assert message in outcome.err
    assert 1 == len(outcome.err.splitlines())


def test_no_repository_is_exit_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder that is in none."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "pass")
    outcome = invoke("gate", "--against", "HEAD", "mine.py:neuron")
    assert 3 == outcome.status
    assert "is in no git repository" in outcome.err


@pytest.mark.usefixtures("one_stem")
def test_a_proof_is_a_table_of_rates(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With so few turns it says that, and exits 3; with more it is a table and JSON."""
    arguments = ("gate", "--prove", "mine.py:neuron", "--pairs", "9", *QUICK)
    assert 3 == invoke(*arguments, "--budget", "0.001").status
    monkeypatch.setattr("harness.bench.prove.FEWEST_TURNS", 2)
    monkeypatch.setattr("harness.bench.prove.RUNS", 10)
    ticks = count()
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("harness.bench.prove.time", clock)
    outcome = invoke(*arguments, "--budget", "8", "--json", "proof.json")
    assert 0 == outcome.status, outcome.err
    record = json.loads((here / "proof.json").read_bytes())
    assert "neuron-harness/gate-proof/1" == record["schema"]
    assert [0.0, 0.01, 0.02, 0.03, 0.05, 0.10] * 2 == [each["effect"] for each in record["drawn"]]
    assert record["drawn"][5]["realised"] > record["drawn"][0]["realised"]
    assert "injected" in outcome.out


@pytest.mark.slow
def test_the_suite_against_itself_in_processes_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole command in a copy of this project: no regression where nothing has changed; and a
    subject that the working tree has lost is an error though the suite has no name for it."""
    from tests.harness.command import COMMAND, ROOT, environment

    top = tmp_path / "clone"
    top.mkdir()
    for package in ("harness", "reference"):
        subprocess.run(["cp", "-r", str(ROOT / package), str(top)], check=True)
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "then")

    def gate(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, "gate", "--against", "HEAD", *arguments],
            cwd=top,
            env={**environment(), "PYTHONPATH": str(top)},
            capture_output=True,
            text=True,
        )

    same = gate("--pairs", "12")
    assert same.returncode in (0, 5), same.stdout + same.stderr
    assert "regression: time" not in same.stdout
    registry = top / "harness" / "subjects" / "registry.py"
    text = registry.read_text()
    assert '"sigmoid": ' in text
    registry.write_text(text.replace('"sigmoid": ', '"logistic": '))
    renamed = gate("--pairs", "1")
    assert 3 == renamed.returncode
    assert "'logistic float32 n=4096' cannot be timed on the old side" in renamed.stderr
    left_out = gate("--pairs", "1", "--without", "logistic")
    assert 3 == left_out.returncode
    assert "'sigmoid' is there on the old side and not on the new side" in left_out.stderr
