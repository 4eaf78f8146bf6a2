"""Run the command line: in this process, which is quick, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

from harness.cli import run

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "harness")


class Outcome(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


def invoke(*arguments: str) -> Outcome:
    """The command in this process, with streams that are no terminals."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        status = run(list(arguments))
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Outcome(status, *texts)


def environment(**variables: str) -> dict[str, str]:
    """This process's environment, without what would change the looks of output."""
    looks = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    kept = {name: value for name, value in os.environ.items() if name not in looks}
    return {**kept, "PYTHONPATH": str(ROOT), **variables}


def spawn(*arguments: str, cwd: Path = ROOT, **variables: str) -> Outcome:
    """The command in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)
