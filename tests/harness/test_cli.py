"""The command line: exit statuses, streams, one-line errors, interruption, repeatability."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import harness.api
from harness._version import __version__
from harness.case import DTYPES, Case, Layout
from harness.grade import Grade
from harness.judge import Plan
from harness.laws import LAWS
from harness.second_order import RETAIN_GRAPH, SECOND_ORDER_QUANTITIES
from harness.strategies import regimes_for
from harness.subjects import Kind, builtin_names
from harness.verdict import Verdict
from tests.harness.command import COMMAND, ROOT, Outcome, environment, invoke, spawn
from tests.harness.test_verdict import PASSING, UNJUDGED

QUICK = ("--device", "cpu", "--examples", "14", "--seed", "1")
FAULTY = "tests/harness/faulty.py"
#: Long enough to be interrupted in the second plan, on any machine.
LONG = ("--dtype", "float16,float32", "--device", "cpu", "--seed", "1")


def verify(*arguments: str) -> Outcome:
    """`verify` in binary32 with few examples."""
    return invoke("verify", *arguments, "--dtype", "float32", *QUICK)


@pytest.fixture(scope="module", autouse=True)
def _in_the_root() -> Iterator[None]:
    """Paths to subjects are taken from there."""
    before = Path.cwd()
    os.chdir(ROOT)
    yield
    os.chdir(before)


@pytest.fixture(scope="module")
def passing() -> Outcome:
    """A verification that passes, with its JSON on standard output."""
    return verify("textbook", "aten-tanh-gradient", "--json", "-")


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """One that fails in several ways, with both reports."""
    folder = tmp_path_factory.mktemp("reports")
    names = ("divides", "raises", "changes_its_mind", "three_results", "right")
    subjects = [f"{FAULTY}:{name}" for name in names]
    outputs = ("--json", str(folder / "v.json"), "--junitxml", str(folder / "v.xml"))
    return verify(*subjects, *outputs), folder


class TestExitStatus:
    """0 all as required, 1 a violation, 2 usage, 3 nothing verified, 5 interrupted."""

    def test_all_as_required(self, passing: Outcome) -> None:
        """0."""
        assert 0 == passing.status

    def test_violations(self, failing: tuple[Outcome, Path]) -> None:
        """1, with every failure described on standard output, and nothing on standard error."""
        outcome, _ = failing
        assert (1, "") == (outcome.status, outcome.err)
        for text in (
            f"{FAULTY}:divides float32 cpu: graded wrong, required textbook",
            f"{FAULTY}:raises float32 cpu: raised ArithmeticError: no 0 lanes",
            f"{FAULTY}:changes_its_mind float32 cpu: breaks the law repeatable; graded wrong",
            f"{FAULTY}:three_results float32 cpu: breaks the law structure",
        ):
            assert f"\n{text}" in outcome.out
        assert f"\n{FAULTY}:right float32 cpu: " not in outcome.out
        assert outcome.out.endswith("\n1 verdicts as required, 4 not; seed 1\n")

    def test_a_search_that_has_become_weaker(self, tmp_path: Path) -> None:
        """1: a subject stated to be wrong is not caught being wrong."""
        path = tmp_path / "maligned.py"
        path.write_text(
            "import torch\n"
            "from harness.grade import Grade\n"
            "from harness.subjects import Kind, Stated, Subject\n"
            "stated = {'float32': Stated(Grade.WRONG, 'a slander')}\n"
            "SUBJECT = Subject('maligned', Kind.ACTIVATION, torch.tanh, stated)\n"
        )
        outcome = verify(f"{path}:SUBJECT")
        assert 1 == outcome.status
        assert "the search has become weaker; raise --examples" in outcome.out

    def test_nothing_judged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """3."""
        monkeypatch.setattr(harness.api, "verify_one", lambda *_: UNJUDGED)
        outcome = verify("textbook")
        assert 3 == outcome.status
        assert "nothing was judged in " in outcome.out

    def test_require(self) -> None:
        """Overrides what a built-in states."""
        assert 0 == verify("sigmoid", "--require", "wrong").status
        outcome = verify("textbook", "--require", "correct")
        assert 1 == outcome.status
        assert "required correct" in outcome.out

    def test_built_ins_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A bare verify looks at each, in every dtype, and holds it to what it states there."""
        seen: list[Plan] = []

        def verify_one(plan: Plan, *_: object) -> Verdict:
            seen.append(plan)
            return PASSING

        monkeypatch.setattr(harness.api, "verify_one", verify_one)
        assert 0 == invoke("verify", "--device", "cpu").status
        assert [(name, dtype) for name in builtin_names() for dtype in DTYPES] == [
            (plan.subject.name, plan.dtype) for plan in seen
        ]
        assert [plan.subject.stated[plan.dtype].grade for plan in seen] == [
            plan.required for plan in seen
        ]
        assert {1000} == {plan.examples for plan in seen}

    @pytest.mark.slow
    def test_the_main_job(self) -> None:
        """A bare verify passes, whatever the seed."""
        for _ in range(2):
            outcome = invoke("verify", "--device", "cpu")
            assert 0 == outcome.status, outcome.out


BAD: dict[str, tuple[tuple[str, ...], int, str]] = {
    "unknown subject": (("verify", "texbook"), 2, "'texbook' is not a subject; .*did you mean tex"),
    "empty subject": (("verify", ""), 2, "'' is not a subject; expected"),
    "missing file": (
        ("verify", "no.py:f"),
        3,
        "no.py is not a file; expected a Python file; check",
    ),
    "missing module": (("verify", "no_such:f"), 3, "there is no module 'no_such'; expected one on"),
    "missing attribute": (
        ("verify", f"{FAULTY}:devides"),
        3,
        "the module has no attribute 'devides'; expected .*; did you mean divides",
    ),
    "unknown dtype": (
        ("verify", "textbook", "--dtype", "float32,float8"),
        2,
        "unknown dtype 'float8'; expected one of float16, bfloat16, float32, float64",
    ),
    "no dtype": (("verify", "--dtype", ","), 2, "'--dtype': ',' names nothing; expected names"),
    "unknown device": (
        ("verify", "textbook", "--device", "tpu"),
        2,
        "unknown device 'tpu'; expected one of cpu, cuda",
    ),
    "no examples": (
        ("verify", "--examples", "0"),
        2,
        "examples is 0; expected a whole number of 1",
    ),
    "negative examples": (("verify", "--examples", "-5"), 2, "examples is -5; expected a whole"),
    "fraction of examples": (("verify", "--examples", "1.5"), 2, "'--examples': '1.5' is not a va"),
    "negative seed": (("verify", "--seed", "-1"), 2, "seed is -1; expected a whole number of 0 or"),
    "unknown grade": (
        ("verify", "--require", "good"),
        2,
        "'--require': 'good' is not one of 'corr",
    ),
    "unknown kind": (
        ("verify", "textbook", "--as", "neurn"),
        2,
        "'neurn' is not a kind of subject; .*did you mean neuron",
    ),
    "another kind": (("verify", "textbook", "--as", "activation"), 2, "is of kind neuron, not act"),
    "negative ulps": (
        ("verify", "--activation-ulps", "-1"),
        2,
        "activation_ulps is -1.0; expected",
    ),
    "unknown option": (("verify", "--exmples", "3"), 2, "No such option '?--exmples'?.*--examples"),
    "unknown command": (("verfy",), 2, "No such command 'verfy'"),
    "JSON in a folder": (
        ("verify", "--json", "tests"),
        2,
        "--json tests is a folder; expected a f",
    ),
    "JSON in a missing folder": (
        ("verify", "--json", "no/v.json"),
        2,
        "--json no/v.json cannot be written .No such file or directory.; expected a writable",
    ),
    "JSON without a name": (("verify", "--json", ""), 2, "--json names no file; expected a file"),
    "JUnit in a folder": (
        ("verify", "--junitxml", "tests"),
        2,
        "--junitxml tests is a folder; exp",
    ),
    "two reports in one place": (
        ("verify", "--json", "-", "--junitxml", "-"),
        2,
        "--json and --junitxml both name -; expected two places",
    ),
    "no case": (("explain", "textbook"), 2, "Missing argument 'CASE'"),
    "no case file": (
        ("explain", "textbook", "no.json"),
        2,
        "case 'no.json' cannot be read .No such file or directory.; expected a file, or one line",
    ),
    "malformed case": (
        ("explain", "textbook", '{"dtype":"float32","inputs":["1"],"weights":["0x1p0"]}'),
        2,
        "case: not a case: .*bias.*; expected",
    ),
    "explaining an unknown subject": (("explain", "texbook", "{}"), 2, ""),
}


class TestErrors:
    """What a user can get wrong is one line on standard error, and nothing on standard output."""

    @pytest.mark.parametrize(("arguments", "status", "message"), BAD.values(), ids=BAD.keys())
    def test_one_line(self, arguments: tuple[str, ...], status: int, message: str) -> None:
        """The fault and the remedy."""
        outcome = invoke(*arguments)
        assert (status, "") == (outcome.status, outcome.out)
        assert outcome.err.startswith("neuron-harness: ")
        assert outcome.err.endswith("\n")
        assert 1 == len(outcome.err.splitlines())
        assert re.search(message, outcome.err), outcome.err

    def test_a_device_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """3, before anything is run."""
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        case = Case("float32", (), (), 0.0, 1.0).to_json()
        for arguments in (("verify", "textbook"), ("explain", "textbook", case)):
            outcome = invoke(*arguments, "--device", "cuda")
            assert (3, "") == (outcome.status, outcome.out)
            assert "device 'cuda' was asked for, but this torch" in outcome.err
            assert 1 == len(outcome.err.splitlines())

    def test_it_holds_for_the_real_process(self) -> None:
        """No traceback there either, and the exit status is the process's."""
        outcome = spawn("verify", "textbook", "--examples", "-1")
        assert (2, "") == (outcome.status, outcome.out)
        assert 1 == len(outcome.err.splitlines())

    def test_a_full_disk(self) -> None:
        """Standard output that cannot be written: one line, no traceback, no complaint at exit."""
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, "verify", "textbook", "--dtype", "float32", *QUICK],
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=300,
            )
        assert 2 == done.returncode
        assert 1 == len(done.stderr.splitlines()), done.stderr
        assert "standard output cannot be written (No space left on device)" in done.stderr


class TestHelp:
    """What asks for help gets it, quickly."""

    def test_help_imports_nothing_slow(self) -> None:
        """Neither torch nor hypothesis, for any command; nor for a usage error."""
        script = (
            "import sys\n"
            "from harness.cli import run\n"
            "for words in (['--help'], ['verify', '--help'], ['explain', '-h'], ['--version'],\n"
            "              [], ['verify', '--examples', 'x']):\n"
            "    run(words)\n"
            "slow = ('torch', 'hypothesis', 'rich')\n"
            "sys.exit(str([name for name in slow if name in sys.modules]))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment(), capture_output=True, text=True
        )
        assert "[]" == done.stderr.splitlines()[-1]
        assert f"neuron-harness, version {__version__}" in done.stdout

    def test_without_a_command(self) -> None:
        """The same help, on standard error since something is missing, and as it was laid out."""
        asked, bare = invoke("--help"), invoke()
        assert (0, "") == (asked.status, asked.err)
        assert (2, "") == (bare.status, bare.out)
        assert asked.out.split() == bare.err.split()
        assert len(bare.err.splitlines()) > 5

    def test_exit_statuses_are_documented(self) -> None:
        """In the help."""
        text = " ".join(invoke("--help").out.split())
        assert "Exit status: 0 all as required; 1 an accuracy or law violation; 2 usage; 3" in text

    def test_subjects(self) -> None:
        """Names, kinds, grades."""
        outcome = invoke("subjects")
        assert (0, "") == (outcome.status, outcome.err)
        assert set(builtin_names()) <= set(outcome.out.split())


def check(value: Any, shape: Any) -> None:
    """Raise unless a JSON value has a shape: a type, a dict of exactly these keys, a list of one
    shape for all elements, a set of allowed values, or a tuple of alternatives."""
    if isinstance(shape, tuple):
        for alternative in shape:
            try:
                return check(value, alternative)
            except AssertionError:
                pass
        raise AssertionError(f"{value!r} is none of {shape}")
    if shape is None:
        assert value is None
    elif isinstance(shape, dict):
        assert isinstance(value, dict)
        assert set(shape) == set(value)
        for key, inner in shape.items():
            check(value[key], inner)
    elif isinstance(shape, list):
        assert isinstance(value, list)
        for element in value:
            check(element, shape[0])
    elif isinstance(shape, set):
        assert value in shape
    elif shape is float:
        assert isinstance(value, int | float) and not isinstance(value, bool)
        assert value >= 0
    else:
        assert type(value) is shape
    return None


_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+|nan|-?inf")
_CASE = {
    "dtype": set(DTYPES),
    "inputs": [str],
    "weights": [str],
    "bias": str,
    "upstream_gradient": str,
    "layout": {str(layout) for layout in Layout},
}
_DIRECTION = {"inputs": [str], "weights": [str], "bias": str}
_CASE_ALONG = {**_CASE, "direction": _DIRECTION}
_COUNTEREXAMPLE_ALONG = (None, {"case": _CASE_ALONG, "message": str})
_COUNTEREXAMPLE = (None, {"case": _CASE, "message": str})
_GRADE = {str(grade) for grade in Grade}
_QUANTITY = {
    "grade": (None, _GRADE),
    "max_ulp": float,
    "max_bound_ratio": float,
    "nonfinite_mismatch": int,
    "worst_case": (None, _CASE),
}
_NEURON = {
    name: _QUANTITY for name in ("output", "input_gradient", "weight_gradient", "bias_gradient")
}
_VERDICT = {
    "subject": str,
    "kind": {str(kind) for kind in Kind},
    "dtype": set(DTYPES),
    "device": {"cpu", "cuda"},
    "required": _GRADE,
    "grade": (None, _GRADE),
    "passed": bool,
    "examples": int,
    "unjudged": int,
    "hazards": int,
    "regimes": (
        {str(regime): int for regime in regimes_for("neuron")},
        {str(regime): int for regime in regimes_for("tanh-gradient")},
    ),
    "quantities": (_NEURON, {"gradient": _QUANTITY}),
    "laws": [
        {
            "name": {*(law.name for law in LAWS), RETAIN_GRAPH},
            **dict.fromkeys(("passed", "applies", "required"), bool),
            "checked": int,
            "counterexample": (*_COUNTEREXAMPLE, *_COUNTEREXAMPLE_ALONG),
        }
    ],
    "second_order": (
        None,
        {
            "required": (None, _GRADE),
            "grade": (None, _GRADE),
            "passed": bool,
            "unsupported": (None, str),
            **dict.fromkeys(("examples", "unjudged", "hazards"), int),
            "quantities": {
                name: {**_QUANTITY, "worst_case": (None, _CASE_ALONG)}
                for name in SECOND_ORDER_QUANTITIES
            },
            "counterexample": _COUNTEREXAMPLE_ALONG,
            "failure": (None, str),
            "error": (None, str),
        },
    ),
    "counterexample": _COUNTEREXAMPLE,
    "failure": (None, str),
    "error": (None, str),
}
_SCHEMA = {
    "schema": {"neuron-harness/verification/1"},
    "environment": {
        **dict.fromkeys(
            ("neuron_harness", "python", "torch", "numpy", "mpmath", "hypothesis"), str
        ),
        **dict.fromkeys(("mpmath_backend", "system", "machine", "cpu_capability"), str),
        "threads": int,
        "cuda": (None, {"version": str, "device": str}),
        "flush_to_zero": bool,
        "seed": int,
    },
    "interrupted": bool,
    "verdicts": [_VERDICT],
}


def cases_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every case that a JSON value holds."""
    if isinstance(value, dict):
        if "layout" in value:
            yield value
        for inner in value.values():
            yield from cases_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from cases_in(inner)


class TestJson:
    """The reports that other programs read."""

    def test_the_checker_checks(self) -> None:
        """A key too many or too few, and a value of another type, are seen."""
        for bad in ({}, {"a": 1, "b": 2}, {"a": "1"}, {"a": True}, []):
            with pytest.raises(AssertionError):
                check(bad, {"a": int})
        check({"a": 1}, {"a": int})

    def test_schema(self, passing: Outcome, failing: tuple[Outcome, Path]) -> None:
        """Every key that is promised, and no other, of the promised type; cases can be read."""
        for text in (passing.out, (failing[1] / "v.json").read_text()):
            report = json.loads(text, parse_constant=pytest.fail)  # no NaN: that is no JSON
            check(report, _SCHEMA)
            for verdict in report["verdicts"]:
                assert sum(verdict["regimes"].values()) == verdict["examples"] == 14
                kind = Kind(verdict["kind"])
                applies = {law.name: law.applies(kind) for law in LAWS}
                applies[RETAIN_GRAPH] = kind is not Kind.TANH_GRADIENT
                assert list(applies.items()) == [
                    (law["name"], law["applies"]) for law in verdict["laws"]
                ]
            for case in cases_in(report):
                words = [*case["inputs"], *case["weights"], case["bias"], case["upstream_gradient"]]
                assert all(_FLOAT.fullmatch(word) for word in words)
                assert json.loads(Case.from_json(json.dumps(case)).to_json()) == case

    def test_standard_output_is_pure(self, passing: Outcome) -> None:
        """JSON there, and the table on standard error."""
        assert passing.out.startswith('{\n  "schema"')
        json.loads(passing.out)
        assert "subject" in passing.err
        assert "verdicts as required" in passing.err

    def test_what_subjects_print_stays_off_it(self, tmp_path: Path) -> None:
        """At import, and in a call."""
        path = tmp_path / "chatty.py"
        path.write_text(
            "import torch\nprint('importing')\n"
            "def tanh(x):\n    print('calling')\n    return torch.tanh(x)\n"
        )
        outcome = verify(f"{path}:tanh", "--as", "activation", "--json", "-")
        assert json.loads(outcome.out)["verdicts"][0]["passed"]
        assert "importing" in outcome.err
        assert "calling" in outcome.err

    def test_failures_are_in_it(self, failing: tuple[Outcome, Path]) -> None:
        """With the smallest case of each."""
        verdicts = json.loads((failing[1] / "v.json").read_text())["verdicts"]
        assert [False, False, False, False, True] == [each["passed"] for each in verdicts]
        assert "bias_gradient is wrong" == verdicts[0]["counterexample"]["message"]
        assert "raised ArithmeticError: no 0 lanes" == verdicts[1]["error"]
        laws = {law["name"]: law["counterexample"] for law in verdicts[2]["laws"]}
        assert "a second call gave other bits for output" == laws["repeatable"]["message"]

    def test_junit(self, failing: tuple[Outcome, Path]) -> None:
        """The same verdicts, counted."""
        (suite,) = ElementTree.parse(failing[1] / "v.xml").getroot()
        assert ("5", "4", "0") == tuple(suite.get(key) for key in ("tests", "failures", "errors"))
        assert 4 == len(list(suite.iter("failure")))

    def test_junit_on_standard_output(self) -> None:
        """Is as pure."""
        outcome = verify("textbook", "--junitxml", "-")
        assert "testsuites" == ElementTree.fromstring(outcome.out).tag
        assert "verdicts as required" in outcome.err

    def test_a_disk_that_fills_up_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The verdicts are printed all the same, and one line says what is missing."""

        def refuse(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", refuse)
        outcome = verify("textbook", "--json", str(tmp_path / "v.json"))
        assert 2 == outcome.status
        assert "1 verdicts as required" in outcome.out
        assert "cannot be written (No space left on device)" in outcome.err
        assert [] == list(tmp_path.iterdir())


class TestSeed:
    """A seed makes a run repeatable, bit for bit."""

    def test_processes_agree(self, passing: Outcome, tmp_path: Path) -> None:
        """With other hash seeds, in other folders, with other examples in hypothesis's database,
        and in this process, in which hypothesis has run before."""
        words = ("verify", "textbook", "aten-tanh-gradient", "--dtype", "float32", "--json", "-")
        database = tmp_path / ".hypothesis" / "examples" / "ab"
        database.mkdir(parents=True)
        (database / "cd").write_bytes(b"\x00\x01\x02")
        first = spawn(*words, *QUICK, PYTHONHASHSEED="1")
        second = spawn(*words, *QUICK, cwd=tmp_path, PYTHONHASHSEED="2", CI="true")
        assert first.out == second.out == passing.out
        assert [".hypothesis"] == [path.name for path in tmp_path.iterdir()]

    def test_a_subject_edited_is_shown_the_same_cases(self, tmp_path: Path) -> None:
        """Whatever numbers its source now holds."""
        shown = []
        for numbers in ([], [70_000_000 * index + 1 for index in range(1, 60)]):
            path = tmp_path / "edited.py"
            path.write_text(
                f"import torch\nNUMBERS = {numbers}\n"
                "def tanh(x):\n"
                "    print('shown', x.item().hex())\n"
                "    return torch.tanh(x)\n"
            )
            words = ("--as", "activation", "--dtype", "float32", "--device", "cpu", "--seed", "1")
            words += ("--no-isolate",)  # which shows what it prints
            outcome = invoke("verify", f"{path}:tanh", *words, "--examples", "130")
            assert 0 == outcome.status
            shown.append(re.findall("^shown .*$", outcome.out, re.MULTILINE))
        assert 260 <= len(shown[0])  # every case twice, and others for the laws
        assert shown[0] == shown[1]

    def test_another_seed_draws_other_cases(self) -> None:
        """The worst cases differ."""
        words = ("verify", "textbook", "--dtype", "float32", "--device", "cpu", "--examples", "65")
        reports = [
            json.loads(invoke(*words, "--seed", seed, "--json", "-").out) for seed in ("1", "2")
        ]
        assert list(cases_in(reports[0])) != list(cases_in(reports[1]))

    def test_without_a_seed_one_is_drawn_and_printed(self) -> None:
        """In the table's last line and in the JSON."""
        words = ("verify", "torch-tanh", "--dtype", "float32", "--device", "cpu", "--examples", "1")
        outcomes = [invoke(*words, "--json", "-") for _ in range(2)]
        seeds = [json.loads(outcome.out)["environment"]["seed"] for outcome in outcomes]
        assert seeds[0] != seeds[1]
        for seed, outcome in zip(seeds, outcomes, strict=True):
            assert outcome.err.endswith(f"; seed {seed}\n")


class TestFlushToZero:
    """Set in the process before it starts to verify: reported, and not tripped over."""

    def test_reported(self, tmp_path: Path) -> None:
        """Where a subject's module sets it when imported, as libraries built for speed do."""
        path = tmp_path / "fast.py"
        path.write_text(
            "import torch\ntorch.set_flush_denormal(True)\ndef tanh(x):\n    return torch.tanh(x)\n"
        )
        outcome = spawn(
            "verify",
            f"{path}:tanh",
            "--as",
            "activation",
            "--dtype",
            "float32,float64",
            *QUICK,
            "--json",
            "-",
        )
        assert 0 == outcome.status, outcome.err
        assert json.loads(outcome.out)["environment"]["flush_to_zero"] is True
        assert "flush-to-zero was on: subjects ran with it" in outcome.err

    def test_not_reported_where_it_is_off(self, passing: Outcome) -> None:
        """Of course."""
        assert json.loads(passing.out)["environment"]["flush_to_zero"] is False
        assert "flush-to-zero" not in passing.err


class TestOutput:
    """For people: on a terminal, in a log, into a pipe."""

    def test_a_log_has_no_escape_codes(self, failing: tuple[Outcome, Path]) -> None:
        """And no row of the table is folded."""
        out = failing[0].out
        assert "\x1b" not in out
        table = out.partition("\n\n")[0].splitlines()
        assert 7 == len(table)
        assert 1 == len({len(re.split("[│┃╇]", line)) for line in table})

    def on_a_terminal(self, **variables: str) -> tuple[str, str]:
        """Standard output and standard error of a passing run, each a terminal 80 columns wide."""
        ends = [pty.openpty() for _ in range(2)]
        for _, slave in ends:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        process = subprocess.Popen(
            [*COMMAND, "verify", "textbook", "--dtype", "float32", *QUICK],
            env=environment(TERM="xterm-256color", **variables),
            stdout=ends[0][1],
            stderr=ends[1][1],
        )
        for _, slave in ends:
            os.close(slave)
        texts = {master: b"" for master, _ in ends}
        waiting = set(texts)
        while waiting:
            for master in select.select(list(waiting), [], [], 300)[0]:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # how a terminal says that nobody holds its other end
                    piece = b""
                texts[master] += piece
                if not piece:
                    waiting.discard(master)
                    os.close(master)
        assert 0 == process.wait(timeout=60)
        out, err = (texts[master].decode() for master, _ in ends)
        return out, err

    def test_a_terminal(self) -> None:
        """Colours, and a progress bar on standard error that counts to the end."""
        out, err = self.on_a_terminal()
        assert "\x1b[32m" in out
        assert "14/14" in err
        assert "textbook float32 cpu" in err
        plain = re.sub(r"\x1b\[[\d;]*m", "", out)
        rows = [line for line in plain.splitlines() if line.startswith("textbook")]
        assert [13, 11] == [len(row.split("│")) for row in rows]
        assert "…" not in plain

    def test_a_terminal_without_colours(self) -> None:
        """With NO_COLOR standard output has no escape code at all."""
        out, _ = self.on_a_terminal(NO_COLOR="1")
        assert "verdicts as required" in out
        assert "\x1b" not in out

    def test_a_reader_that_leaves(self, tmp_path: Path) -> None:
        """`| head -1`: no traceback, the status of the verification, and the JSON is written."""
        path = tmp_path / "v.json"
        process = subprocess.Popen(
            [*COMMAND, "verify", "textbook", "--dtype", "float32", *QUICK, "--json", str(path)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before the first line: every write then fails
        assert b"" == process.stderr.read()
        process.stderr.close()
        assert 0 == process.wait(timeout=60)
        assert json.loads(path.read_text())["verdicts"][0]["passed"]


class TestInterrupt:
    """Ctrl-C."""

    def test_finished_verdicts_are_kept(self, tmp_path: Path) -> None:
        """One is enough: what is complete is printed and written, and the status is 5."""
        path = tmp_path / "slow.py"
        mark = tmp_path / "second"
        # Quick in binary16, then slow: it says when the second plan has begun.
        path.write_text(
            "import pathlib, time, torch\n"
            f"MARK = pathlib.Path({str(mark)!r})\n"
            "def tanh(x):\n"
            "    if x.dtype is torch.float32:\n"
            "        MARK.touch()\n"
            "        time.sleep(0.05)\n"
            "    return torch.tanh(x)\n"
        )
        report = tmp_path / "v.json"
        process = subprocess.Popen(
            [
                *COMMAND,
                "verify",
                f"{path}:tanh",
                "--as",
                "activation",
                *LONG,
                "--examples",
                "400",
                "--json",
                str(report),
                "--junitxml",
                str(tmp_path / "v.xml"),
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell ignores SIGINT in what it runs in the background, and a child inherits that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + 300
        while not mark.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert (5, "") == (process.returncode, err)
        assert "interrupted: the verdicts above are those that were complete" in out
        assert "1 verdicts as required, 0 not; seed 1" in out
        found = json.loads(report.read_text())
        check(found, _SCHEMA)
        assert found["interrupted"] is True
        assert ["float16"] == [verdict["dtype"] for verdict in found["verdicts"]]
        (suite,) = ElementTree.parse(tmp_path / "v.xml").getroot()
        assert "1" == suite.get("tests")

    def test_before_anything_is_verified(self, tmp_path: Path) -> None:
        """While a subject is imported: one line, 5."""
        path = tmp_path / "slow.py"
        path.write_text("raise KeyboardInterrupt\n")
        outcome = invoke("verify", f"{path}:tanh", "--no-isolate")
        assert (5, "") == (outcome.status, outcome.out)
        assert "neuron-harness: interrupted before anything was verified" == outcome.err.strip()


class TestExplain:
    """One case again."""

    def test_a_case(self, tmp_path: Path) -> None:
        """As text or in a file, the same lines."""
        case = Case("float32", (1.0,), (0.5,), 0.0, 1.0).to_json()
        path = tmp_path / "case.json"
        path.write_text(case)
        outcomes = [invoke("explain", "textbook", each) for each in (case, str(path))]
        assert outcomes[0] == outcomes[1]
        assert (0, "") == (outcomes[0].status, outcomes[0].err)
        assert outcomes[0].out.startswith("textbook (neuron), float32, n = 1\n")

    def test_options(self) -> None:
        """The kind of a subject, and the error its tanh is allowed."""
        case = Case("float32", (0.5,), (), 0.0, 1.0).to_json()
        outcome = invoke("explain", "aten-tanh-gradient", case, "--as", "tanh-gradient")
        assert "gradient[0]" in outcome.out
        outcome = invoke("explain", "textbook", case)
        assert 2 == outcome.status
        assert "say --as tanh-gradient" in outcome.err


class TestClosedStreams:
    """What is printed has no reader, and the verdict is the same."""

    @pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
    def test_the_status_is_that_of_the_verdict(self, closed: str) -> None:
        """Whichever of the streams is closed."""
        words = "verify textbook --dtype float16 --examples 20 --seed 1"
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *words.split()],
            env=environment(),
            capture_output=True,
            timeout=300,
        )
        assert (0, b"") == (done.returncode, done.stderr)
