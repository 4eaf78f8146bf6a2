"""One law, one subject, one case: what the law says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.api import make_plans
from harness.case import Case
from harness.grade import Grade
from harness.judge import Finding, Judge
from harness.subjects import Kind, Subject
from tests.harness.breaking import law


def judge_of(
    subject: Subject | Callable[..., Any],
    dtype: str = "float32",
    kind: Kind = Kind.NEURON,
    require: Grade | None = None,
) -> Judge:
    """The judge of a subject, held to `require`."""
    if not isinstance(subject, Subject):
        subject = Subject(subject.__name__, kind, subject)
    (plan,) = make_plans(
        [(None, subject)],
        dtypes=[dtype],
        devices=["cpu"],
        require=require,
        examples=1,
        seed=1,
        activation_ulps=None,
    )
    return Judge(plan)


def finding(
    name: str,
    subject: Subject | Callable[..., Any],
    case: Case,
    kind: Kind = Kind.NEURON,
    require: Grade | None = None,
) -> Finding:
    """What one law finds in one case."""
    return judge_of(subject, case.dtype, kind, require).law(law(name), case)


def breach(
    name: str,
    subject: Subject | Callable[..., Any],
    case: Case,
    kind: Kind = Kind.NEURON,
    require: Grade | None = None,
) -> str | None:
    """What one law says of one case; None if it is kept."""
    return finding(name, subject, case, kind, require).broken.get(name)
