"""Files a run ends with: known to be writable before it starts, and never left half written."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from errno import EACCES
from pathlib import Path

from harness.errors import UsageError

_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


class OutFile:
    """A file that `write` replaces in one step; "-" is standard output.

    A file that exists keeps its permissions, and a symbolic link stays one. What is not a file but
    can be written, a pipe or /dev/null, is written to.

    Raises UsageError at once if the file cannot be written, so that no run is lost for it.
    """

    def __init__(self, option: str, name: str) -> None:
        self.standard_output = name in _STANDARD_OUTPUT
        self._label = f"{option} {name}"
        if self.standard_output:
            return
        if not name:
            raise UsageError(f"{option} names no file; expected a file, or - for standard output")
        self._path = Path(name)
        try:
            self._check()
        except OSError as error:
            raise UsageError(
                f"{self._label} cannot be written ({error.strerror}); expected a writable "
                "place; create the folder or choose another"
            ) from None

    def _check(self) -> None:
        name = os.fspath(self._path)
        exists = self._path.exists()
        if self._path.is_dir() or self._label.endswith(os.sep):
            raise UsageError(f"{self._label} is a folder; expected a file; add a file's name")
        self._in_place = _is_descriptor(name) or (exists and not self._path.is_file())
        if exists and not os.access(name, os.W_OK):
            # Asked, not tried: to open a pipe would keep its reader waiting, or end it.
            raise PermissionError(EACCES, os.strerror(EACCES))
        if not self._in_place:
            # Links are followed here, so that it is not a link that is replaced.
            self._path = Path(os.path.realpath(name))
            temporary = self._temporary()
            temporary.touch(exist_ok=False)
            temporary.unlink()

    def same_as(self, other: OutFile) -> bool:
        """Whether what is written to both ends up in one place."""
        if self.standard_output or other.standard_output:
            return self.standard_output and other.standard_output
        return self._path == other._path and not self._in_place

    def write(self, content: bytes) -> None:
        """Replace the file by `content`. Raises UsageError if the disk refuses it."""
        if self.standard_output:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        try:
            if self._in_place:
                with self._path.open("ab") as stream:
                    stream.write(content)
            else:
                self._replace(content)
        except OSError as error:
            raise UsageError(
                f"{self._label} cannot be written ({error.strerror}); expected room for "
                f"{len(content)} bytes; free some or choose another place"
            ) from None

    def _replace(self, content: bytes) -> None:
        temporary = self._temporary()
        try:
            with temporary.open("xb") as stream:
                stream.write(content)
            if self._path.exists():
                temporary.chmod(stat.S_IMODE(self._path.stat().st_mode))
            os.replace(temporary, self._path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _temporary(self) -> Path:
        # Not from the file's name: one near the longest allowed would become too long.
        return self._path.with_name(f".{secrets.token_hex(8)}.part")


def _is_descriptor(name: str) -> bool:
    """Whether `name` is an open file of this process, such as /dev/stderr: never to be replaced."""
    return name == "/dev/stderr" or name.startswith(("/dev/fd/", "/proc/self/fd/"))
