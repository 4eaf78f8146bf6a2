"""Plans: what is read, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.case import DTYPES
from harness.errors import UsageError
from harness.report.plan import read_plan

ROOT = Path(__file__).parents[3]


def test_a_plan_stands_in_a_table_of_pyproject(tmp_path: Path) -> None:
    """Or is a file of its own; what is not said has a default."""
    body = 'budget = 60\n[[{0}verify]]\nsubjects = ["textbook"]\n'
    own, table = tmp_path / "plan.toml", tmp_path / "pyproject.toml"
    own.write_text(body.format(""))
    prefix = "tool.neuron-harness.report."
    table.write_text(f"[{prefix[:-1]}]\n" + body.format(prefix))
    plan = read_plan(own)
    assert plan == read_plan(table)
    assert (60.0, 1, "reports") == (plan.budget, plan.seed, plan.reports)
    (looks,) = plan.verify
    assert (("textbook",), DTYPES, None, 1000) == (
        looks.subjects,
        looks.dtypes,
        looks.devices,
        looks.examples,
    )


def test_the_plan_of_this_project_can_be_read() -> None:
    """All four dtypes, exhaustive sweeps in 16 bits, one in float32, hunts."""
    plan = read_plan(ROOT / "pyproject.toml")
    assert any(looks.dtypes == DTYPES for looks in plan.verify)
    swept = {(subject, dtype) for t in plan.sweep for subject in t.subjects for dtype in t.dtypes}
    assert {("torch-tanh", d) for d in ("float16", "bfloat16", "float32")} <= swept
    assert plan.hunt


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("budget = 0", "Expected `float` > 0"),
        ("seed = -1", "Expected `int` >= 0"),
        ("bugdet = 1", "unknown field `bugdet`"),
        ("[[verify]]\nsubjects = []", "length >= 1"),
        ("[[verify]]\nexamples = 9", "missing required field `subjects`"),
        ('[[hunt]]\nsubjects = ["a"]\nevaluations = 0', "Expected `int` >= 1"),
        ('[[sweep]]\nsubjects = ["a"]\nrequire = "stable"', "Invalid enum value 'stable'"),
        ('[[verify]]\nsubjects = ["a"]\ndtypes = ["float8"]', "unknown dtype 'float8'"),
        ('[[verify]]\nsubjects = ["a"]\ndevices = ["tpu"]', "unknown device 'tpu'"),
        ("budget", "is not TOML"),
        ("[tool.other]", "has no table"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(
    tmp_path: Path, text: str | None, expected: str
) -> None:
    """The file, the place in it, what was expected."""
    file = tmp_path / "plan.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=expected) as caught:
        read_plan(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)
