"""The process that a user starts outlives what a subject does to the one it runs in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.command import environment, spawn

#: Says when it works, so that a test knows whom to interrupt.
PROGRAM = """
import os, signal, sys, time
from harness.supervise import supervised

def work():
    print(os.getpid(), flush=True)
    {body}
    return 4

def lost(how):
    print("lost", how, flush=True)
    return 3

sys.exit(supervised(work, lost))
"""


def _heed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def program(body: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
        # A shell that runs the tests in the background, or nohup, lets them ignore these.
        preexec_fn=_heed_signals,
    )


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ("pass", 4, ""),
        ("return 0", 0, ""),
        ("os._exit(0)", 3, "lost with exit status 0\n"),
        ("os._exit(4)", 3, "lost with exit status 4\n"),
        ("os.abort()", 3, "lost by SIGABRT\n"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 3, "lost by SIGKILL\n"),
    ],
    ids=["returns", "returns 0", "leaves with 0", "leaves with 4", "aborts", "is killed"],
)
def test_the_status_is_that_of_work_that_has_ended(body: str, status: int, told: str) -> None:
    """And no other, least of all 0."""
    out, _ = (process := program(body)).communicate(timeout=60)
    child, *rest = out.splitlines(keepends=True)
    assert (status, told) == (process.returncode, "".join(rest))
    assert process.pid != int(child)


def test_an_exception_passes() -> None:
    """With its traceback, once."""
    _, err = (process := program("raise KeyError(5)")).communicate(timeout=60)
    assert (1, 1) == (process.returncode, err.count("KeyError: 5"))


@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["the process", "its group"])
def test_an_interrupt_reaches_the_work_once(kill: Callable[[int, int], None]) -> None:
    """A terminal sends it to both processes; a second one would lose what the first has saved."""
    body = (
        "try: time.sleep(60)\n"
        "    except KeyboardInterrupt: time.sleep(0.5); print('saved'); return 5"
    )
    process = program(body)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.3)
    kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (5, "saved\n", "") == (process.returncode, out, err)


@pytest.mark.parametrize(
    "arrange",
    [
        "gc.callbacks.append(lambda *_: interrupt()); gc.collect(); gc.callbacks.clear()",
        "type('Ends', (), {'__del__': lambda self: interrupt()})()",
    ],
    ids=["a collection", "a finalizer"],
)
def test_an_interrupt_is_not_dropped_with_what_python_ignores(arrange: str) -> None:
    """It arrives in a callback, out of which no exception comes, and is sent again."""
    body = (
        "import gc; sent = []\n"
        "    def interrupt():\n"
        "        if not sent: sent.append(1); os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    try:\n"
        f"        {arrange}\n"
        "        time.sleep(20); return 9\n"
        "    except KeyboardInterrupt: return 5"
    )
    _, err = (process := program(body)).communicate(timeout=60)
    assert (5, "") == (process.returncode, err)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_work_ends_with_its_parent(number: signal.Signals) -> None:
    """Which ends by the signal that it was sent; nothing is left behind."""
    process = program("time.sleep(60)")
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(number)
    process.communicate(timeout=60)  # ends when both have let go of the pipe
    assert -number == process.returncode
    deadline = time.monotonic() + 10
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return Path("/proc/self").exists() is False


@pytest.mark.parametrize("command", [["hunt"], ["verify", "--no-isolate"]], ids=" ".join)
def test_no_subject_passes_by_leaving(tmp_path: Path, command: list[str]) -> None:
    """One line and exit status 3."""
    (tmp_path / "mine.py").write_text("import os\ndef leaves(x):\n    os._exit(0)\n")
    outcome = spawn(*command, "mine.py:leaves", "--as", "activation", cwd=tmp_path)
    assert (3, "") == (outcome.status, outcome.out)
    assert outcome.err.startswith(
        "neuron-harness: the process that runs the subject ended with exit status 0 before"
    )
    assert 1 == outcome.err.count("\n")
