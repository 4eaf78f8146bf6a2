"""The command `bench`: a table, JSON, errors of one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import invoke


def test_a_table_and_the_same_as_json(tmp_path: Path) -> None:
    """One row for each subject and length, exit 0; nothing of the profiler's on either stream."""
    file = tmp_path / "bench.json"
    outcome = invoke(
        *("bench", "textbook", "aten-tanh-gradient", "--quick", "--dtype", "float32", "--n", "0,8"),
        *("--device", "cpu", "--json", str(file)),
    )
    assert 0 == outcome.status, outcome.err
    assert "" == outcome.err
    rows = [line for line in outcome.out.splitlines() if line.startswith(("textbook", "aten"))]
    assert 4 == len(rows)
    record = json.loads(file.read_bytes())
    assert [0, 0, 8, 8] == [line["n"] for line in record["benchmarks"]]
    assert [] == record["engines"]


def test_json_alone_on_standard_output() -> None:
    """With - the table goes to standard error."""
    outcome = invoke(
        *("bench", "textbook", "--quick", "--dtype", "float32", "--n", "8", "--device", "cpu"),
        *("--json", "-"),
    )
    assert "neuron-harness/bench/1" == json.loads(outcome.out)["schema"]
    assert "us/call" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("textbook", "--dtype", "float8"), 2, "unknown dtype 'float8'"),
        (("textbook", "--n", "many"), 2, "--n 'many' is no length"),
        (("textbook", "--threads", "0"), 2, "--threads 0"),
        (("textbook", "--device", "tpu"), 2, "unknown device 'tpu'"),
        (("texbook",), 2, "did you mean textbook?"),
        (("math:tanh", "--n", "8", "--device", "cpu"), 3, "nothing could be timed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    status: int,
    message: str,
) -> None:
    """One line: what, what was expected, what to do."""
    monkeypatch.chdir(tmp_path)
    outcome = invoke("bench", *arguments, "--quick")
    assert status == outcome.status, outcome.out
    assert message in outcome.err
    assert 1 == len(outcome.err.splitlines())
