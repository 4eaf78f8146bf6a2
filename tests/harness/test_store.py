"""The store: what was put is there, whoever else writes, dies or fills the disk."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from harness.store import Store, StoreError

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from harness.store import Store
with Store.open(sys.argv[1]) as store:
    run = int(sys.argv[2])
    for number in range(int(sys.argv[3])):
        store.put(run, [(f"{sys.argv[4]}{number:06d}", b"x" * 1000)])
        print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.sqlite"


def writer(path: Path, run: int, count: int, prefix: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(run), str(count), prefix],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def test_parts_of_a_run_come_back_in_the_order_of_their_names(path: Path) -> None:
    """What one connection puts another reads, bytes and all."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {"dtype": "float16"})
        store.put(run.id, [("b", b"\0\1"), ("a", b"")])
    with Store.open(path) as store:
        expected = [("a", b""), ("b", b"\0\1")]
        assert expected == list(store.parts(run.id))
        assert [run] == store.runs() == store.runs("sweep")
        assert [] == store.runs("hunt")


def test_a_part_takes_the_place_of_one_of_the_same_name(path: Path) -> None:
    """Putting twice is putting once."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        store.put(run.id, [("a", b"old")])
        store.put(run.id, [("a", b"new")])
        assert [("a", b"new")] == list(store.parts(run.id))


def test_latest_is_the_youngest_run_of_the_same_kind_and_identity(path: Path) -> None:
    """Other kinds and identities are other runs."""
    with Store.open(path) as store:
        store.begin("sweep", "identity", {})
        expected = store.begin("sweep", "identity", {"n": 2})
        store.begin("sweep", "other", {})
        store.begin("hunt", "identity", {})
        assert expected == store.latest("sweep", "identity")
        assert store.latest("sweep", "unknown") is None


def test_finish_gives_a_run_its_end(path: Path) -> None:
    """A run has no end until it is finished, and one not before its beginning after."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        assert run.finished is None
        store.finish(run.id)
        found = store.latest("sweep", "identity")
        assert found is not None and found.finished is not None
        assert found.finished >= found.created


def test_discard_deletes_a_run_and_its_parts_only(path: Path) -> None:
    """Parts of other runs stay."""
    with Store.open(path) as store:
        gone, kept = store.begin("sweep", "a", {}), store.begin("sweep", "b", {})
        store.put(gone.id, [("part", b"1")])
        store.put(kept.id, [("part", b"2")])
        store.discard(gone.id)
        assert [kept] == store.runs()
        assert [] == list(store.parts(gone.id))
        assert [("part", b"2")] == list(store.parts(kept.id))


def test_put_stores_all_parts_or_none(path: Path) -> None:
    """A part that cannot be stored takes those beside it with it."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        with pytest.raises(StoreError):
            store.put(run.id, [("a", b"1"), ("b", None)])  # type: ignore[list-item]
        assert [] == list(store.parts(run.id))


def test_a_full_disk_is_one_line_and_loses_nothing(path: Path) -> None:
    """SQLite's own limit on pages stands for the disk's."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        store.put(run.id, [("a", b"kept")])
        store._connection.execute("PRAGMA max_page_count = 10")
        with pytest.raises(StoreError, match=r"the disk is full; free some space") as caught:
            store.put(run.id, [("b", b"x" * 100_000)])
        assert "\n" not in str(caught.value)
        store._connection.execute("PRAGMA max_page_count = 1000")
        store.put(run.id, [("c", b"after")])
        assert [("a", b"kept"), ("c", b"after")] == list(store.parts(run.id))


def test_a_store_of_a_newer_version_is_refused(path: Path) -> None:
    """It is not read by guesswork, and not changed."""
    Store.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="store of version 99; this program reads up to 1"):
        Store.open(path)


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    """No tables are added to another program's file."""
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(StoreError, match="a database of something else"):
        Store.open(path)
    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert [("theirs",)] == tables


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda p: p.write_bytes(b"text" * 999), "it is not a store", id="text file"),
        pytest.param(lambda p: p.mkdir(), "it is a folder", id="folder"),
    ],
)
def test_what_is_no_store_is_one_line(tmp_path: Path, make, expected: str) -> None:  # type: ignore[no-untyped-def]
    """The file, what is wrong with it, the remedy."""
    path = tmp_path / "thing"
    make(path)
    pattern = rf"{re.escape(str(path))}: {expected}.*; name another"
    with pytest.raises(StoreError, match=pattern):
        Store.open(path)


def test_a_damaged_store_is_to_be_left_and_begun_anew(path: Path) -> None:
    """What was stored is lost, so that nothing is promised of it."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        store.put(run.id, [(f"{number:03d}", b"x" * 1000) for number in range(100)])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with Store.open(path) as store, pytest.raises(StoreError) as caught:
        list(store.parts(run.id))
    assert f"{path}: it is damaged; move it away and begin anew" == str(caught.value)
    assert caught.value.lost


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """A file stands where the folder should."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(tmp_path / "file" / "store.sqlite")


def test_kill_loses_nothing_that_was_put(path: Path) -> None:
    """Every part whose put had returned is there after kill -9, and the store takes more."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        process = writer(path, run.id, 100_000, "p")
        assert process.stdout is not None
        last = [int(process.stdout.readline()) for _ in range(200)][-1]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        last = max([last, *map(int, process.stdout.read().split("\n")[:-1])])
        process.stdout.close()
    with Store.open(path) as store:
        names = [name for name, _ in store.parts(run.id)]
        assert [f"p{number:06d}" for number in range(last + 1)] == names[: last + 1]
        store.put(run.id, [("after", b"")])


def test_two_writers_take_turns(path: Path) -> None:
    """Neither fails and nothing of either is lost."""
    with Store.open(path) as store:
        run = store.begin("sweep", "identity", {})
        processes = [writer(path, run.id, 150, prefix) for prefix in "ab"]
        for process in processes:
            process.communicate(timeout=60)
        assert [0, 0] == [process.returncode for process in processes]
        assert 300 == len(list(store.parts(run.id)))


def test_two_that_make_the_file_at_once_make_one_store(path: Path) -> None:
    """Of those that find no tables one makes them and the others wait."""
    code = "import sys; from harness.store import Store; Store.open(sys.argv[1]).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT) for _ in range(4)
    ]
    assert [0, 0, 0, 0] == [process.wait(timeout=60) for process in processes]
    with Store.open(path) as store:
        assert [] == store.runs()


def test_a_store_that_is_being_made_is_not_taken_for_something_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if its maker comes between two looks at its header: the file is seen at one moment."""
    path.parent.mkdir()
    looks = 0
    pragma = Store._pragma

    def look(store: Store, name: str) -> int:
        nonlocal looks
        value = pragma(store, name)
        looks += 1
        if looks == 1:
            # Cannot write while this one reads; would else make the store here.
            other = sqlite3.connect(path, timeout=0.1, isolation_level=None)
            with suppress(sqlite3.OperationalError):
                other.execute("PRAGMA user_version = 1")
            other.close()
        return value

    monkeypatch.setattr(Store, "_pragma", look)
    with Store.open(path) as store:
        assert [] == store.runs()
