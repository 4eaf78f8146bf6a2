"""A close look: what it says of a subject is so, and what cannot be had is named."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.case import format_of
from harness.examine.close import look_closely
from harness.examine.envelope import regions
from harness.examine.machine import describe_machine
from harness.explain import explain_case
from harness.report.night_run import CloseLook, Machine
from harness.subjects import Kind, load
from harness.sweep.engine import environment
from harness.sweep.record import to_json
from reference import certified
from tests.harness.sweep.subjects_under_sweep import swept


def looked(subject: str, dtype: str, worst: list[dict[str, Any]] | None = None) -> CloseLook:
    kind = str(load(subject).kind)
    request = {
        "subject": subject,
        "kind": kind,
        "dtype": dtype,
        "device": "cpu",
        "seed": 1,
        "worst": worst or [],
    }
    return msgspec.json.decode(look_closely(json.dumps(request).encode()), type=CloseLook)


def test_the_envelope_of_a_short_format_holds_the_worst_errors_of_its_sweep() -> None:
    """Every float is tried: the extremes are those of the sweep, on either side."""
    found = looked("torch-tanh", "float16")
    assert () == found.left_out
    document = json.loads(to_json([swept(load("torch-tanh"), dtype="float16")], environment()))
    for name in ("output", "gradient"):
        worst = [each["ulps"] for each in document["sweeps"][0]["quantities"][name]["worst"]]
        whole, curved = [each for each in found.envelopes if each.quantity == name]
        assert (False, 2 * 0x7C00 + 1) == (whole.sampled, whole.points)
        highest = max(each for each in whole.highest if each is not None)
        lowest = min(each for each in whole.lowest if each is not None)
        assert max(map(abs, worst)) == pytest.approx(max(highest, -lowest), rel=1e-4)
        assert 256 == len(whole.lowest) == len(whole.highest)
        inside = [each for each in curved.highest if each is not None]
        assert 0.3 < max(inside) <= highest


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_the_envelope_of_a_long_format_is_sampled_and_says_so(dtype: str) -> None:
    """Numbers at equal distances along the ordinals, and the worst that are known besides."""
    x = "0x1.05732a0000000p-1" if dtype == "float32" else "0x1.0000000000001p-1"
    case = {
        "dtype": dtype,
        "inputs": [x],
        "weights": ["0x1p+0"],
        "bias": "0x0p+0",
        "upstream_gradient": "0x1p+0",
    }
    asked = [{"look": "sweep", "quantity": "output", "case": json.dumps(case)}]
    without, found = looked("torch-tanh", dtype), looked("torch-tanh", dtype, asked)
    assert all(each.sampled for each in found.envelopes)
    assert [each.points + 1 for each in without.envelopes] == [e.points for e in found.envelopes]
    (worst,) = found.worst
    assert worst.ulps is not None and worst.ulps != 0


@pytest.mark.parametrize("kind", [Kind.ACTIVATION, Kind.TANH_GRADIENT])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_marks_of_an_axis_stand_where_they_say(kind: Kind, dtype: str) -> None:
    """In order, within the axis, each at the ordinal of the number that it names."""
    format = format_of(dtype)
    for region in regions(kind, format):
        ordinals = [ordinal for ordinal, _ in region.ticks]
        assert ordinals == sorted(set(ordinals))
        assert region.start <= ordinals[0] and ordinals[-1] <= region.stop
        for ordinal, label in region.ticks:
            power = label.lstrip("-").removeprefix("2^")
            value = float(power) if "^" not in label else 2.0 ** float(power)
            assert format.from_ordinal(abs(ordinal)) == value
            assert (ordinal < 0) == label.startswith("-")


def test_a_worst_input_is_what_explain_shows() -> None:
    """The same computed value, error and grade."""
    case = {
        "dtype": "float16",
        "inputs": ["0x1p+1", "0x1p+0"],
        "weights": ["0x1p+0", "0x1p-3"],
        "bias": "0x0p+0",
        "upstream_gradient": "0x1p+0",
    }
    asked = [{"look": "verify", "quantity": "input_gradient", "case": json.dumps(case)}]
    (found,) = looked("textbook", "float16", asked).worst
    shown = explain_case("textbook", json.dumps(case)).splitlines()
    (line,) = [each for each in shown if each.startswith(f"input_gradient[{found.index}]")]
    assert found.computed in line and found.grade in line
    assert f"{found.ulps:+.4g}" in line and found.exact in line


def test_special_values_are_held_against_the_oracle() -> None:
    """tanh of infinity is 1 and NaN stays NaN; signs of zeros are told."""
    found = {(each.what, each.quantity): each for each in looked("torch-tanh", "float32").specials}
    assert "0x1.0000000000000p+0" == found["infinity", "output"].computed
    assert "-0x0.0p+0" == found["-zero", "output"].computed
    assert "nan" == found["NaN", "gradient"].computed
    # 1 - y^2 has lost bits at 1, and is 0 where y rounds to 1; the exact derivative is not.
    lost = {(f"{sign}{at}", "gradient") for sign in ("", "-") for at in ("one", "tanh rounds to 1")}
    assert lost == {place for place, each in found.items() if each.grade != "correct"}


def test_a_curve_is_that_of_tanh() -> None:
    """The exact one is the oracle's, the computed one close to it for a sound subject."""
    output, gradient = looked("torch-tanh", "float64").curves
    for curve, exact in ((output, certified.tanh), (gradient, certified.sech2)):
        x = np.array(curve.x)
        answers = exact(x, format=format_of("float64"))
        assert answers.rounded().values.tolist() == list(curve.rounded)
        assert pytest.approx(curve.rounded, abs=1e-12) == curve.computed
    assert (-6.0, 6.0, 121) == (output.x[0], output.x[-1], len(output.x))


def test_what_cannot_be_had_of_a_subject_is_named() -> None:
    """A function of Python floats has no gradient, and takes no tensors to time it with."""
    request = {
        "subject": "math:tanh",
        "kind": "activation",
        "dtype": "float64",
        "device": "cpu",
        "seed": 1,
        "worst": [],
    }
    found = msgspec.json.decode(look_closely(json.dumps(request).encode()), type=CloseLook)
    assert {"output"} == {each.quantity for each in found.envelopes}
    (line,) = found.left_out
    assert line.startswith("throughput: raised ")


def test_a_machine_is_named_by_its_vector_capability() -> None:
    """For figures are kept by it."""
    found = msgspec.json.decode(describe_machine(), type=Machine)
    assert found.environment["cpu_capability"] in found.devices["cpu"]
    assert found.environment["machine"] in found.devices["cpu"]
    assert {"cpu", "libc", "torch_build", "threads", "flush_to_zero"} <= set(found.environment)
