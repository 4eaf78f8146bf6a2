"""Results on disk: runs and their parts in one SQLite file.

A run is one piece of work (a sweep, a hunt) under an identity, a text that is equal exactly where
results may be put together. Its parts are named bytes, such as the record of a block; a part that
was put is there for good once `put` returns, whatever happens to the process. The file is in
write-ahead mode, so that readers and a second writer get along; writers take turns.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

#: Where results are kept unless the user names another file: beside what is being worked on.
DEFAULT: Final = Path(".neuron-harness") / "store.sqlite"

_APPLICATION_ID: Final = 0x4E485354  # "NHST", in the file's header
_SCHEMA_VERSION: Final = 1
_BUSY_SECONDS: Final = 30.0
_SCHEMA: Final = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    identity TEXT NOT NULL,
    description TEXT NOT NULL,
    created REAL NOT NULL,
    finished REAL
);
CREATE INDEX runs_by_identity ON runs (kind, identity);
CREATE TABLE parts (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;
"""


class StoreError(RuntimeError):
    """The store cannot be read or written. One line: the file, what is wrong, the remedy.

    `lost` says that what was stored is not to be counted on: the file is damaged.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


@dataclass(frozen=True, slots=True)
class Run:
    """One piece of work. `created` and `finished` are seconds since the epoch; `finished` is None
    until the work is complete."""

    id: int
    kind: str
    identity: str
    description: Mapping[str, Any]
    created: float
    finished: float | None


class Store:
    """An open store; close it, or use it in a `with` statement. For one thread.

    Every method raises StoreError where the file cannot be read or written.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """The store at `path`, made with its folder if it is not there.

        Raises StoreError for a file that is no store, or one of a newer version.
        """
        path = Path(path)
        if path.is_dir():
            raise StoreError(f"{path}: it is a folder; expected a file; name another file")
        try:
            if path.parent != Path():
                path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be opened ({error.strerror}); expected a writable place; "
                "name another file"
            ) from None
        except sqlite3.Error as error:
            raise _explained_error(path, error) from None
        store = cls(path, connection)
        try:
            store._prepare()
        except BaseException:
            connection.close()
            raise
        return store

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def begin(self, kind: str, identity: str, description: Mapping[str, Any]) -> Run:
        """A new run without parts; `description` is JSON that says what the run is."""
        now = time.time()
        with self._writing():
            cursor = self._connection.execute(
                "INSERT INTO runs (kind, identity, description, created) VALUES (?, ?, ?, ?)",
                (kind, identity, json.dumps(description), now),
            )
        return Run(int(cursor.lastrowid or 0), kind, identity, dict(description), now, None)

    def latest(self, kind: str, identity: str) -> Run | None:
        """The youngest run of this kind and identity, finished or not."""
        with self._explained():
            row = self._connection.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE kind = ? AND identity = ?"
                " ORDER BY id DESC LIMIT 1",
                (kind, identity),
            ).fetchone()
        return None if row is None else _run(row)

    def runs(self, kind: str | None = None) -> list[Run]:
        """All runs, or those of one kind, the oldest first."""
        with self._explained():
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE ? IN (kind, '') ORDER BY id", (kind or "",)
            ).fetchall()
        return [_run(row) for row in rows]

    def put(self, run: int, parts: Iterable[tuple[str | int, bytes]]) -> None:
        """Store parts of a run, all or none; a part takes the place of one of the same name."""
        rows = [(run, str(name), content) for name, content in parts]
        with self._writing():
            self._connection.executemany(
                "INSERT OR REPLACE INTO parts (run, name, content) VALUES (?, ?, ?)", rows
            )

    def parts(self, run: int) -> Iterator[tuple[str, bytes]]:
        """The parts of a run, by name as text."""
        with self._explained():
            yield from self._connection.execute(
                "SELECT name, content FROM parts WHERE run = ? ORDER BY name", (run,)
            )

    def finish(self, run: int) -> None:
        """Mark a run as complete."""
        with self._writing():
            self._connection.execute(
                "UPDATE runs SET finished = ? WHERE id = ?", (time.time(), run)
            )

    def discard(self, run: int) -> None:
        """Delete a run and its parts."""
        with self._writing():
            self._connection.execute("DELETE FROM runs WHERE id = ?", (run,))

    def _prepare(self) -> None:
        with self._explained():
            self._connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
            self._connection.execute("PRAGMA foreign_keys = ON")
            # In one transaction, for another process may be making the store at this moment.
            self._connection.execute("BEGIN")
            try:
                version = self._version()
            finally:
                self._connection.execute("ROLLBACK")
            if version != _SCHEMA_VERSION:
                self._create()
            self._connection.execute("PRAGMA journal_mode = WAL")
            # A commit survives the death of the process. Only a power failure may take back the
            # last commits; it cannot damage the file.
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def _version(self) -> int:
        """The schema's version, 0 for an empty file. Raises StoreError for any other file."""
        application = self._pragma("application_id")
        version = self._pragma("user_version")
        if application == _APPLICATION_ID and version > _SCHEMA_VERSION:
            raise StoreError(
                f"{self._path} is a store of version {version}; this program reads up to "
                f"{_SCHEMA_VERSION}; upgrade it, or name another file"
            )
        if application != _APPLICATION_ID and (version or self._pragma("schema_version")):
            raise StoreError(
                f"{self._path} is a database of something else; expected a store of "
                "neuron-harness, or no file; name another file"
            )
        return version

    def _create(self) -> None:
        # Exclusive from the first statement, so that of two that create the file one waits.
        self._connection.execute("BEGIN EXCLUSIVE")
        try:
            if self._version() != _SCHEMA_VERSION:
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _pragma(self, name: str) -> int:
        (value,) = self._connection.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, begun as a writer so that it waits for its turn instead of failing."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk has rolled back already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explained_error(self._path, error) from None


_COLUMNS: Final = "id, kind, identity, description, created, finished"


def _run(row: tuple[Any, ...]) -> Run:
    id, kind, identity, description, created, finished = row
    return Run(id, kind, identity, json.loads(description), created, finished)


def _explained_error(path: Path, error: sqlite3.Error) -> StoreError:
    """One line for what SQLite said: the file, the trouble, the remedy."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    trouble, remedy = {
        sqlite3.SQLITE_FULL: ("the disk is full", "free some space; what was stored is kept"),
        sqlite3.SQLITE_IOERR: (
            "the disk refused to read or write",
            "check its free space and state; what was stored is kept",
        ),
        sqlite3.SQLITE_BUSY: (
            f"another process has held it for {_BUSY_SECONDS:.0f} s",
            "wait for that to end, or name another file",
        ),
        sqlite3.SQLITE_READONLY: (
            "it cannot be written",
            "change its permissions, or name another",
        ),
        sqlite3.SQLITE_PERM: ("it cannot be opened", "change its permissions, or name another"),
        sqlite3.SQLITE_CANTOPEN: (
            "it cannot be opened",
            "expected a writable place; name another file",
        ),
        sqlite3.SQLITE_NOTADB: ("it is not a store", "name another file"),
        sqlite3.SQLITE_CORRUPT: ("it is damaged", "move it away and begin anew"),
    }.get(code, (f"SQLite says {error}", "name another file"))
    return StoreError(f"{path}: {trouble}; {remedy}", lost=code == sqlite3.SQLITE_CORRUPT)
