"""A SQLite file of this program's own: how it is made, kept up to date, written, complained of.

What was committed survives the death of the process. Writers wait for their turn; a transaction is
there whole or not at all. A file of another program, or of a newer version, is left as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

BUSY_SECONDS: Final = 30.0


class StoreError(RuntimeError):
    """The file cannot be read or written. One line: the file, what is wrong, the remedy.

    `lost` says that what was stored is not to be counted on: the file is damaged.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


@dataclass(frozen=True, slots=True)
class Schema:
    """What a file holds. `name` is what messages call it, `application` the number in its header;
    `steps` are scripts of SQL, one a version: the first makes the tables of version 1, each later
    one brings a file of the version before up to date. `pragmas` are set in every connection."""

    name: str
    application: int
    steps: Sequence[str]
    pragmas: Sequence[str]

    @property
    def version(self) -> int:
        """The version that this program writes."""
        return len(self.steps)


class Database:
    """An open file; close it, or use it in a `with` statement. For one thread.

    Every method raises StoreError where the file cannot be read or written.
    """

    schema: Schema

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The file at `path`, made with its folder if it is not there, brought up to date if it is
        of an older version.

        Raises StoreError for a file of something else, or one of a newer version.
        """
        path = Path(path)
        if path.is_dir():
            raise StoreError(f"{path}: it is a folder; expected a file; name another file")
        try:
            if path.parent != Path():
                path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be opened ({error.strerror}); expected a writable place; "
                "name another file"
            ) from None
        except sqlite3.Error as error:
            raise _explained_error(path, error) from None
        opened = cls(path, connection)
        try:
            opened._prepare()
        except BaseException:
            connection.close()
            raise
        return opened

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _prepare(self) -> None:
        with self._explained():
            self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
            # In one transaction, for another process may be making the file at this moment.
            self._connection.execute("BEGIN")
            try:
                version = self._version()
            finally:
                self._connection.execute("ROLLBACK")
            if version != self.schema.version:
                self._update()
            for pragma in self.schema.pragmas:
                self._connection.execute(f"PRAGMA {pragma}")

    def _version(self) -> int:
        """The schema's version, 0 for an empty file. Raises StoreError for any other file."""
        schema = self.schema
        application = self._pragma("application_id")
        version = self._pragma("user_version")
        if application == schema.application and version > schema.version:
            raise StoreError(
                f"{self._path} is a {schema.name} of version {version}; this program reads up to "
                f"{schema.version}; upgrade it, or name another file"
            )
        if application != schema.application and (version or self._pragma("schema_version")):
            raise StoreError(
                f"{self._path} is a database of something else; expected a {schema.name} of "
                "neuron-harness, or no file; name another file"
            )
        return version

    def _update(self) -> None:
        """Make the tables, or bring them up to date, in one step."""
        # Exclusive from the first statement, so that of two that create the file one waits.
        self._connection.execute("BEGIN EXCLUSIVE")
        try:
            for script in self.schema.steps[self._version() :]:
                for statement in script.split(";"):
                    self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {self.schema.application}")
            self._connection.execute(f"PRAGMA user_version = {self.schema.version}")
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
            raise _explained_error(self._path, error, self.schema.name) from None


def _explained_error(path: Path, error: sqlite3.Error, name: str = "store") -> StoreError:
    """One line for what SQLite said: the file, the trouble, the remedy."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    trouble, remedy = {
        sqlite3.SQLITE_FULL: ("the disk is full", "free some space; what was stored is kept"),
        sqlite3.SQLITE_IOERR: (
            "the disk refused to read or write",
            "check its free space and state; what was stored is kept",
        ),
        sqlite3.SQLITE_BUSY: (
            f"another process has held it for {BUSY_SECONDS:.0f} s",
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
        sqlite3.SQLITE_NOTADB: (f"it is not a {name}", "name another file"),
        sqlite3.SQLITE_CORRUPT: ("it is damaged", "move it away and begin anew"),
    }.get(code, (f"SQLite says {error}", "name another file"))
    return StoreError(f"{path}: {trouble}; {remedy}", lost=code == sqlite3.SQLITE_CORRUPT)
