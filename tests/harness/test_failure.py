"""A failure in words: figures that are right, and a way to see them again that works."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
import torch

from harness.api import verify
from harness.case import Case
from harness.contract import judge_neuron
from harness.failure import decimal, describe, element_report
from harness.grade import Grade
from harness.hexfloat import hex_text
from harness.verdict import ElementReport, Verdict
from reference.bounds import default_arithmetic
from reference.dyadic import Dyadic
from reference.formats import BINARY32
from reference.neuron import neuron
from reference.real import Real
from tests.harness import faulty
from tests.harness.command import ROOT, environment, invoke

FAULTY = "tests/harness/faulty.py"


def verdict_on(subject: Any, **options: Any) -> Verdict:
    """The verdict on a subject that fails, in binary32."""
    arguments = {"dtypes": ["float32"], "devices": ["cpu"], "examples": 13, "seed": 1, **options}
    (verdict,) = verify(subject, **arguments).verdicts
    assert not verdict.passed
    return verdict


def line(text: str, head: str) -> str:
    """What follows `head` on the first line that starts with it: that of the grade, before laws."""
    found = next(each for each in text.splitlines() if each.split()[:1] == [head])
    return found.split(maxsplit=1)[1]


class TestFigures:
    """Computed, exact, rounded, error and bound of one element."""

    def element(
        self, computed: float, required: Grade = Grade.TEXTBOOK, bias: float = 1.0
    ) -> ElementReport:
        """The report on an output of a neuron without inputs."""
        exact = neuron([], [], bias, 1.0, format=BINARY32)
        values = {"output": [computed], "input_gradient": [], "weight_gradient": []}
        judgement = judge_neuron(
            exact, {**values, "bias_gradient": [0.5]}, default_arithmetic(BINARY32)
        )
        (element,) = judgement.quantities["output"]
        return element_report("output", 0, element, BINARY32, required)

    def test_figures_against_mpmath(self) -> None:
        """tanh 1 to 20 digits, its neighbour 100 ulps up, and the bound of 2.5 ulps of tanh."""
        mpmath.mp.prec = 200
        tanh = mpmath.tanh(1)
        rounded = float(torch.tensor(float(tanh), dtype=torch.float32))
        computed = rounded + 100 * 2.0**-24
        report = self.element(computed)
        assert mpmath.nstr(tanh, 20) == report.exact
        assert (hex_text(computed), hex_text(rounded)) == (report.computed, report.rounded)
        assert report.ulps == pytest.approx(float((computed - tanh) * 2**24), rel=1e-6)
        assert report.bound_ulps == pytest.approx(2.5)
        assert ("output", Grade.WRONG) == (report.place, report.grade)

    def test_what_is_not_judged_is_called_unjudged(self) -> None:
        """Not correct, which nobody has found it to be."""
        value = 2.0**100
        exact = neuron([value, value], [value, -value], 0.0, 1.0, format=BINARY32)
        arithmetic = default_arithmetic(BINARY32)
        values = {"output": [0.5], "bias_gradient": [0.5]}
        vectors = {"input_gradient": [0.5] * 2, "weight_gradient": [0.5] * 2}
        judgement = judge_neuron(exact, {**values, **vectors}, arithmetic)
        (element,) = judgement.quantities["output"]
        unjudged = element._replace(grade=None)
        assert "unjudged" == element_report("output", 0, unjudged, BINARY32).grade

    def test_errors_are_signed(self) -> None:
        """Below the exact value is negative."""
        low, high = self.element(0.75), self.element(0.775)
        assert low.ulps is not None
        assert high.ulps is not None
        assert low.ulps < 0 < high.ulps

    @pytest.mark.parametrize(
        ("required", "bound"),
        [(Grade.CORRECT, 0.5), (Grade.FAITHFUL, 1.0), (Grade.STABLE, 2.5), (Grade.TEXTBOOK, 2.5)],
    )
    def test_the_bound_is_that_of_the_grade_required(self, required: Grade, bound: float) -> None:
        """Or a stable result's error would look allowed where faithful was asked for."""
        assert pytest.approx(bound) == self.element(0.75, required).bound_ulps

    def test_an_error_without_a_size(self) -> None:
        """NaN is no number of ulps away."""
        report = self.element(float("nan"))
        assert (None, None) == (report.ulps, report.bound_ulps)
        assert "nan" == report.computed

    @pytest.mark.parametrize(
        "value",
        [Dyadic(1, 0), Dyadic(-3, -2), Dyadic(12345678901234567, -80), Dyadic(5, -1074)],
        ids=str,
    )
    def test_decimal_of_a_dyadic(self, value: Dyadic) -> None:
        """20 significant digits of it, against exact rational arithmetic."""
        exact = Fraction(value.mantissa) * Fraction(2) ** value.exponent
        error = abs(Fraction(decimal(Real(value))) / exact - 1)
        assert error <= Fraction(1, 10**19)

    def test_decimal_of_special_values(self) -> None:
        """As they are called."""
        texts = [decimal(Real(value)) for value in (0.0, -0.0, float("inf"), float("nan"))]
        assert ["0", "-0", "inf", "nan"] == texts

    def test_decimal_of_what_is_almost_zero(self) -> None:
        """sech^2 of a large number is not zero, and is not printed as zero."""
        tiny = neuron([], [], 3.0e38, 1.0, format=BINARY32).bias_gradient
        assert "not 0, but below 1e-6300 in magnitude" == decimal(tiny)


class TestDescription:
    """The lines on a verdict."""

    def test_a_pass_is_one_line(self) -> None:
        """That says so."""
        (verdict,) = verify("textbook", dtypes=["float32"], examples=13, seed=1).verdicts
        assert "textbook float32 cpu: graded " in describe(verdict)
        assert describe(verdict).endswith(", as required")
        assert 1 == len(describe(verdict).splitlines())

    def test_a_failure_has_its_figures(self) -> None:
        """Place and grade, hex and decimal, signed ulps and bound, case and command."""
        text = describe(verdict_on(faulty.divides))
        lines = text.splitlines()
        assert (
            "tests.harness.faulty:divides float32 cpu: graded wrong, required textbook" == lines[0]
        )
        assert "  bias_gradient: wrong" == lines[1]
        mpmath.mp.prec = 200
        # g / (1 - y^2) at a = 1 and g = 1, where g * (1 - y^2) is right.
        assert mpmath.nstr(mpmath.sech(1) ** 2, 20) == line(text, "exact")
        computed = float.fromhex(line(text, "computed"))
        assert computed == pytest.approx(float(mpmath.cosh(1) ** 2), rel=1e-6)
        assert hex_text(float(torch.tensor(float(mpmath.sech(1) ** 2)))) == line(text, "rounded")
        ulps = float((computed - mpmath.sech(1) ** 2) * 2**25)
        assert re.fullmatch(
            rf"{re.escape(f'{ulps:+.6g}')} ulps \(textbook bound \d\S* ulps\)", line(text, "error")
        )
        assert Case("float32", (), (), 1.0, 1.0) == Case.from_json(line(text, "case"))

    def test_every_law_is_described(self) -> None:
        """With its own case and command, beside a grade that fails too."""
        text = describe(verdict_on(faulty.changes_its_mind))
        assert "law repeatable: a second call gave other bits for output" in text
        assert "output: wrong" in text
        assert 2 == text.count("    again    ")

    def test_a_raised_exception(self) -> None:
        """Has no figures, but its case."""
        text = describe(verdict_on(faulty.raises))
        assert text.startswith(
            "tests.harness.faulty:raises float32 cpu: raised ArithmeticError: no "
        )
        assert "computed" not in text
        assert "again" in text


def cells(text: str, place: str) -> list[str]:
    """The row of an element in the first table of `explain`."""
    table = text.split("\n\n")[0]
    (row,) = (each.split() for each in table.splitlines() if each.split()[:1] == [place])
    return row


def figures(text: str, place: str) -> tuple[str, str, str]:
    """Computed, rounded and exact of an element."""
    row = cells(text, place)
    return row[1], row[2], row[3]


def check_replay(shown: str, text: str) -> None:
    """What a replay shows is what the failure said."""
    (place,) = re.findall(r"^  (\S+): wrong$", text, re.MULTILINE)
    assert (line(text, "computed"), line(text, "rounded"), line(text, "exact")) == figures(
        shown, place
    )
    row = cells(shown, place)
    assert float(row[4]) == pytest.approx(float(line(text, "error").split()[0]), rel=1e-3)
    assert "wrong" == row[6]


class TestAgain:
    """The command that shows a case again is run, and shows the same figures."""

    @pytest.mark.parametrize(
        "subject",
        [
            pytest.param(f"{FAULTY}:divides", id="a file"),
            pytest.param("tests.harness.faulty:next_lane", id="a module"),
            pytest.param(faulty.drops_g, id="a function of a module"),
        ],
    )
    def test_a_command(self, subject: Any) -> None:
        """Split as a shell does, and run."""
        text = describe(verdict_on(subject, examples=65))
        program, *arguments = shlex.split(line(text, "again"))
        assert "neuron-harness" == program
        outcome = invoke(*arguments)
        assert (0, "") == (outcome.status, outcome.err)
        check_replay(outcome.out, text)

    def test_a_command_in_a_process_of_its_own(self, tmp_path: Path) -> None:
        """From a file whose name needs quotes, in a shell, with the options of the verification."""
        path = tmp_path / "it's a $neuron.py"
        path.write_text((ROOT / FAULTY).read_text())
        verdict = verdict_on(f"{path}:divides", activation_ulps=3.5)
        text = describe(verdict)
        command = line(text, "again")
        assert command.endswith(" --as neuron --activation-ulps 3.5")
        replaced = f"{shlex.quote(sys.executable)} -m harness" + command.removeprefix(
            "neuron-harness"
        )
        done = subprocess.run(
            replaced, shell=True, env=environment(), capture_output=True, text=True, timeout=120
        )
        assert (0, "") == (done.returncode, done.stderr)
        check_replay(done.stdout, text)

    def test_a_command_for_a_device(self) -> None:
        """Says the device, unless it is the default."""
        from dataclasses import replace

        verdict = replace(verdict_on(faulty.divides), device="cuda")
        assert line(describe(verdict), "again").endswith("--as neuron --device cuda")

    def test_a_subject_with_a_name_of_its_own(self, tmp_path: Path) -> None:
        """Is found by where it is, not by what it calls itself."""
        path = tmp_path / "own.py"
        path.write_text(
            "from harness.subjects import Kind, Subject\n"
            "def gradient(y, dy):\n    return dy / (1 - y * y)\n"
            "SUBJECT = Subject('the-best', Kind.TANH_GRADIENT, gradient)\n"
        )
        text = describe(verdict_on(f"{path}:SUBJECT", examples=45))
        assert text.startswith("the-best float32 cpu: graded wrong")
        _, *arguments = shlex.split(line(text, "again"))
        outcome = invoke(*arguments)
        assert 0 == outcome.status, outcome.err
        check_replay(outcome.out, text)

    @pytest.mark.parametrize(
        ("function", "kind"),
        [
            pytest.param(lambda x, w, b, g: faulty.divides(x, w, b, g), "neuron", id="lambda"),
            pytest.param(lambda y, dy: dy / (1 - y * y), "tanh-gradient", id="lambda gradient"),
            pytest.param(torch.nn.Sigmoid(), "activation", id="module instance"),
        ],
    )
    def test_no_command_is_promised_that_cannot_work(
        self, function: Callable[..., Any], kind: str
    ) -> None:
        """For what has no name, a line of Python, which works."""
        text = describe(verdict_on(function, kind=kind, examples=45))
        again = line(text, "again")
        assert "neuron-harness explain" not in again
        head = "in Python, with what was verified as `subject`: "
        assert again.startswith(head)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(again.removeprefix(head), {"subject": function})
        check_replay(printed.getvalue(), text)
