"""Verification of subjects that end, block or fill their process: findings, with small cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import harness
from harness.isolate.limits import MIB, Limits
from harness.verdict import Verdict, Verification
from tests.harness.command import invoke, spawn

HOSTILE = Path(__file__).with_name("hostile.py")
LIMITS = Limits(timeout=2.0, memory=128 * MIB, output=4 * MIB)

#: Each with what its finding says, and the number of terms in its smallest case.
SEVEN = [
    ("aborts", "ended its process by SIGABRT", 2),
    ("loops_on_nan", "no answer in 2 s", 0),
    ("allocates", "exceeded its memory limit of 128 MiB", 2),
    ("prints", "printed more than 4 MiB in one call", 2),
    ("raises_on_empty", "raised IndexError: no inputs", 0),
    ("exits", "raised SystemExit: 0", 2),
    ("forks", "returned twice: it forked its process, and both went on", 2),
]
#: Seconds each, where those that fill, fork and hang take longer.
QUICK = ("aborts", "raises_on_empty", "exits")


def verify(name: str, examples: int = 60, **options: object) -> Verification:
    """A hostile subject in float32."""
    given: dict[str, object] = {"limits": LIMITS, "devices": ["cpu"], "seed": 1, **options}
    return harness.verify(
        f"{HOSTILE}:{name}",
        dtypes=["float32"],
        examples=examples,
        **given,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("name", "error", "terms"),
    [
        pytest.param(*each, id=each[0], marks=[] if each[0] in QUICK else pytest.mark.slow)
        for each in SEVEN
    ],
)
def test_a_hostile_subject_is_a_finding(name: str, error: str, terms: int) -> None:
    """With a small case; the run goes on, and keeps what else it has found."""
    verification = verify(name)
    (verdict,) = verification.verdicts
    assert 1 == verification.exit_status
    assert verdict.error is not None
    assert verdict.error.startswith(error), verdict.error
    shown = verdict.counterexample
    assert shown is not None
    assert (terms, "contiguous", 1.0) == (
        len(shown.case.inputs),
        shown.case.layout,
        abs(shown.case.upstream_gradient),
    )
    if name == "loops_on_nan":
        assert shown.case.bias != shown.case.bias
    judged(verdict)
    with pytest.raises(harness.VerificationError, match=error.partition("(")[0]):
        verification.raise_for_failure()


def judged(verdict: Verdict) -> None:
    """The cases that did no harm were judged as ever."""
    assert str(verdict.grade) in ("textbook", "stable", "faithful", "correct")
    assert 20 < verdict.examples <= 60
    broken = {law.name for law in verdict.broken_laws}
    assert broken <= {"zero-padding"}, broken  # whose added terms are harmful too


def test_a_sound_subject_is_judged_as_in_this_process() -> None:
    """To the byte of the JSON."""
    assert verify("sound", isolate=False, limits=None).to_json() == verify("sound").to_json()


@pytest.mark.slow
def test_what_is_slow_is_not_what_hangs() -> None:
    """A case that only looks like one that hangs is not shown as one: cases of two terms are slower
    than calls are given once those of three have hung."""
    (verdict,) = verify("is_slow", limits=Limits(timeout=1.5)).verdicts
    assert "no answer in 1.5 s" == verdict.error
    assert verdict.counterexample is not None
    assert 3 == len(verdict.counterexample.case.inputs)


def test_all_in_one_run(tmp_path: Path) -> None:
    """One lost process costs the others nothing, and the report is whole."""
    out = tmp_path / "v.json"
    names = [f"{HOSTILE}:{name}" for name in ("aborts", "sound", "raises_at_length")]
    outcome = spawn(
        "verify",
        *names,
        *("--dtype", "float32", "--device", "cpu", "--seed", "1", "--examples", "40"),
        *("--json", str(out)),
    )
    assert 1 == outcome.status
    aborts, sound, raises = json.loads(out.read_text())["verdicts"]
    assert [False, True, False] == [each["passed"] for each in (aborts, sound, raises)]
    assert "ended its process by SIGABRT" == aborts["error"]
    assert raises["error"].startswith("raised ValueError: <script>\\x1b[31m\\u202exxx")
    assert "more characters)" in raises["error"]
    for text in (outcome.out, outcome.err, out.read_text()):
        assert "\x1b[31m" not in text
        assert "\u202e" not in text
        assert len(text) < 300_000


def test_a_hostile_name_is_inert(tmp_path: Path) -> None:
    """In tables, messages and the command that shows a case again, which still works."""
    path = tmp_path / "evil\x1b[2J[bold]<b>'.py"
    path.write_text(HOSTILE.read_text())
    outcome = invoke(
        "verify", f"{path}:raises_on_empty", "--dtype", "float32", "--examples", "14", "--seed", "1"
    )
    assert 1 == outcome.status
    assert "\x1b[2J" not in outcome.out + outcome.err
    assert "evil\\x1b[2J[bold]<b>\\'.py" in outcome.out


class TestOptions:
    """Of the command line."""

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["textbook", "--timeout", "3"], "none is; expected neither; leave them out"),
            (["textbook", "--isolate", "--timeout", "0"], "timeout is 0.0; expected seconds"),
            (["textbook", "--isolate", "--memory-limit", "lots"], "memory limit is 'lots'"),
        ],
    )
    def test_one_line(self, words: list[str], expected: str) -> None:
        """And status 2."""
        outcome = invoke("verify", *words)
        assert (2, "") == (outcome.status, outcome.out)
        assert expected in outcome.err
        assert 1 == outcome.err.count("\n")

    def test_a_callable_without_a_name(self) -> None:
        """Cannot be imported by another process."""
        with pytest.raises(harness.UsageError, match="no name by which another process"):
            harness.verify(lambda x: x, kind="activation", isolate=True)
