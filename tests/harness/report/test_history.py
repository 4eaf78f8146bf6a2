"""The history: what was stored is there whole, whoever else writes, dies or fills the disk."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.report import history as history_module
from harness.report.history import History, export_lines, import_lines
from harness.report.record import Run, decode, encode
from harness.store import StoreError
from tests.harness.report.made import details, row, run

ROOT = Path(__file__).parents[3]
#: Writes nights until it is killed, and says of each when it is stored.
WRITER = """
import sys
from harness.report.history import History
from tests.harness.report.made import details, run
for number in range(int(sys.argv[3])):
    with History.open(sys.argv[1]) as history:
        made = run(night=f"{sys.argv[2]}-{number}", started=number, details=[details()] * 40)
        (stored,) = history.add([made])
    print(stored.id, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "history.sqlite"


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def stored(path: Path) -> dict[str, Run]:
    """Every run by its key; that the key is that of its content says that it is whole."""
    with History.open(path) as history:
        runs = list(history.whole())
        ids = [id for id, _ in history.ids()]
    assert ids == [each.id for each in runs]
    return dict(zip(ids, runs, strict=True))


def test_a_run_comes_back_as_it_was(path: Path) -> None:
    """With its details, and without; the oldest first."""
    late, early = run(started=2.0, details=[details()]), run(night="before", started=1.0)
    with History.open(path) as history:
        assert [late, early] == history.add([late, early])
    with History.open(path) as history:
        assert [early, late] == list(history.whole())
        assert [late] == list(history.whole("2026-01-01"))
        assert [early, run(started=2.0)] == history.runs()


def test_storing_a_run_twice_is_storing_it_once(path: Path) -> None:
    """The key follows from the content; what is another in any way is another run."""
    with History.open(path) as history:
        assert 1 == len(history.add([run()]))
        assert [] == history.add([run()])
        assert 1 == len(history.add([run(seconds=2.0)]))


def test_importing_an_export_gives_the_same_history(path: Path, tmp_path: Path) -> None:
    """Twice too, and over a part of it."""
    runs = [run(started=float(number), details=[details()]) for number in range(3)]
    with History.open(path) as history:
        history.add(runs)
        lines = list(export_lines(history))
    with History.open(tmp_path / "other.sqlite") as other:
        other.add(runs[1:2])
        assert (2, 3) == import_lines(other, lines)
        assert (0, 3) == import_lines(other, lines)
        assert lines == list(export_lines(other))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(b"{}", "line 2: not a run", id="a line is no run"),
        pytest.param(b"\xff\xfe", "line 2: not a run", id="a line is no text"),
        pytest.param(b'{"night":', "line 2: not a run", id="a line is cut off"),
        pytest.param(
            encode(run(schema="neuron-harness/run/9")), "its schema is", id="a newer schema"
        ),
    ],
)
def test_an_import_with_a_bad_line_stores_nothing(path: Path, line: bytes, expected: str) -> None:
    """The line is named, in one line."""
    with History.open(path) as history:
        with pytest.raises(ValueError, match=expected) as caught:
            import_lines(history, [encode(run()), line])
        assert "\n" not in str(caught.value)
        assert [] == history.runs()


def test_figures_can_be_asked_for_in_sql(path: Path) -> None:
    """The view has one row for each figure."""
    with History.open(path) as history:
        history.add([run([row(), row(dtype="float32")])])
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT night, dtype, quantity, max_ulp FROM figures").fetchall()
    connection.close()
    expected = [("2026-01-01", dtype, "output", 0.75) for dtype in ("float16", "float32")]
    assert expected == sorted(found)


def test_a_history_at_rest_is_one_file(path: Path) -> None:
    """So that it can be copied."""
    with History.open(path) as history:
        history.add([run()])
    assert [path.name] == os.listdir(path.parent)


def test_a_file_of_an_older_version_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the steps that it lacks, in one transaction, with what it holds."""
    with History.open(path) as history:
        history.add([run()])
    schema = History.schema
    newer = replace(schema, steps=(*schema.steps, "CREATE TABLE notes (text TEXT)"))
    monkeypatch.setattr(history_module.History, "schema", newer)
    for _ in range(2):
        with History.open(path) as history:
            assert [run()] == history.runs()
            history._connection.execute("SELECT * FROM notes")
    monkeypatch.setattr(history_module.History, "schema", schema)
    with pytest.raises(StoreError, match="history of version 2; this program reads up to 1"):
        History.open(path)


def test_an_update_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stays of the version that it was."""
    with History.open(path) as history:
        history.add([run()])
    schema = History.schema
    newer = replace(schema, steps=(*schema.steps, "CREATE TABLE notes (text TEXT); NONSENSE"))
    monkeypatch.setattr(history_module.History, "schema", newer)
    with pytest.raises(StoreError):
        History.open(path)
    monkeypatch.setattr(history_module.History, "schema", schema)
    assert [run().id] == list(stored(path))


def test_a_full_disk_is_one_line_and_loses_nothing(path: Path) -> None:
    """SQLite's own limit on pages stands for the disk's."""
    with History.open(path) as history:
        history.add([run()])
        history._connection.execute("PRAGMA max_page_count = 16")
        with pytest.raises(StoreError, match="the disk is full; free some space") as caught:
            history.add([run(night="large", environment={"text": "x" * 200_000})])
        assert "\n" not in str(caught.value)
        assert [run()] == history.runs()
        history._connection.execute("PRAGMA max_page_count = 10000")
        history.add([run(night="after")])
    assert {"2026-01-01", "after"} == {each.night for each in stored(path).values()}


def test_a_file_system_that_refuses_to_grow_a_file_loses_nothing(path: Path) -> None:
    """A limit on the size of files, in a process of its own, is met in the middle of a write."""
    with History.open(path) as history:
        history.add([run()])
    limit = path.stat().st_size + 4096

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    script = """
import sys
from harness.report.history import History
from harness.store import StoreError
from tests.harness.report.made import run
with History.open(sys.argv[1]) as history:
    try:
        history.add([run(night="large", environment={"text": "x" * 200_000})])
    except StoreError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        preexec_fn=limited,
    )
    assert "what was stored is kept" in done.stdout, done.stderr
    assert [run().id] == list(stored(path))


def test_a_run_whose_details_are_damaged_is_named(path: Path) -> None:
    """In one line, with a remedy; nothing is guessed."""
    with History.open(path) as history:
        history.add([run()])
        history._connection.execute("UPDATE runs SET details = x'00'")
        with pytest.raises(
            StoreError, match=r"a run of 2026-01-01 is damaged .* restore"
        ) as caught:
            list(history.whole())
        assert caught.value.lost


def test_two_writers_at_once_both_keep_their_nights(path: Path) -> None:
    """Each waits for its turn, from the moment the file is made."""
    writers = [writer(path, name, 15) for name in ("a", "b")]
    said = [each.communicate(timeout=120)[0].split() for each in writers]
    assert [0, 0] == [each.returncode for each in writers]
    assert 30 == len(stored(path))
    assert set(said[0]) | set(said[1]) == set(stored(path))


def kill_at_random(path: Path, times: int) -> None:
    """Writers killed at random moments, over one history."""
    generator = random.Random(1)
    done: set[str] = set()
    for number in range(times):
        with writer(path, f"w{number}", 10_000) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(generator.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read()
        # The last line may be cut off, if not lost.
        done |= {line for line in (first + rest).splitlines() if len(line) == 16}
        found = stored(path)
        assert done <= set(found)
    assert times <= len(done)


def test_nights_survive_kill_9(path: Path) -> None:
    """The history opens, no night is half there, none that was reported done is lost."""
    kill_at_random(path, 4)


@pytest.mark.slow
def test_nights_survive_kill_9_at_fifty_moments(path: Path) -> None:
    """As above, more often."""
    kill_at_random(path, 50)


def test_encoding_is_the_inverse_of_decoding() -> None:
    """To the last bit of every float, and None for what is none."""
    made = run([row()], details=[details()])
    assert made == decode(encode(made))
