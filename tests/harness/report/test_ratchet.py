"""The ratchet: worse fails, better must be accepted, and nothing unknown passes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from harness.errors import UsageError
from harness.report.nights import Night
from harness.report.outcome import Colour, Outcome, outcome
from harness.report.ratchet import (
    Entry,
    State,
    accept,
    accepted_lines,
    baseline_bytes,
    read_baseline,
    standings,
)
from harness.report.record import LeftOut
from tests.harness.report.made import figure, night, row, with_ulps


def judged(tonight: Night, accepted: Night) -> Outcome:
    return outcome(tonight, standings(tonight, accept(accepted, {})))


def test_a_night_that_repeats_the_accepted_one_is_green() -> None:
    """Every figure is as accepted, exit status 0."""
    found = judged(night(row()), night(row()))
    assert (Colour.GREEN, 0, ()) == (found.colour, found.exit_status, found.lines)


def test_a_worse_figure_is_red_and_named() -> None:
    """By an ulp, in one of two subjects; taken back, it is green."""
    kept, other = row(), row(subject="textbook")
    accepted = night(kept, other)
    found = judged(night(kept, with_ulps(other, 1.75)), accepted)
    assert (Colour.RED, 1, "1 worse") == (found.colour, found.exit_status, found.headline)
    (line,) = found.lines
    assert line.startswith("worse: textbook float16 cpu (x86_64 AVX2), verify: output: ")
    assert "0.750 -> 1.750" in line
    assert Colour.GREEN is judged(night(kept, other), accepted).colour


def test_a_better_figure_is_red_until_it_is_accepted() -> None:
    """Or what was gained could be lost again unseen."""
    better = night(with_ulps(row(), 0.5))
    accepted = accept(night(row()), {})
    found = outcome(better, standings(better, accepted))
    assert (Colour.RED, 1) == (found.colour, found.exit_status)
    assert "report --accept" in found.lines[-1]
    after = accept(better, accepted)
    assert Colour.GREEN is outcome(better, standings(better, after)).colour
    back = night(row())
    assert Colour.RED is outcome(back, standings(back, after)).colour


def test_a_new_kind_of_machine_has_no_baseline_and_is_no_pass() -> None:
    """Figures of another vector capability say nothing of it."""
    found = judged(night(row(machine="x86_64 AVX512")), night(row()))
    assert (Colour.AMBER, 5) == (found.colour, found.exit_status)
    assert found.lines == ("no baseline: torch-tanh float16 cpu (x86_64 AVX512), verify: output",)


def test_an_accepted_figure_that_is_not_measured_is_no_pass() -> None:
    """A subject that was dropped cannot get worse, and nobody would know."""
    found = judged(night(row()), night(row(), row(subject="textbook")))
    assert (Colour.AMBER, 5) == (found.colour, found.exit_status)
    assert found.lines == ("not measured: textbook float16 cpu (x86_64 AVX2), verify: output",)


def test_machines_that_did_not_take_part_are_not_missed() -> None:
    """The baseline holds several kinds; a night need not have all of them."""
    accepted = accept(night(row(machine="aarch64 DEFAULT")), accept(night(row()), {}))
    assert 2 == len(accepted)
    tonight = night(row())
    assert Colour.GREEN is outcome(tonight, standings(tonight, accepted)).colour


def test_figures_of_other_inputs_are_compared_by_grade_alone() -> None:
    """Another release draws other cases, with other worst errors."""
    accepted = night(row())
    other = row([figure(max_ulp=9.0)], sample="100 cases (seed 2)")
    found = judged(night(other), accepted)
    assert (Colour.AMBER, 5) == (found.colour, found.exit_status)
    worse = row([figure(grade="wrong")], sample="100 cases (seed 2)")
    assert Colour.RED is judged(night(worse), accepted).colour


def test_a_failed_look_is_red_whatever_is_accepted() -> None:
    """A figure that was accepted does not make a failure a pass."""
    failing = row(passed=False, failure="graded wrong, required textbook")
    found = judged(night(failing), night(failing))
    assert (Colour.RED, 1, "1 failed") == (found.colour, found.exit_status, found.headline)
    assert "graded wrong" in found.lines[0]


def test_a_night_without_looks_is_no_pass() -> None:
    """Exit status 3: nothing was looked at."""
    empty = Night("empty", ())
    assert 3 == outcome(empty, standings(empty, {})).exit_status


def test_accepting_drops_what_is_no_longer_looked_at_unless_something_was_left_out() -> None:
    """A budget that ran out is no reason to forget a figure."""
    accepted = accept(night(row(), row(subject="textbook")), {})
    assert 1 == len(accept(night(row()), accepted))
    partial = night(row(), left_out=(LeftOut("textbook", "no time"),))
    assert 2 == len(accept(partial, accepted))


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Sorted, one entry a line, so that a change of one figure is a change of one line."""
    rows = [row(subject=name) for name in ("b", "a", "c")]
    file = tmp_path / "baseline.json"
    file.write_bytes(baseline_bytes(accept(night(*rows), {})))
    before = read_baseline(file)
    assert accept(night(*rows), {}) == before
    changed = accept(night(rows[0], with_ulps(rows[1], 0.5), rows[2]), before)
    lines = [set(baseline_bytes(each).splitlines()) for each in (before, changed)]
    assert 1 == len(lines[0] - lines[1]) == len(lines[1] - lines[0])
    (line,) = accepted_lines(before, changed)
    expected = (
        "better: a float16 cpu (x86_64 AVX2), verify: output: worst error in ulps 0.750 -> 0.500"
    )
    assert expected == line
    assert ["a", "b", "c"] == [
        each["subject"] for each in msgspec.json.decode(file.read_bytes())["entries"]
    ]


def test_no_baseline_is_an_empty_one(tmp_path: Path) -> None:
    """And can be written and read."""
    assert {} == read_baseline(tmp_path / "none.json")
    file = tmp_path / "baseline.json"
    file.write_bytes(baseline_bytes({}))
    assert {} == read_baseline(file)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema": "other/1", "entries": []}', b"\xff"])
def test_a_file_that_is_no_baseline_is_one_line(tmp_path: Path, content: bytes) -> None:
    """It is not taken for an empty one."""
    file = tmp_path / "baseline.json"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_baseline(file)
    assert "\n" not in str(caught.value) and str(file) in str(caught.value)


def test_every_state_is_one_that_a_standing_can_have() -> None:
    """Each way a figure can stand, in one night."""
    names = ("kept", "worse", "better", "other", "new", "gone")
    accepted = night(*(row(subject=name) for name in names if name != "new"))
    tonight = night(
        row(subject="kept"),
        with_ulps(row(subject="worse"), 2.0),
        with_ulps(row(subject="better"), 0.5),
        row(subject="other", sample="others"),
        row(subject="new"),
    )
    found = {each.subject: each.state for each in standings(tonight, accept(accepted, {}))}
    assert (
        dict(zip(("kept", "worse", "better", "other", "new", "gone"), State, strict=True)) == found
    )
    assert Entry.__struct_fields__[:5] == ("subject", "dtype", "device", "machine", "look")
