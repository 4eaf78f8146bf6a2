"""Documents of the engines: every figure, law and worst input arrives in the rows of a night."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import lru_cache
from typing import Any

import pytest

from harness.case import Case
from harness.report.documents import DocumentError, Findings, Looked, swept, verification
from harness.subjects import load
from harness.sweep.engine import environment
from harness.sweep.record import to_json
from tests.harness.command import invoke
from tests.harness.sweep.subjects_under_sweep import swept as sweep_of

LOOKED = Looked("name", "float16", "cpu", "x86_64 AVX2", "the command", 1.5)


@lru_cache
def verified(subject: str, *options: str) -> tuple[dict[str, Any], Findings]:
    words = ("verify", subject, "--dtype", "float16", "--device", "cpu", "--seed", "1")
    content = invoke(*words, "--examples", "28", "--json", "-", *options).out.encode()
    return json.loads(content), verification(content, LOOKED, 1)


def test_a_verification_becomes_a_row_of_each_order() -> None:
    """Grades, errors, ratios, laws; and the worst case of every quantity."""
    document, found = verified("torch-tanh")
    (verdict,) = document["verdicts"]
    first, second = found.rows
    assert ("verify", "second order") == (first.look, second.look)
    assert verdict["passed"] is first.passed is True
    assert (verdict["grade"], verdict["examples"]) == (first.grade, first.points)
    for row, quantities in (
        (first, verdict["quantities"]),
        (second, verdict["second_order"]["quantities"]),
    ):
        assert list(quantities) == [each.quantity for each in row.figures]
        for figure in row.figures:
            expected = quantities[figure.quantity]
            assert expected["max_ulp"] == figure.max_ulp
            assert expected["max_bound_ratio"] == figure.ratio
            assert expected["grade"] == figure.grade
    assert [law["name"] for law in verdict["laws"]] == [law.name for law in found.laws]
    assert "seed 1" in first.sample and "hypothesis" in first.sample
    cases = {Case.from_json(each.case) for each in found.worst}
    assert Case.from_json(json.dumps(verdict["quantities"]["output"]["worst_case"])) in cases


def test_a_verdict_that_fails_is_a_row_that_fails() -> None:
    """With why, and the smallest case that shows it among the worst inputs."""
    document, found = verified("exponential", "--require", "textbook")
    (verdict,) = document["verdicts"]
    assert not found.rows[0].passed
    assert verdict["failure"] == found.rows[0].failure
    smallest = Case.from_json(json.dumps(verdict["counterexample"]["case"]))
    assert smallest in {Case.from_json(each.case) for each in found.worst}


def test_a_sweep_becomes_figures_segments_and_shares() -> None:
    """Shares are of the histogram, exactly; segments add up to the whole."""
    content = to_json([sweep_of(load("textbook"), dtype="float16")], environment())
    document = json.loads(content)["sweeps"][0]
    found = swept(content, LOOKED, 1)
    (row,) = found.rows
    assert (row.exhaustive, row.sample, row.points) == (True, "every input", 65536)
    for figure in row.figures:
        expected = document["quantities"][figure.quantity]
        assert expected["max_ulp"] == figure.max_ulp
        assert expected["misrounded"] == figure.misrounded
        edges, counts = expected["histogram"]["edges"], expected["histogram"]["counts"]
        assert figure.within is not None
        for limit, share in zip((0.5, 1.0, 2.0), figure.within, strict=True):
            # A bin is (low, high]: one ends at the limit, on either side.
            inside = sum(
                count
                for low, high, count in zip(edges, edges[1:], counts[1:], strict=False)
                if -limit <= low and high <= limit
            )
            assert inside / 65536 == share
        own = [each for each in found.segments if each.quantity == figure.quantity]
        assert 65536 == sum(each.points for each in own)
        assert figure.max_ulp == max(each.max_ulp for each in own)
    gradient = [each for each in found.worst if each.quantity == "bias_gradient"]
    assert (
        document["quantities"]["gradient"]["worst_x"] == json.loads(gradient[0].case)["inputs"][0]
    )


def test_a_sweep_that_was_cut_short_is_not_exhaustive() -> None:
    """Nor are its figures those of every input."""
    content = to_json([sweep_of(load("textbook"), dtype="float16")], environment())
    document = json.loads(content)
    document["sweeps"][0] |= {"complete": False, "points": 100}
    found = swept(json.dumps(document).encode(), LOOKED, 1)
    assert not found.rows[0].exhaustive
    assert "every input" != found.rows[0].sample
    assert "stopped after 100 inputs" == found.cut_short


def test_a_hunt_is_sampled() -> None:
    """With its finds among the worst inputs."""
    words = ("hunt", "torch-tanh", "--dtype", "float32", "--evaluations", "2000", "--seed", "1")
    content = invoke(*words, "--cold", "--json", "-").out.encode()
    found = swept(content, LOOKED, 1)
    (row,) = found.rows
    assert (row.look, row.exhaustive) == ("hunt", False)
    assert row.points >= 2000 and found.cut_short is None
    assert any(each.quantity == "output" for each in found.worst)


def test_text_of_subjects_is_inert_and_bounded() -> None:
    """Escapes, line ends and a megabyte do not get into a night."""
    document = deepcopy(verified("torch-tanh")[0])
    verdict = document["verdicts"][0]
    hostile = "\x1b[31m\n<script>" + "x" * 1_000_000
    verdict |= {"passed": False, "failure": hostile}
    verdict["laws"][0] |= {"passed": False, "counterexample": {"message": hostile, "case": None}}
    found = verification(json.dumps(document).encode(), LOOKED, 1)
    for text in (found.rows[0].failure, found.laws[0].message):
        assert text is not None
        assert text.isprintable() and len(text) < 3000
        assert text.startswith(r"\x1b[31m <script>xxx")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"environment": {}}', b"\xff", b'{"sweeps": []'])
def test_what_is_no_document_is_refused(content: bytes) -> None:
    """Whichever it was meant to be."""
    for read in (verification, swept):
        with pytest.raises(DocumentError):
            read(content, LOOKED, 1)
