"""Verdicts for GitHub Actions: annotations, and the table in the job's summary."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from harness import actions
from harness.grade import Grade
from harness.verdict import Verification
from tests.harness.command import spawn
from tests.harness.test_verdict import PASSING, RAISED, WRONG, verdict

HOSTILE = "<img src=x>|`x`\x1b[31m\n::error::,:%0A**bold**"
ON: dict[str, str] = {"GITHUB_ACTIONS": "true"}


def test_an_annotation_for_each_failure() -> None:
    """None for a pass; the message holds the case, its lines joined as GitHub wants them."""
    one, other = actions.annotation_lines(Verification({}, (PASSING, WRONG, RAISED)))
    assert one.startswith("::error title=given float32 cpu%3A graded wrong%2C required textbook::")
    assert "\n" not in one
    assert '%0A    case {"dtype":"float32"' in one
    assert "raised ValueError" in other


def test_no_more_annotations_than_are_shown() -> None:
    """The last one names what is left."""
    failed = tuple(replace(WRONG, subject=f"s{index}") for index in range(12))
    lines = actions.annotation_lines(Verification({}, failed))
    assert 10 == len(lines)
    assert "3 more verdicts" in lines[-1]
    assert all(f"s{index} float32 cpu" in lines[-1] for index in (9, 10, 11))
    assert 10 == len(actions.annotation_lines(Verification({}, failed[:10])))


def test_a_hostile_name_does_nothing() -> None:
    """No second command, no escape, no markup, no further column."""
    bad = replace(WRONG, subject=HOSTILE)
    (line,) = actions.annotation_lines(Verification({}, (bad,)))
    title, message = re.fullmatch("::error title=([^:,\n]*)::([^\n]*)", line).groups()  # type: ignore[union-attr]
    assert "\x1b" not in line
    assert "%250A" in title
    assert not message.startswith("::")
    text = actions.summary(Verification({}, (bad,)))
    assert not re.search("<img|\x1b", text)
    # Markdown has no meaning within <pre>.
    assert not re.search("[*][*]bold|`x`", re.sub("(?s)<pre>.*?</pre>", "", text))
    (row,) = (each for each in text.splitlines() if ":x:" in each)
    assert 9 == row.count("|")


def test_the_summary() -> None:
    """The failed first, each with its details; what it comes to is in the head."""
    text = actions.summary(Verification({}, (PASSING, WRONG)))
    assert text.startswith("### neuron-harness: 1 of 2 not as required\n")
    rows = [line for line in text.splitlines() if line.startswith("| :")]
    assert [":x:", ":white_check_mark:"] == [row.split()[1] for row in rows]
    assert 1 == text.count("<details>") == text.count("</details>")
    assert "all as required" in actions.summary(Verification({}, (PASSING,)))
    assert "nothing was verified" in actions.summary(Verification({}, ()))
    assert "interrupted" in actions.summary(Verification({}, (PASSING,), interrupted=True))


def test_a_summary_too_long_is_cut_between_details() -> None:
    """GitHub would drop all of it."""
    long = verdict(Grade.WRONG, error="raised " + "x" * 1900)
    text = actions.summary(Verification({}, (long,) * 800))
    assert len(text) < 2**20
    assert text.count("<details>") == text.count("</details>")
    assert text.endswith("The rest is cut off.\n")


def test_off_elsewhere(tmp_path: Path) -> None:
    """Neither lines nor a file."""
    place = tmp_path / "summary.md"
    assert [] == actions.report(Verification({}, (WRONG,)), {"GITHUB_STEP_SUMMARY": str(place)})
    assert not place.exists()


def test_on_by_itself(tmp_path: Path) -> None:
    """The summary is added to what others wrote there."""
    place = tmp_path / "summary.md"
    place.write_text("before\n")
    verification = Verification({}, (WRONG,))
    lines = actions.report(verification, {**ON, "GITHUB_STEP_SUMMARY": str(place)})
    assert actions.annotation_lines(verification) == lines
    assert f"before\n{actions.summary(verification)}" == place.read_text()


def test_a_summary_that_cannot_be_written(tmp_path: Path) -> None:
    """A warning, and the annotations all the same."""
    lines = actions.report(Verification({}, (WRONG,)), {**ON, "GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert 2 == len(lines)
    assert lines[-1].startswith("::warning::the step summary cannot be written")


def test_the_command_prints_them(tmp_path: Path) -> None:
    """`verify` in a job: lines of their own after the tables, and the status is unchanged."""
    place = tmp_path / "summary.md"
    outcome = spawn(
        *("verify", "sigmoid", "--dtype", "float32", "--examples", "14", "--seed", "1"),
        *("--require", "textbook"),
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(place),
    )
    assert 1 == outcome.status
    assert re.search("^::error title=sigmoid float32 cpu%3A graded wrong", outcome.out, re.M)
    assert "1 of 1 not as required" in place.read_text()
