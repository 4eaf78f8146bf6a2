"""Verdicts as JUnit XML, the form that continuous integration servers read."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from harness.failure import describe
from harness.observed import describe_observed
from harness.verdict import Verification

#: Characters that XML 1.0 cannot hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(verification: Verification) -> bytes:
    """One test case for each verdict; a verdict where nothing could be judged is an error. Breaches
    of observed laws are what the case has printed."""
    verdicts = verification.verdicts
    failed = [verdict for verdict in verdicts if not verdict.passed]
    errors = [verdict for verdict in failed if verdict.nothing_judged]
    suite = ElementTree.Element(
        "testsuite",
        name="neuron-harness",
        tests=str(len(verdicts)),
        failures=str(len(failed) - len(errors)),
        errors=str(len(errors)),
        time=f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_clean(verdict.subject),
            name=f"{verdict.dtype}-{verdict.device}",
            time=f"{verdict.seconds:.3f}",
        )
        if not verdict.passed:
            tag = "error" if verdict.nothing_judged else "failure"
            fault = ElementTree.SubElement(case, tag, message=_clean(verdict.failure or ""))
            fault.text = _clean(describe(verdict))
        observed = describe_observed([verdict])
        if observed:
            ElementTree.SubElement(case, "system-out").text = _clean(observed)
    tree = ElementTree.Element("testsuites")
    tree.append(suite)
    ElementTree.indent(tree)
    text: bytes = ElementTree.tostring(tree, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
