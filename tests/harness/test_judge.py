"""One case judged, and the laws that are due for it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.case import Case
from harness.judge import Judge, every_law, no_law
from harness.laws import LAWS
from harness.laws.law import Check, Law
from harness.subjects import Kind, Subject, load
from tests.harness import faulty
from tests.harness.breaking import law
from tests.harness.laws.looking import judge_of

CASE = Case("float32", (1.5, -2.0), (0.5, 0.25), 0.125, 2.0)


def test_no_law_unless_asked() -> None:
    """A hunt asks for accuracy alone."""
    judge = judge_of(faulty.right)
    for finding in (judge(CASE), judge(CASE, no_law)):
        assert ((), {}) == (finding.checked, finding.breaches)


def test_every_law() -> None:
    """All that a case can break beside the laws of a call."""
    finding = judge_of(faulty.right)(CASE, every_law)
    assert [each.name for each in LAWS if each.checks[Kind.NEURON]] == list(finding.checked)
    assert ["mismatch-raises"] == list(finding.breaches)


def test_a_law_of_a_call_alone() -> None:
    """It takes a whole evaluation, but no judgement."""
    finding = judge_of(faulty.writes_inputs).law(law("inputs-untouched"), CASE)
    assert {"inputs-untouched": "weights changed in place"} == finding.breaches
    assert finding.judgement is None


@pytest.mark.parametrize("subject", [faulty.raises, faulty.three_results])
def test_nothing_to_compare(subject: faulty.Neuron) -> None:
    """Where the case itself gives no result, a law has nothing to say."""
    judge = judge_of(subject)
    assert {} == judge.law(law("swap"), CASE).broken
    assert () == judge(CASE, every_law).checked


def test_global_state_is_put_back() -> None:
    """After each call that a law makes, too."""
    for subject in (faulty.sets_default_dtype, faulty.sets_grad_mode, faulty.sets_threads):
        before = (torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads())
        judge_of(subject)(CASE, every_law)
        assert before == (
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.get_num_threads(),
        )


def test_a_result_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many laws ask what the case at hand is worth."""

    def breach(seen: Any, look: Any) -> str:
        return str([look.falls_short(*seen) for _ in range(3)])

    judge = judge_of(faulty.divides)
    judged: list[Case] = []

    def counting(case: Case, values: Any) -> Any:
        judged.append(case)
        return Judge.judgement(judge, case, values)

    monkeypatch.setattr(judge, "judgement", counting)
    asks = Law("given", "", True, {Kind.NEURON: Check(breach)})
    assert {"given": "[True, True, True]"} == judge.law(asks, CASE).broken
    assert [CASE] == judged


def test_built_in() -> None:
    """By identity: another subject of the name is none."""
    assert judge_of(load("textbook")).built_in
    assert not judge_of(Subject("textbook", Kind.NEURON, faulty.right)).built_in
    assert not judge_of(faulty.right).built_in
