"""One case of one subject, every float of it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import pytest
import torch

from harness.case import Case
from harness.direction import Direction
from harness.errors import CannotVerify, UsageError
from harness.explain import explain_case, read_case
from harness.hexfloat import hex_text
from harness.subjects import Kind, Subject, SubjectError
from tests.harness import faulty
from tests.harness.breaking import two_slopes

CASE = Case("float32", (1.0, -0.5), (0.5, 0.25), 0.125, 2.0)


def rows(text: str) -> dict[str, list[str]]:
    """The cells of the first table by their place."""
    text = text.split("\n\n")[0]
    found = [
        re.split("  +", line) for line in text.splitlines() if "0x" in line and "{" not in line
    ]
    return {row[0]: row[1:] for row in found}


class TestExplanation:
    """What is shown."""

    def test_every_float_of_the_second_order(self) -> None:
        """The Hessian-vector product along the case's direction, against mpmath."""
        along = replace(CASE, direction=Direction((0.5, 1.0), (-1.0, 2.0), 0.25))
        text = explain_case("textbook", along)
        found = rows(text)
        mpmath.mp.prec = 200
        y, s, g = mpmath.tanh("0.5"), mpmath.sech("0.5") ** 2, 2
        adot = 0.5 * 0.5 + 1.0 * 0.25 - 1.0 * 1.0 + 2.0 * -0.5 + 0.25
        c, d = -2 * g * y * s * adot, g * s
        exact = {
            "input_hessian_product[0]": c * 0.5 + d * -1.0,
            "input_hessian_product[1]": c * 0.25 + d * 2.0,
            "weight_hessian_product[0]": c * 1.0 + d * 0.5,
            "weight_hessian_product[1]": c * -0.5 + d * 1.0,
            "bias_hessian_product": c,
        }
        assert list(exact) == list(found)
        for name, value in exact.items():
            assert mpmath.nstr(value, 20) == found[name][2]
            assert abs(float(found[name][3])) < 4
        assert f"differentiated twice, along {along.direction.to_json()}" in text

    def test_no_second_order(self) -> None:
        """What has none says why; a raw gradient takes no direction."""
        along = replace(CASE, direction=Direction((0.5, 1.0), (-1.0, 2.0), 0.25))

        def detached(*arguments: torch.Tensor) -> Any:
            return tuple(each.detach() for each in faulty.right(*arguments))

        text = explain_case(detached, along)
        assert "not differentiated twice: the input gradient that it returns has no graph" in text
        alone = Case("float32", (), (), 0.0, 1.0, direction=Direction((), (), 1.0))
        with pytest.raises(UsageError, match="has no second order; leave the direction out"):
            explain_case("aten-tanh-gradient", alone)

    def test_every_float_of_a_neuron(self) -> None:
        """Output, both gradients lane by lane, and the bias gradient, against mpmath."""
        text = explain_case("textbook", CASE)
        head, preactivation, *_ = text.splitlines()
        assert "textbook (neuron), float32, n = 2" == head
        assert "exact preactivation 0.5" == preactivation
        mpmath.mp.prec = 200
        slope = 2 * mpmath.sech(mpmath.mpf("0.5")) ** 2
        exact = {
            "output": mpmath.tanh(mpmath.mpf("0.5")),
            "input_gradient[0]": slope * 0.5,
            "input_gradient[1]": slope * 0.25,
            "weight_gradient[0]": slope,
            "weight_gradient[1]": slope * -0.5,
            "bias_gradient": slope,
        }
        found = rows(text)
        assert list(exact) == list(found)
        arguments = (torch.tensor(value) for value in (CASE.inputs, CASE.weights, 0.125, 2.0))
        computed = [each for result in faulty.right(*arguments) for each in result.reshape(-1)]
        for (place, value), own in zip(exact.items(), computed, strict=True):
            shown, rounded, decimal, ulps, ratio, grade = found[place]
            assert hex_text(own.item()) == shown
            assert hex_text(float(torch.tensor(float(value)))) == rounded
            assert mpmath.nstr(value, 20) == decimal
            assert abs(float(ulps)) < 3
            assert 0 <= float(ratio) <= 1
            assert grade in ("correct", "faithful", "stable", "textbook")

    def test_a_tanh_gradient(self) -> None:
        """One quantity, and no preactivation."""
        case = Case("float64", (0.5, -1.0), (), 0.0, 4.0)
        text = explain_case("aten-tanh-gradient", case)
        assert "preactivation" not in text
        assert {
            "gradient[0]": ["0x1.8000000000000p+1"] * 2 + ["3.0", "+0", "0", "correct"],
            "gradient[1]": ["0x0.0p+0"] * 2 + ["0", "+0", "0", "correct"],
        } == rows(text)

    def test_faults(self) -> None:
        """What is raised, which laws are broken, what has no size."""
        assert "raised ArithmeticError: no 2 lanes" in explain_case(faulty.raises, CASE)
        text = explain_case(faulty.other_dtype, CASE)
        assert "breaks the law structure: bias_gradient is torch.float64" in text
        assert {} == rows(text)
        text = explain_case(faulty.writes_inputs, CASE)
        assert "breaks the law inputs-untouched: weights changed in place" in text
        assert 6 == len(rows(text))
        empty = Case("float32", (), (), 0.5, 1.0)
        output = next(
            line
            for line in explain_case(faulty.nan_for_no_inputs, empty).splitlines()
            if line.startswith("output")
        )
        assert output.split()[1:2] + output.split()[4:] == ["nan", "-", "-", "wrong"]

    def test_an_overflow_is_a_hazard(self) -> None:
        """Said of what only an overflow on the way explains."""
        huge = 3.0e38
        huge = float(torch.tensor(huge))
        case = Case("float32", (huge, huge), (2.0, -2.0), 0.0, 1.0)
        assert "textbook (hazard)" in explain_case("textbook", case)

    def test_activation_ulps(self) -> None:
        """The bound that is shown is the one asked for."""
        case = Case("float32", (), (), 1.0, 1.0)
        usual, lenient = (
            float(rows(explain_case("torch-tanh", case, activation_ulps=ulps))["output"][4])
            for ulps in (None, 25.0)
        )
        assert lenient == pytest.approx(usual / 10, rel=0.01)

    def test_a_function_of_python_floats(self) -> None:
        """Its output, as the function gives it, and nothing of a gradient that it does not have."""
        case = Case("float64", (0.3,), (1.0,), 0.0, 1.0)
        text = explain_case("math:tanh", case, kind="activation")
        assert "its output alone, called on a Python float; for a gradient, it raised" in text
        (place, cells), *others = rows(text).items()
        assert ("output", hex_text(math.tanh(0.3)), []) == (place, cells[0], others)
        mpmath.mp.prec = 200
        error = (mpmath.mpf(math.tanh(0.3)) - mpmath.tanh(mpmath.mpf(0.3))) * 2**54
        assert float(cells[3]) == pytest.approx(float(error), abs=1e-3)

    def test_a_function_of_tensors_without_a_gradient(self) -> None:
        """Likewise, also where it takes vectors only."""

        def detached(x: torch.Tensor) -> torch.Tensor:
            if x.dim() != 1:
                raise ValueError("not a vector")
            return torch.tanh(x.detach())

        text = explain_case(detached, CASE, kind="activation")
        assert "its output alone, called on a tensor, without a gradient; for a" in text
        expected = hex_text(torch.tanh(torch.tensor(0.5)).item())
        assert {"output": expected} == {place: cells[0] for place, cells in rows(text).items()}

    def test_what_raises_without_a_gradient_too(self) -> None:
        """Is said to have raised, whatever it works on elsewhere."""
        case = Case("float64", (900.0,), (1.0,), 0.0, 1.0)
        text = explain_case(lambda x: math.exp(x), case, kind="activation")
        assert text.splitlines()[-1] == "raised OverflowError: math range error"
        with pytest.raises(CannotVerify, match="works on Python floats, which are float64 on the"):
            explain_case("math:tanh", CASE, kind="activation")

    def test_arguments_are_taken_as_verify_takes_them(self) -> None:
        """A name, a Subject, a callable with its kind; a case or its JSON."""
        by_name = explain_case("torch-tanh", CASE)
        subject = Subject("torch-tanh", Kind.ACTIVATION, torch.tanh)
        assert by_name == explain_case(subject, CASE.to_json())
        callable_text = explain_case(torch.tanh, CASE, kind="activation")
        assert rows(by_name) == rows(callable_text)


class TestRefusals:
    """What cannot be explained."""

    def test_a_case_of_another_kind(self) -> None:
        """Stored outputs are no neuron's inputs."""
        with pytest.raises(UsageError, match=r"2 inputs and 0 weights, .*; say --as tanh-gradient"):
            explain_case("textbook", Case("float32", (0.5, 0.25), (), 0.0, 1.0))
        with pytest.raises(UsageError, match=r"has weights, .*a tanh-gradient takes none"):
            explain_case("aten-tanh-gradient", CASE)

    def test_a_subject_or_device_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As for verify."""
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(SubjectError, match="did you mean textbook"):
            explain_case("texbook", CASE)
        with pytest.raises(CannotVerify, match="device 'cuda' was asked for"):
            explain_case("textbook", CASE, device="cuda")
        with pytest.raises(UsageError, match="unknown device 'tpu'"):
            explain_case("textbook", CASE, device="tpu")

    def test_a_dtype_that_is_not_supported(self) -> None:
        """Of a subject that declares its dtypes."""
        subject = Subject("only", Kind.NEURON, faulty.right, dtypes=("float64",))
        with pytest.raises(CannotVerify, match="no subject supports a dtype"):
            explain_case(subject, CASE)


def changed(**fields: Any) -> str:
    """CASE as JSON, with fields changed (or left out, for None)."""
    record = {**json.loads(CASE.to_json()), **fields}
    return json.dumps({name: value for name, value in record.items() if value is not None})


class TestReading:
    """A case as text, or in a file."""

    def test_text_or_file(self, tmp_path: Path) -> None:
        """The same case; white space around it is no matter."""
        path = tmp_path / "case.json"
        path.write_text(f"\n{CASE.to_json()}\n")
        assert CASE == read_case(str(path)) == read_case(f"  {CASE.to_json()} ")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("{", "case: not a case: ", id="cut short"),
            pytest.param("{}", "case: not a case: .*`dtype`", id="empty"),
            pytest.param(changed(bias=None), "case: not a case: .*`bias`", id="a field left out"),
            pytest.param(changed(scale="0x1p0"), "case: not a case: .*`scale`", id="a field more"),
            pytest.param(
                changed(dtype="float8"), "case: dtype: unknown dtype 'float8'", id="dtype"
            ),
            pytest.param(
                changed(dtype=32), r"case: not a case: .*\$\.dtype", id="a number's dtype"
            ),
            pytest.param(
                changed(layout="flat"), "case: layout: unknown layout 'flat'", id="layout"
            ),
            pytest.param(changed(bias="0.1"), "case: bias: '0.1' is not a hexa", id="decimal bias"),
            pytest.param(
                changed(bias="0x1.0000001p+0"), "case: bias: .* is not a binary32 number", id="bits"
            ),
            pytest.param(
                changed(upstream_gradient="0x1p+200"),
                "case: upstream_gradient: .* is beyond the largest binary32",
                id="too large",
            ),
            pytest.param(
                changed(inputs=["0x1p+0", "one"]), r"case: inputs\[1\]: 'one' is not a", id="input"
            ),
            pytest.param(changed(inputs="0x1p+0"), r"case: not a case: .*\$\.inputs", id="no list"),
            pytest.param(changed(weights=["0x1p+0"]), "case: 1 weights for 2 inputs", id="lengths"),
            pytest.param(
                changed(layout="expanded"),
                "case: inputs: an expanded vector repeats",
                id="expanded",
            ),
            pytest.param(
                "missing.json", "case 'missing.json' cannot be read .No such", id="no file"
            ),
            pytest.param("", "case '' cannot be read", id="no name"),
            pytest.param("a\0b", r"case 'a\\x00b' cannot be read", id="no file's name"),
            pytest.param("[" * 300, r"case '\[+' cannot be read .File name too long", id="a list"),
        ],
    )
    def test_refused(self, text: str, message: str) -> None:
        """In one line that names the field."""
        with pytest.raises(UsageError, match=f"^{message}") as refused:
            read_case(text)
        assert 1 == len(str(refused.value).splitlines())

    def test_files_that_are_no_text(self, tmp_path: Path) -> None:
        """Bytes, and folders."""
        path = tmp_path / "bytes"
        path.write_bytes(b"\xff\xfe")
        with pytest.raises(UsageError, match=r"cannot be read .it is not text."):
            read_case(str(path))
        with pytest.raises(UsageError, match=r"cannot be read .Is a directory."):
            read_case(str(tmp_path))


def test_laws_are_checked() -> None:
    """All that apply, so that the case of a broken law shows it again; observed ones say so."""
    lines = explain_case(faulty.ignores_strides, CASE).splitlines()
    assert any(each.startswith("breaks the law layout: laid out strided") for each in lines)
    subject = Subject("two_slopes", Kind.NEURON, two_slopes)
    lines = explain_case(subject, Case("float32", (), (), 1.0, 1.0)).splitlines()
    assert any(each.startswith("breaks the observed law gradient-even: with") for each in lines)
    assert "breaks" not in explain_case("textbook", CASE)
