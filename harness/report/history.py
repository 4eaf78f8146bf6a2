"""All runs of all nights, in one SQLite file.

A run is one row, so it is there whole or not at all, and its key follows from its content, so that
to store it twice is to store it once. Rows of runs are plain JSON, also seen through the view
`figures` (`sqlite3 FILE "SELECT night, subject, max_ulp FROM figures"`); details, which are large,
are compressed. The file has a rollback journal and no second file beside it when it is at rest, so
that it can be copied; a commit is on the disk when `add` returns.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from harness.database import Database, Schema, StoreError
from harness.report.record import Details, Run, decode, encode

_SCHEMA: Final = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    night TEXT NOT NULL,
    machine TEXT NOT NULL,
    started REAL NOT NULL,
    content TEXT NOT NULL,
    details BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_by_time ON runs (started, id);
CREATE VIEW figures AS
SELECT runs.night, runs.started, runs.id AS run,
    json_extract(row.value, '$.subject') AS subject,
    json_extract(row.value, '$.dtype') AS dtype,
    json_extract(row.value, '$.device') AS device,
    json_extract(row.value, '$.machine') AS machine,
    json_extract(row.value, '$.look') AS look,
    json_extract(row.value, '$.passed') AS passed,
    json_extract(figure.value, '$.quantity') AS quantity,
    json_extract(figure.value, '$.grade') AS grade,
    json_extract(figure.value, '$.max_ulp') AS max_ulp
FROM runs, json_each(runs.content, '$.rows') AS row, json_each(row.value, '$.figures') AS figure
"""
_details = msgspec.json.Decoder(tuple[Details, ...])


class History(Database):
    """An open history; close it, or use it in a `with` statement. For one thread.

    Every method raises StoreError where the file cannot be read or written.
    """

    schema = Schema(
        "history",
        0x4E484859,  # "NHHY"
        (_SCHEMA,),
        ("journal_mode = DELETE", "synchronous = FULL"),
    )

    def add(self, runs: Iterable[Run]) -> list[Run]:
        """Store runs, all or none; what was not there yet."""
        rows = [_row(run) for run in runs]
        added = []
        with self._writing():
            for run, row in rows:
                cursor = self._connection.execute(
                    "INSERT OR IGNORE INTO runs (id, night, machine, started, content, details)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    row,
                )
                if cursor.rowcount:
                    added.append(run)
        return added

    def runs(self) -> list[Run]:
        """All runs without their details, the oldest first."""
        with self._explained():
            contents = self._connection.execute(
                "SELECT content FROM runs ORDER BY started, id"
            ).fetchall()
        return [self._decoded(content) for (content,) in contents]

    def ids(self) -> list[tuple[str, str]]:
        """The identity and night of every run, the oldest first."""
        with self._explained():
            return self._connection.execute(
                "SELECT id, night FROM runs ORDER BY started, id"
            ).fetchall()

    def whole(self, night: str | None = None) -> Iterator[Run]:
        """Runs with their details, the oldest first: all of them, or those of one night."""
        with self._explained():
            found = self._connection.execute(
                "SELECT content, details FROM runs WHERE ? IN (night, '') ORDER BY started, id",
                (night or "",),
            )
            for content, details in found:
                yield self._whole(content, details)

    def _whole(self, content: str, details: bytes) -> Run:
        run = self._decoded(content)
        try:
            found = _details.decode(zlib.decompress(details))
        except (msgspec.DecodeError, zlib.error) as error:
            raise StoreError(
                f"{self._path}: a run of {run.night} is damaged ({error}); expected its details; "
                "restore the file, or import an export of it into a new one",
                lost=True,
            ) from None
        return msgspec.structs.replace(run, details=found)

    def _decoded(self, content: str) -> Run:
        try:
            return decode(content.encode())
        except ValueError as error:
            raise StoreError(
                f"{self._path}: {error}; restore the file, or import an export of it into a new "
                "one",
                lost=True,
            ) from None


def _row(run: Run) -> tuple[Run, tuple[str, str, str, float, str, bytes]]:
    # As it will be read: an integer in the place of a float would be another text, so another key.
    run = decode(encode(run))
    bare = msgspec.structs.replace(run, details=())
    return run, (
        run.id,
        run.night,
        run.machine,
        run.started,
        encode(bare).decode(),
        zlib.compress(msgspec.json.encode(run.details)),
    )


def export_lines(history: History, night: str | None = None) -> Iterator[bytes]:
    """Runs as lines of JSON, each with its line end."""
    for run in history.whole(night):
        yield encode(run) + b"\n"


def import_lines(history: History, lines: Iterable[bytes]) -> tuple[int, int]:
    """Store what `export_lines` gave, all or none: how many runs are new, and how many there were.

    Raises ValueError, which names the line, for one that is no run.
    """
    runs = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            runs.append(decode(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return len(history.add(runs)), len(runs)
