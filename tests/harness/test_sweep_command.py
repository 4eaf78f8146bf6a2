"""The command `sweep`: exit statuses, clean JSON, and sweeps that are killed or stopped."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.store import Store
from tests.harness.command import spawn

ROOT = Path(__file__).parents[2]
#: Eight whole blocks and one number: long enough to stop in the middle of.
RANGE = ("torch-tanh", "--dtype", "float32", "--from", "1", "--to", "16")


def command(*arguments: str, cwd: Path, limit: int | None = None) -> subprocess.Popen[bytes]:
    """`neuron-harness sweep`, with files limited to `limit` bytes."""

    def limited() -> None:
        # A shell that runs the tests in the background lets them ignore it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-m", "harness", "sweep", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        # Empty, it means buffered, as a user has it.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        preexec_fn=limited,
    )


def finished(*arguments: str, cwd: Path, limit: int | None = None) -> tuple[int, bytes, str]:
    process = command(*arguments, cwd=cwd, limit=limit)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err.decode()


def stored_blocks(path: Path) -> int:
    if not path.exists():
        return 0
    with Store.open(path) as store:
        return sum(len(list(store.parts(run.id))) for run in store.runs())


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    status, out, _ = finished(*RANGE, "--json", "-", cwd=tmp_path_factory.mktemp("whole"))
    assert 0 == status
    return out


def only(out: bytes) -> dict[str, Any]:
    (sweep,) = json.loads(out)["sweeps"]
    return dict(sweep)


def test_json_on_standard_output_is_clean_and_the_table_goes_elsewhere(tmp_path: Path) -> None:
    """One JSON document, the figures for people on standard error, and nothing stored for a sweep
    of one block."""
    status, out, err = finished("textbook", "--dtype", "float16", "--json", "-", cwd=tmp_path)
    sweep = only(out)
    assert (0, True, 65536) == (status, sweep["complete"], sweep["points"])
    assert "2045.4" in err and "floor (the subject alone on 1 cores)" in err
    assert [] == list(tmp_path.iterdir())


def test_figures_go_to_standard_output_and_json_to_its_file(tmp_path: Path) -> None:
    """Notices apart, standard error stays empty."""
    status, out, err = finished(
        "torch-tanh", "--dtype", "bfloat16", "--json", "figures.json", cwd=tmp_path
    )
    assert (0, "") == (status, err)
    assert "torch-tanh bfloat16 cpu" in out.decode()
    assert only((tmp_path / "figures.json").read_bytes())["complete"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["textbook", "--from", "2", "--to", "1"], 2, "the range is upside down"),
        (["textbook", "--from", "x", "--to", "1"], 2, "--from 'x' is not a number; write it like"),
        (["textbook", "--from", "0x1p99999", "--to", "1"], 2, "--from '0x1p99999' is not a number"),
        (["textbook", "--jobs", "0"], 2, "--jobs 0; expected 1 to"),
        (["textbook", "--dtype", "half"], 2, "unknown dtype 'half'"),
        (["no-such-subject"], 2, "'no-such-subject' is not a subject"),
        (["textbook", "--as", "activation"], 2, "is of kind neuron, not activation"),
        (["textbook", "--store", "."], 3, "it is a folder; expected a file"),
        (["nowhere.py:tanh"], 3, "nowhere.py is not a file"),
        (["textbook", "--jobs", "2", "--cluster", "tcp://a:1"], 2, "expected one of them"),
        (["textbook", "--device", "tpu"], 2, "unknown device 'tpu'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    """The value, what was expected, the remedy; no traceback, nothing on standard output."""
    found, out, err = finished(*arguments, cwd=tmp_path)
    assert (status, b"") == (found, out)
    assert message in err
    assert 1 == err.count("\n")


def test_a_subject_that_fails_a_requirement_exits_with_1(tmp_path: Path) -> None:
    """And says what was found against what was required."""
    status, out, _ = finished(
        "textbook", "--dtype", "bfloat16", "--require", "faithful", cwd=tmp_path
    )
    assert 1 == status
    assert "FAILED: gradient: 1506 misrounded and 1338 unfaithful in 65536" in out.decode()


@pytest.mark.parametrize(
    ("arguments", "quantity", "count"),
    [
        (["textbook", "--dtype", "bfloat16"], "bias_gradient", 1),
        (["mine.py:SUBJECT", "--dtype", "float16", "--from", "0.5", "--to", "1"], "gradient[0]", 1),
        (["mine.py:bad", "--as", "activation", "--dtype", "float16"], "output", 3),
    ],
    ids=["a neuron", "a tanh-gradient with a name of its own", "NaN, and |y| > 1"],
)
def test_what_is_printed_as_again_shows_the_worst_input_again(
    tmp_path: Path, arguments: list[str], quantity: str, count: int
) -> None:
    """Pasted as it stands: the error that the table has."""
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom harness.subjects import Kind, Subject\n"
        "SUBJECT = Subject('own', Kind.TANH_GRADIENT, lambda y, dy: dy * (1 - y * y) * 1.5)\n"
        "def bad(x):\n    y = torch.tanh(x) * torch.where(x == 3, 1.25, 1.0)\n"
        "    return torch.where(x == 2, float('nan'), y).to(x.dtype)\n"
    )
    _, out, _ = finished(*arguments, cwd=tmp_path)
    commands = [line for line in out.decode().splitlines() if line.startswith("again: ")]
    assert count == len(commands)
    shown = ""
    for command in commands:
        program, *words = shlex.split(command.removeprefix("again: "))
        assert "neuron-harness" == program
        explained = spawn(*words, cwd=tmp_path)
        assert (0, "") == (explained.status, explained.err)
        shown += explained.out.split("\n\n")[0] + "\n"
    name = {"bias_gradient": "gradient", "gradient[0]": "gradient"}.get(quantity, quantity)
    (value,) = re.findall(rf"^{name} +│ all +│ +\d+ │ +([\d.e+]+)", out.decode(), re.MULTILINE)
    errors = [
        abs(float(row.split()[4]))
        for row in shown.splitlines()
        if row.startswith(f"{quantity} ") and row.split()[4] != "-"
    ]
    assert float(value) == pytest.approx(max(errors), rel=1e-3, abs=1e-3)
    if count == 3:
        assert [True] == [row.split()[1] == "nan" for row in shown.splitlines() if "  nan" in row]


def test_a_subject_that_ends_the_process_is_one_line(tmp_path: Path) -> None:
    """At once: exit status 3; half-way: 1. Standard output is clean JSON all the same."""
    (tmp_path / "mine.py").write_text(
        "import os, torch\ndef leaves(x):\n    os._exit(0)\n"
        "def leaves_at_3(x):\n    print('called')\n    if (x == 3).any():\n"
        "        os._exit(0)\n    return torch.tanh(x)\n"
    )
    options = ("--as", "activation", "--dtype", "float16", "--json", "-")
    status, out, err = finished("mine.py:leaves", *options, cwd=tmp_path)
    assert (3, b"") == (status, out)
    assert 1 == err.count("\n")
    assert "cannot be swept in float16: the first call ended its process, with exit st" in err
    status, out, err = finished("mine.py:leaves_at_3", *options, cwd=tmp_path)
    assert (1, False) == (status, only(out)["complete"])
    assert "called" in err
    assert "FAILED: mine.py:leaves_at_3 from 0x0.0p+0 to nan ended its process, with" in err


def test_two_sweeps_share_a_store(uninterrupted: bytes, tmp_path: Path) -> None:
    """At the same time, of the same plan: neither is disturbed."""
    arguments = (*RANGE, "--store", str(tmp_path / "s.sqlite"), "--json", "-")
    both = [command(*arguments, cwd=tmp_path) for _ in range(2)]
    outcomes = [process.communicate(timeout=300) for process in both]
    assert [(0, uninterrupted)] * 2 == [
        (process.returncode, out) for process, (out, _) in zip(both, outcomes, strict=True)
    ]


def test_a_subject_that_raises_half_way_is_placed_and_counted(tmp_path: Path) -> None:
    """The input, and how much of all there is was done."""
    (tmp_path / "mine.py").write_text(
        "import torch\ndef raises_mid(x):\n    if (x == 3.0).any():\n"
        "        raise ValueError('midway boom')\n    return torch.tanh(x)\n"
    )
    status, out, _ = finished(
        *("mine.py:raises_mid", "--as", "activation", "--dtype", "float16", "--jobs", "2"),
        cwd=tmp_path,
    )
    assert 1 == status
    expected = "failed at 0x1.8000000000000p+1: raised ValueError: midway boom"
    assert expected in out.decode()
    assert "\n0 of 65,536 points in" in out.decode()


def test_two_jobs_print_the_json_of_one(uninterrupted: bytes, tmp_path: Path) -> None:
    """Bit for bit."""
    status, out, _ = finished(*RANGE, "--jobs", "2", "--json", "-", cwd=tmp_path)
    assert 0 == status
    assert uninterrupted == out
    assert (tmp_path / ".neuron-harness" / "store.sqlite").exists()


@pytest.mark.parametrize("jobs", ["1", "2"], ids=["one job", "two jobs"])
def test_kill_loses_at_most_the_blocks_in_hand(
    uninterrupted: bytes, tmp_path: Path, jobs: str
) -> None:
    """After kill -9 half-way --resume does the rest and ends with the same JSON."""
    store = tmp_path / "sweeps.sqlite"
    arguments = (*RANGE, "--store", str(store), "--jobs", jobs, "--json", "-")
    process = command(*arguments, cwd=tmp_path)
    wait_for(lambda: stored_blocks(store) >= 3, process)
    process.kill()
    process.communicate()
    before = stored_blocks(store)
    assert 3 <= before < 9
    status, out, err = finished(*arguments, "--resume", cwd=tmp_path)
    assert 0 == status
    assert uninterrupted == out
    # What was stored was not done again: 2^22 numbers a block, the last one has a single number.
    match = re.search(r"^([\d,]+) of ([\d,]+) points in", err, re.MULTILINE)
    assert match is not None
    fresh, total = (int(text.replace(",", "")) for text in match.groups())
    assert (8 << 22) + 1 == total
    assert total - fresh in (before << 22, ((before - 1) << 22) + 1)


@pytest.mark.parametrize("jobs", ["1", "2"], ids=["one job", "two jobs"])
def test_ctrl_c_leaves_a_partial_result_to_resume(
    uninterrupted: bytes, tmp_path: Path, jobs: str
) -> None:
    """Marked incomplete, exit status 5, no traceback; --resume completes it."""
    store = tmp_path / "sweeps.sqlite"
    arguments = (*RANGE, "--store", str(store), "--jobs", jobs, "--json", "-")
    process = command(*arguments, cwd=tmp_path)
    wait_for(lambda: stored_blocks(store) >= 2, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    sweep = only(out)
    assert (5, False) == (process.returncode, sweep["complete"])
    assert 2 << 22 <= sweep["points"] < sweep["planned_points"]
    assert sweep["points"] == sweep["quantities"]["output"]["points"]
    assert "INCOMPLETE" in err.decode() and "--resume goes on from there" in err.decode()
    assert "Traceback" not in err.decode()
    status, out, _ = finished(*arguments, "--resume", cwd=tmp_path)
    assert (0, uninterrupted) == (status, out)


def test_a_full_disk_stops_the_sweep_and_loses_nothing(
    uninterrupted: bytes, tmp_path: Path
) -> None:
    """A limit on the size of files stands for the disk's: one line, exit status 5, and --resume
    goes on from what was stored."""
    store = tmp_path / "sweeps.sqlite"
    arguments = (*RANGE, "--store", str(store), "--json", "-")
    status, out, err = finished(*arguments, cwd=tmp_path, limit=70_000)
    assert (5, False) == (status, only(out)["complete"])
    assert f"stopped: {store}: the disk" in err and "what was stored is kept" in err
    assert "Traceback" not in err
    assert 1 <= stored_blocks(store) < 9
    # The block that the store refused is shown, too.
    assert only(out)["points"] in (
        (stored_blocks(store) + 1) << 22,
        (stored_blocks(store) << 22) + 1,
    )
    assert "of them shown here but not stored; --resume goes on from there" in err
    status, out, _ = finished(*arguments, "--resume", cwd=tmp_path)
    assert (0, uninterrupted) == (status, out)
