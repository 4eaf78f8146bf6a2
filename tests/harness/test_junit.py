"""Verdicts as JUnit XML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from harness.failure import describe
from harness.grade import Grade
from harness.junit import to_junit
from harness.observed import describe_observed
from harness.verdict import Verdict, Verification
from tests.harness.test_verdict import PASSING, RAISED, UNJUDGED, WRONG, broken, verdict


def suite(*verdicts: Verdict) -> ElementTree.Element:
    """The one test suite of the XML of some verdicts."""
    root = ElementTree.fromstring(to_junit(Verification({"seed": 1}, verdicts)))
    assert "testsuites" == root.tag
    (found,) = root
    return found


def test_counts_and_cases() -> None:
    """As many cases as verdicts; a violation is a failure, nothing judged is an error."""
    verdicts = (PASSING, WRONG, UNJUDGED, RAISED, PASSING)
    found = suite(*verdicts)
    assert ("5", "2", "1") == tuple(found.get(name) for name in ("tests", "failures", "errors"))
    assert 2.5 == float(found.get("time", ""))
    cases = found.findall("testcase")
    assert [("given", "float32-cpu", "0.500")] * 5 == [
        (case.get("classname"), case.get("name"), case.get("time")) for case in cases
    ]
    assert [[], ["failure"], ["error"], ["failure"], []] == [
        [child.tag for child in case] for case in cases
    ]


def test_a_failure_is_described() -> None:
    """Its message is the verdict's line, its text what a terminal shows."""
    (fault,) = suite(WRONG).iter("failure")
    assert "graded wrong, required textbook" == fault.get("message")
    assert describe(WRONG) == fault.text


def test_observed_breaches_are_printed() -> None:
    """Of a case that passes, and that stays a pass."""
    observed = verdict(laws=(broken("lanes", required=False),))
    found = suite(observed)
    assert "0" == found.get("failures")
    (case,) = found
    assert ["system-out"] == [child.tag for child in case]
    assert describe_observed([observed]) == case[0].text
    assert "given float32: observed law lanes: lanes is broken" in str(case[0].text)


def test_nothing_is_a_suite_without_cases() -> None:
    """Still XML."""
    assert ("0", 0) == (suite().get("tests"), len(suite()))


def test_characters_that_xml_cannot_hold() -> None:
    """Controls, lone surrogates and non-characters are replaced; quotes and tags are escaped."""
    error = "raised E: \x00\x08\x1b[31m\ud800\ufffe <b>&\"'\u00e9\U0001f600"
    named = replace(RAISED, subject="file\x01.py:f", error=error)
    (fault,) = suite(named).iter("failure")
    mark = "\N{REPLACEMENT CHARACTER}"
    assert f"raised E: {mark * 3}[31m{mark * 2} <b>&\"'\u00e9\U0001f600" == fault.get("message")
    (case,) = suite(named).findall("testcase")
    assert f"file{mark}.py:f" == case.get("classname")


def test_it_declares_its_encoding() -> None:
    """UTF-8, and it ends with a line end."""
    text = to_junit(Verification({}, (verdict(Grade.WRONG, subject="\u00e9"),)))
    assert text.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n")
    assert text.endswith(b"</testsuites>\n")
    assert "\u00e9".encode() in text
