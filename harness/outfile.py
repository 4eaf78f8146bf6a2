"""Files a run ends with: known to be writable before it starts, and never left half written."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from harness.errors import UsageError


class OutFile:
    """A file that `write` replaces in one step; "-" is standard output.

    Raises UsageError at once if the file cannot be written, so that no run is lost for it.
    """

    def __init__(self, option: str, name: str) -> None:
        self._path = None if name == "-" else Path(name)
        if self._path is None:
            return
        if self._path.is_dir():
            raise UsageError(f"{option} {name} is a folder; expected a file; add a file's name")
        try:
            descriptor, temporary = tempfile.mkstemp(dir=self._path.absolute().parent)
            os.close(descriptor)
            os.unlink(temporary)
            if self._path.exists():
                with self._path.open("ab"):
                    pass
        except OSError as error:
            raise UsageError(
                f"{option} {name} cannot be written ({error.strerror}); expected a writable "
                "place; create the folder or choose another"
            ) from None

    def write(self, content: bytes) -> None:
        """Replace the file by `content`. Raises UsageError if the disk refuses it."""
        if self._path is None:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        target = self._path.absolute()
        if target.exists() and not target.is_file():
            # A device or a pipe: there is nothing to replace.
            target.write_bytes(content)
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise UsageError(
                f"{target} cannot be written ({error.strerror}); expected room for "
                f"{len(content)} bytes; free some or choose another place"
            ) from None
