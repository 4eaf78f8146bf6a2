"""Results on disk: runs and their parts in one SQLite file.

A run is one piece of work (a sweep, a hunt) under an identity, a text that is equal exactly where
results may be put together. Its parts are named bytes, such as the record of a block; a part that
was put is there for good once `put` returns, whatever happens to the process. The file is in
write-ahead mode, so that readers and a second writer get along; writers take turns.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.database import Database, Schema, StoreError

__all__ = ["DEFAULT", "Run", "Store", "StoreError"]

#: Where results are kept unless the user names another file: beside what is being worked on.
DEFAULT: Final = Path(".neuron-harness") / "store.sqlite"

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
_PRAGMAS: Final = (
    "foreign_keys = ON",
    "journal_mode = WAL",
    # A commit survives the death of the process. Only a power failure may take back the last
    # commits; it cannot damage the file.
    "synchronous = NORMAL",
)


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


class Store(Database):
    """An open store; close it, or use it in a `with` statement. For one thread.

    Every method raises StoreError where the file cannot be read or written.
    """

    schema = Schema("store", 0x4E485354, (_SCHEMA,), _PRAGMAS)  # "NHST"

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


_COLUMNS: Final = "id, kind, identity, description, created, finished"


def _run(row: tuple[Any, ...]) -> Run:
    id, kind, identity, description, created, finished = row
    return Run(id, kind, identity, json.loads(description), created, finished)
