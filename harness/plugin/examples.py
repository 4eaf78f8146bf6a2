"""The smallest case that failed, kept in hypothesis' example database from one run to the next."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress

from hypothesis.database import ExampleDatabase

from harness.case import Case


class Examples:
    """The cases of one test. `database` is that of hypothesis' settings; None keeps nothing.

    The key is the test's name, which holds its dtype and device.
    """

    def __init__(self, database: ExampleDatabase | None, test: str) -> None:
        self._database = database
        self._key = hashlib.sha384(f"neuron-harness/1/{test}".encode()).digest()

    def kept(self) -> Iterator[Case]:
        """The cases that failed before. What cannot be read as a case is forgotten."""
        if self._database is None:
            return
        for value in sorted(self._database.fetch(self._key), key=len):
            try:
                case = Case.from_json(value)
            except ValueError:
                self._database.delete(self._key, value)
            else:
                yield case

    def keep(self, case: Case) -> None:
        """Look at this case first next time. A database that cannot be written keeps nothing."""
        if self._database is not None:
            with suppress(OSError):
                self._database.save(self._key, case.to_json().encode())

    def forget(self, case: Case) -> None:
        """The case passes now."""
        if self._database is not None:
            self._database.delete(self._key, case.to_json().encode())
