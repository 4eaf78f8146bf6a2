"""A case and its text."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.case import DTYPES, Case, Layout, format_of
from harness.direction import Direction
from harness.strategies import cases, tanh_gradient_cases
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64
from tests.flushed import in_flushing_thread

NAN, INF = float("nan"), float("inf")
SAMPLE = Case("float32", (1.5, -0.0), (NAN, 2.0**-149), -INF, 1.0, Layout.STRIDED)
SAMPLE_TEXT = (
    '{"dtype":"float32","inputs":["0x1.8000000000000p+0","-0x0.0p+0"],'
    '"weights":["nan","0x1.0000000000000p-149"],"bias":"-inf",'
    '"upstream_gradient":"0x1.0000000000000p+0","layout":"strided"}'
)


def test_formats_of_dtypes() -> None:
    """Each dtype stores the format of its name."""
    formats = (BINARY16, BFLOAT16, BINARY32, BINARY64)
    assert dict(zip(DTYPES, formats, strict=True)) == {name: format_of(name) for name in DTYPES}


def test_text_of_a_case() -> None:
    """One line, hexadecimal floats, nothing lost."""
    assert SAMPLE_TEXT == SAMPLE.to_json()


def test_case_of_a_text() -> None:
    """The way back."""
    assert SAMPLE == Case.from_json(SAMPLE_TEXT)
    assert SAMPLE == Case.from_json(SAMPLE_TEXT.encode())


@pytest.mark.parametrize("dtype", DTYPES)
def test_drawn_cases_make_the_round_trip(dtype: str) -> None:
    """Whatever the strategies draw is read back as it was."""

    @given(st.one_of(cases(dtype), tanh_gradient_cases(dtype)))
    def check(case: Case) -> None:
        text = case.to_json()
        assert case == Case.from_json(text)
        assert text == Case.from_json(text).to_json()
        assert "\n" not in text

    check()


def test_the_round_trip_survives_flush_to_zero() -> None:
    """Subnormals of binary64 are written and read as they are in a thread that flushes them."""
    tiny = Case("float64", (2.0**-1074,), (-(2.0**-1030),), 0.0, 1.0)
    assert tiny.to_json() == in_flushing_thread(lambda: Case.from_json(tiny.to_json()).to_json())


def test_layout_may_be_left_out() -> None:
    """It is contiguous then."""
    record = json.loads(SAMPLE_TEXT)
    del record["layout"]
    assert Layout.CONTIGUOUS == Case.from_json(json.dumps(record)).layout


def test_a_direction_is_kept() -> None:
    """A case of the second order comes back with it, and others do not mention one."""
    along = Direction((0.5, -0.0), (1.5, 2.0), 0.25)
    case = Case("float32", (1.0, 2.0), (3.0, 4.0), 0.0, 1.0, direction=along)
    back = Case.from_json(case.to_json())
    assert case == back
    assert along.to_json() == back.direction.to_json()
    assert case != replace(case, direction=None)
    assert "direction" not in replace(case, direction=None).to_json()


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        pytest.param(
            {"inputs": [], "weights": [], "bias": "0x1p0"},
            "a direction of 0 inputs and 0 weights for a case of 2 and 2; expected as many",
            id="of another length",
        ),
        pytest.param(
            {"inputs": ["0x1p0"] * 2, "weights": ["0x1p0"] * 2, "bias": "1.5"},
            "direction: '1.5' is not a hexadecimal float",
            id="with a decimal",
        ),
        pytest.param({"inputs": []}, "not a case: .*direction", id="incomplete"),
    ],
)
def test_a_direction_that_is_none_is_refused(direction: object, message: str) -> None:
    """In one line."""
    record = json.loads(SAMPLE_TEXT) | {"direction": direction, "layout": "contiguous"}
    with pytest.raises(ValueError, match=message) as caught:
        Case.from_json(json.dumps(record))
    assert "\n" not in str(caught.value)


def test_equality_is_that_of_bits() -> None:
    """NaN equals NaN, and the two zeros differ."""
    assert Case("float32", (NAN,), (1.0,), 0.0, 1.0) == Case("float32", (-NAN,), (1.0,), 0.0, 1.0)
    assert Case("float32", (0.0,), (1.0,), 0.0, 1.0) != Case("float32", (-0.0,), (1.0,), 0.0, 1.0)
    assert Case("float32", (), (), 0.0, 1.0) != Case("float64", (), (), 0.0, 1.0)
    assert Case("float32", (), (), 0.0, 1.0) != "float32"
    assert 1 == len({SAMPLE, Case.from_json(SAMPLE_TEXT)})


CHANGES = {
    "an unknown dtype": ("dtype", "float8", "dtype: unknown dtype 'float8'; expected one of"),
    "an unknown layout": ("layout", "diagonal", "layout: unknown layout 'diagonal'; expected"),
    "a decimal bias": ("bias", "1.5", "bias: '1.5' is not a hexadecimal float"),
    "a number for text": ("bias", 1.5, r"not a case: Expected `str`, got `float` - at `\$.bias`"),
    "a null": ("inputs", None, r"not a case: Expected `array`, got `null` - at `\$.inputs`"),
    "too long an input": ("inputs", ["0x1p0", "0x1.0000001p0"], r"inputs\[1\]: .* the nearest is"),
    "too large a weight": ("weights", ["0x1p0", "0x1p128"], r"weights\[1\]: .*beyond the largest"),
    "a missing weight": ("weights", ["0x1p0"], "1 weights for 2 inputs; expected"),
    "an unknown field": ("colour", "red", "not a case: .*unknown field `colour`"),
}


@pytest.mark.parametrize(("field", "value", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_a_malformed_field_is_named(field: str, value: object, message: str) -> None:
    """One line says which field, what it was and what was expected."""
    record = json.loads(SAMPLE_TEXT) | {field: value}
    with pytest.raises(ValueError, match=message) as caught:
        Case.from_json(json.dumps(record))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"dtype":"float32"}', b"\xff", "0x1p0", SAMPLE_TEXT + "x"]
)
def test_text_that_is_no_case_is_refused(text: str | bytes) -> None:
    """One line shows what a case looks like."""
    with pytest.raises(ValueError, match=r'not a case: .*expected \{"dtype"') as caught:
        Case.from_json(text)
    assert "\n" not in str(caught.value)


def test_the_example_in_the_message_is_a_case() -> None:
    """The remedy must work."""
    with pytest.raises(ValueError, match="expected") as caught:
        Case.from_json("")
    assert Case("float32", (1.5,), (1.0,), 0.0, 1.0) == Case.from_json(
        str(caught.value).split("expected ", 1)[1]
    )


@pytest.mark.parametrize("name", ["inputs", "weights"])
def test_an_expanded_vector_must_repeat_one_element(name: str) -> None:
    """Such a case cannot be laid out; 0 and -0 are two elements, NaN and NaN are one."""
    constant = {"inputs": ["nan", "nan"], "weights": ["0x0p0", "0x0p0"], "layout": "expanded"}
    record = json.loads(SAMPLE_TEXT) | constant
    assert math.isnan(Case.from_json(json.dumps(record)).inputs[1])
    with pytest.raises(ValueError, match=f"{name}: an expanded vector repeats one element"):
        Case.from_json(json.dumps(record | {name: ["0x0p0", "-0x0p0"]}))


def test_the_constructor_refuses_shapes_that_no_kind_has() -> None:
    """As many weights as inputs, or none."""
    assert () == Case("float32", (1.0,), (), 0.0, 1.0).weights
    with pytest.raises(ValueError, match="2 weights for 1 inputs"):
        Case("float32", (1.0,), (1.0, 2.0), 0.0, 1.0)
    with pytest.raises(ValueError, match="unknown dtype 'int8'"):
        Case("int8", (), (), 0.0, 1.0)
