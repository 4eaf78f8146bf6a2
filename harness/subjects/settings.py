"""Declarations in a project's own pyproject.toml, the nearest above the working directory:

    [tool.neuron-harness.subjects."path/to/kernels.py:neuron"]
    dtypes = ["float32", "bfloat16"]
    accumulation = "float32"
    activation-ulps = 4
    grades = { float32 = "stable", bfloat16 = "faithful" }

A key is a subject's name as a command takes it; a file's path is taken from the folder of the
pyproject.toml. Words are those of `harness.subject`, with hyphens or underscores.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from harness.errors import UsageError
from harness.inert import inert
from harness.subjects.declaration import Declaration, declaration

_FILE: Final = "pyproject.toml"
_TABLE: Final = "tool.neuron-harness"
_SUBJECTS: Final = "subjects"
#: What the table may hold; that of reports is not read here.
_TABLES: Final = (_SUBJECTS, "report")


def declared_in_project(
    name: str, directory: Path | None = None, *, reserved: Collection[str] = ()
) -> Declaration | None:
    """What the project around `directory` (the working directory, unless said) declares of the
    subject called `name`; None if there is no project, or it declares nothing of it.

    Raises UsageError, in one line that names the file and the key, for a file that is not TOML and
    anything in the table that is not known or outside its range, whichever subject it is about, and
    for a `reserved` key.
    """
    start = Path.cwd() if directory is None else directory
    file = _nearest(start.resolve())
    if file is None:
        return None
    found = None
    for key, words in _subjects(file).items():
        where = f'{_TABLE}.{_SUBJECTS}."{inert(key)}"'
        if key in reserved:
            raise UsageError(
                f"{file}: {where} declares something of a built-in subject; expected a subject of "
                "your own; leave it out"
            )
        if not isinstance(words, dict):
            raise UsageError(f"{file}: {where} is {words!r}; expected a table")

        def place(word: str, where: str = where) -> str:
            return f"{file}: {where}.{inert(word).replace('_', '-')}"

        declared = declaration(
            {word.replace("-", "_"): each for word, each in words.items()}, place
        )
        if _same(key, file.parent, name, start):
            found = declared
    return found


def _nearest(directory: Path) -> Path | None:
    for each in (directory, *directory.parents):
        file = each / _FILE
        if file.is_file():
            return file
    return None


def _subjects(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} cannot be read ({inert(str(error))}); expected TOML") from None
    tool = content.get("tool", {})
    table = tool.get("neuron-harness", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{file}: {_TABLE} is {table!r}; expected a table")
    for key in table:
        if key not in _TABLES:
            raise UsageError(
                f"{file}: {_TABLE}.{inert(key)} is not known; expected {' or '.join(_TABLES)}; a "
                f'subject is declared by [{_TABLE}.{_SUBJECTS}."NAME"]'
            )
    subjects = table.get(_SUBJECTS, {})
    if not isinstance(subjects, dict):
        raise UsageError(f"{file}: {_TABLE}.{_SUBJECTS} is {subjects!r}; expected a table")
    return subjects


def _same(key: str, folder: Path, name: str, start: Path) -> bool:
    """Whether a key, taken from one folder, and a name, taken from another, are one subject's."""
    if key == name:
        return True
    (one, colon, attribute), (other, _, of_other) = key.rpartition(":"), name.rpartition(":")
    if not colon or attribute != of_other or not (one.endswith(".py") and other.endswith(".py")):
        return False
    paths = (base / Path(place).expanduser() for base, place in ((folder, one), (start, other)))
    first, second = (path.resolve() for path in paths)
    return first == second
