"""Progress on a terminal, notices anywhere."""

import os
import subprocess
import sys

import pytest

from harness.progress import Bar, Lines, on_terminal
from tests.harness.command import environment

PROGRAM = """
from harness.{engine}.table import watching
with watching() as watch:
    watch.notice("a [bold]notice[/bold]")
"""


def test_without_a_terminal_there_is_nothing_but_notices(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As they are, on standard error."""
    with on_terminal("work") as progress:
        assert progress is None
        Lines().notice("a [bold]notice[/bold]")
    assert ("", "a [bold]notice[/bold]\n") == capsys.readouterr()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("engine", ["sweep", "hunt"])
def test_a_terminal_shows_a_bar_and_notices(engine: str) -> None:
    """The title, and the notice without anything taken for markup."""
    reader, writer = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(engine=engine)],
        stderr=writer,
        env=environment(TERM="xterm"),
    )
    assert 0 == process.wait(timeout=120)
    os.close(writer)
    text = os.read(reader, 65536).decode()
    os.close(reader)
    assert f"{engine} " in text
    assert "a [bold]notice[/bold]" in text


def test_a_bar_is_a_task_of_its_own() -> None:
    """Engines advance it in their own units."""
    from rich.progress import Progress

    progress = Progress(disable=True)
    Bar(progress)
    (task,) = progress.tasks
    assert task.total is None
