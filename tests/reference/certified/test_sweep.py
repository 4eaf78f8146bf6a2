"""The fast block judges and the fast rounding against the double-double answers they must equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reference import certified
from reference.certified import binary32 as certified_binary32
from reference.certified import sweep as certified_sweep
from reference.certified.answers import Judgement
from reference.certified.carriers import Carried
from reference.exact import exact
from reference.formats import BINARY32, BINARY64, FORMATS, Format
from reference.neuron import sech2, tanh
from tests.certified_inputs import moved, patterns, spread, truncated

SIZE = 4096


def neighbours_of(value: float, format: Format) -> Carried:
    """SIZE floats in the order of their bit patterns, centred at one of them."""
    centre = int(certified.bit_patterns(truncated(np.array([value]), format), format)[0])
    start = min(max(centre - SIZE // 2, 0), (1 << format.width) - SIZE)
    return certified.members(format, start, start + SIZE)


def uniform(low: float, high: float) -> Carried:
    return np.random.default_rng(1).uniform(low, high, SIZE).astype(np.float32)


BLOCKS = {
    "uniform patterns": patterns(SIZE, BINARY32, np.random.default_rng(2)),
    "every binade": spread(SIZE, BINARY32, np.random.default_rng(3)),
    "both signs, curved": uniform(-3.0, 3.0),
    "saturating": uniform(7.0, 12.0),
    "gradient becoming subnormal": uniform(42.0, 53.0),
    "gradient vanishing": uniform(51.0, 70.0),
    "zero": neighbours_of(0.0, BINARY32),
    "-0": neighbours_of(-0.0, BINARY32),
    "subnormal": neighbours_of(2.0**-130, BINARY32),
    "2^-16, the seam of the tiny range": neighbours_of(2.0**-16, BINARY32),
    "-2^-16": neighbours_of(-(2.0**-16), BINARY32),
    "2^-13, where errors count": neighbours_of(2.0**-13, BINARY32),
    "2^-12": neighbours_of(2.0**-12, BINARY32),
    "negative": neighbours_of(-1.25, BINARY32),
    "9.01, where tanh rounds to 1": neighbours_of(9.010913848876953, BINARY32),
    "42, the seam of the subnormal test": neighbours_of(42.0, BINARY32),
    "60, the seam of the saturated range": neighbours_of(60.0, BINARY32),
    "-60": neighbours_of(-60.0, BINARY32),
    "deep in the saturated range": neighbours_of(1e30, BINARY32),
    "infinity": neighbours_of(np.inf, BINARY32),
    "-infinity": neighbours_of(-np.inf, BINARY32),
    "nan": neighbours_of(np.nan, BINARY32),
}
blocks = pytest.mark.parametrize("x", BLOCKS.values(), ids=BLOCKS.keys())

RAW_BLOCKS = {
    **{
        name: BLOCKS[name]
        for name in ("uniform patterns", "every binade", "zero", "-0", "infinity")
    },
    "stored outputs": np.tanh(uniform(-6.0, 6.0)),
    "one": neighbours_of(1.0, BINARY32),
    "minus one": neighbours_of(-1.0, BINARY32),
    "2^-16": neighbours_of(2.0**-16, BINARY32),
    "2^64": neighbours_of(2.0**64, BINARY32),
    "beyond 2^64": neighbours_of(2.0**100, BINARY32),
    "nan": BLOCKS["nan"],
}


def random64(low: float, high: float) -> Carried:
    return np.random.default_rng(9).uniform(low, high, SIZE)


BLOCKS64 = {
    "uniform patterns": patterns(SIZE, BINARY64, np.random.default_rng(2)),
    "every binade": spread(SIZE, BINARY64, np.random.default_rng(3)),
    "both signs, curved": random64(-3.0, 3.0),
    "small": random64(2.0**-12, 2.0**-8),
    "saturating": random64(17.0, 21.0),
    "to the seam of the pairs": random64(300.0, 320.0),
    "gradient becoming subnormal": random64(350.0, 375.0),
    "gradient vanishing": random64(371.0, 400.0),
    "zero": neighbours_of(0.0, BINARY64),
    "2^-31, the seam of the tiny range": neighbours_of(2.0**-31, BINARY64),
    "2^-28, where errors count": neighbours_of(2.0**-28, BINARY64),
    "2^-30, the seam of the pairs": neighbours_of(2.0**-30, BINARY64),
    "negative": neighbours_of(-1.25, BINARY64),
    "19.06, where tanh rounds to 1": neighbours_of(19.061547465398498, BINARY64),
    "380, the seam of the saturated range": neighbours_of(380.0, BINARY64),
    "deep in the saturated range": neighbours_of(-1e300, BINARY64),
    "infinity": neighbours_of(np.inf, BINARY64),
    "nan": neighbours_of(np.nan, BINARY64),
}


def computed_results(
    right: Carried, rng: np.random.Generator, format: Format = BINARY32
) -> list[Carried]:
    """Right results, results some floats off, and wild ones."""
    kind = right.dtype.type
    wild = np.where(rng.random(right.size) < 0.5, rng.permutation(right), kind("nan"))
    infinite = np.where(rng.random(right.size) < 0.1, kind("-inf"), right)
    return [
        right,
        *(moved(right, steps, format, rng) for steps in (1, 2, 5000)),
        wild,
        infinite,
        -right,
    ]


def assert_same(expected: Judgement, found: Judgement) -> None:
    """The same rounded bits and flags; errors within the promised 0.005 ulps."""
    nan = np.isnan(expected.rounded)
    assert nan.tolist() == np.isnan(found.rounded).tolist()
    assert expected.rounded[~nan].tobytes() == found.rounded[~nan].tobytes()
    assert expected.misrounded.tolist() == found.misrounded.tolist()
    assert expected.unfaithful.tolist() == found.unfaithful.tolist()
    np.testing.assert_allclose(found.ulps, expected.ulps, rtol=1e-12, atol=0.005)


@blocks
def test_activations_are_judged_as_by_answers(x: Carried) -> None:
    """ActivationSweep in binary32 gives what certified.tanh and certified.sech2 give."""
    rng = np.random.default_rng(4)
    sweep = certified.ActivationSweep(BINARY32, x.size)
    outputs, slopes = (f(x, format=BINARY32) for f in (certified.tanh, certified.sech2))
    right = outputs.rounded().values, slopes.rounded().values
    for y, d in zip(*(computed_results(values, rng) for values in right), strict=True):
        found = sweep.judge(x, y, d)
        assert_same(outputs.judge(y), found.output)
        assert_same(slopes.judge(d), found.gradient)


@pytest.mark.parametrize("x", BLOCKS64.values(), ids=BLOCKS64.keys())
def test_binary64_activations_are_judged_as_by_answers(x: Carried) -> None:
    """ActivationSweep and rounded_tanh_sech2 in binary64 give what Answers give."""
    rng = np.random.default_rng(4)
    sweep = certified.ActivationSweep(BINARY64, x.size)
    outputs, slopes = (f(x, format=BINARY64) for f in (certified.tanh, certified.sech2))
    right = outputs.rounded().values, slopes.rounded().values
    for expected, found in zip(
        right, certified.rounded_tanh_sech2(x, format=BINARY64), strict=False
    ):
        nan = np.isnan(expected)
        assert expected[~nan].tobytes() == found[~nan].tobytes()
    for y, d in zip(*(computed_results(values, rng, BINARY64) for values in right), strict=True):
        found = sweep.judge(x, y, d)
        assert_same(outputs.judge(y), found.output)
        assert_same(slopes.judge(d), found.gradient)


@blocks
def test_rounded_pairs_are_those_of_answers(x: Carried) -> None:
    """rounded_tanh_sech2 in binary32 gives the bits of certified.tanh and certified.sech2."""
    found = certified.rounded_tanh_sech2(x, format=BINARY32)
    for function, values in ((certified.tanh, found.tanh), (certified.sech2, found.sech2)):
        expected = function(x, format=BINARY32).rounded().values
        nan = np.isnan(expected)
        assert nan.tolist() == np.isnan(values).tolist()
        assert expected[~nan].tobytes() == values[~nan].tobytes()


@pytest.mark.parametrize("upstream", ["1", "any pattern", "ordinary"])
@pytest.mark.parametrize("y", RAW_BLOCKS.values(), ids=RAW_BLOCKS.keys())
def test_raw_gradients_are_judged_as_by_answers(y: Carried, upstream: str) -> None:
    """TanhGradientSweep in binary32 gives what certified.tanh_gradient gives."""
    rng = np.random.default_rng(5)
    dy = {
        "1": None,
        "any pattern": patterns(y.size, BINARY32, rng),
        "ordinary": rng.normal(size=y.size).astype(np.float32),
    }[upstream]
    sweep = certified.TanhGradientSweep(BINARY32, y.size)
    factors = np.ones_like(y) if dy is None else dy
    answers = certified.tanh_gradient(y, factors, format=BINARY32)
    for d in computed_results(answers.rounded().values, rng):
        assert_same(answers.judge(d), sweep.judge(y, d, dy))


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_every_format_can_be_swept(format: Format) -> None:
    """The other formats take the same calls and give the judgements of answers."""
    rng = np.random.default_rng(6)
    x = spread(600, format, rng)
    y, d, _ = certified.rounded_tanh_sech2(x, format=format)
    y, d = moved(y, 1, format, rng), moved(d, 1, format, rng)
    found = certified.ActivationSweep(format).judge(x, y, d)
    assert_same(certified.tanh(x, format=format).judge(y), found.output)
    assert_same(certified.sech2(x, format=format).judge(d), found.gradient)
    raw = certified.TanhGradientSweep(format).judge(y, d, x)
    assert_same(certified.tanh_gradient(y, x, format=format).judge(d), raw)


@pytest.mark.parametrize("wrong", ["output", "gradient"])
@pytest.mark.parametrize("format", [BINARY32, BINARY64], ids=lambda format: format.name)
@pytest.mark.parametrize("value", [1e-20, -1e-20, 1e10, -1e10, np.nan])
def test_one_wrong_result_among_thousands_is_seen(value: float, format: Format, wrong: str) -> None:
    """The short cuts of tiny, saturated and NaN blocks look at every result."""
    x = neighbours_of(value, format)
    x = x[np.isnan(x) == np.isnan(value)]
    computed = dict(
        zip(("output", "gradient"), certified.rounded_tanh_sech2(x, format=format), strict=False)
    )
    computed[wrong][1234] = 0.25
    found = certified.ActivationSweep(format, x.size).judge(x, *computed.values())
    assert [1234] == np.flatnonzero(getattr(found, wrong).misrounded).tolist()
    other = {"output": "gradient", "gradient": "output"}[wrong]
    assert not getattr(found, other).misrounded.any()


def test_short_blocks_and_empty_ones() -> None:
    """A sweep ends with a block that is not full."""
    sweep = certified.ActivationSweep(BINARY32, 100)
    for size in (0, 1, 7, 100):
        x = np.linspace(-2, 2, size, dtype=np.float32)
        y, d, _ = certified.rounded_tanh_sech2(x, format=BINARY32)
        found = sweep.judge(x, y, d)
        assert size == found.output.ulps.size == found.gradient.ulps.size
        assert not found.output.misrounded.any()
        assert not found.gradient.misrounded.any()


def test_answers_of_short_cuts_are_read_only() -> None:
    """Arrays that later answers share cannot be written to."""
    x = BLOCKS["deep in the saturated range"]
    y, d, _ = certified.rounded_tanh_sech2(x, format=BINARY32)
    found = certified.ActivationSweep(BINARY32, SIZE).judge(x, y, d)
    with pytest.raises(ValueError, match="read-only"):
        found.output.ulps[0] = 1.0


def closest_to_ties(name: str, count: int) -> Carried:
    """The binary32 arguments in a sample of 2^20 whose values lie nearest to a tie."""
    x = np.random.default_rng(7).uniform(2.0**-10, 9.0, 1 << 20).astype(np.float32)
    wide = x.astype(np.float64)
    t = np.exp(-2 * wide)
    value = np.tanh(wide) if name == "tanh" else 4 * t / (1 + t) ** 2
    distance = (value.view(np.int64) & ((1 << 29) - 1)) - (1 << 28)
    return x[np.argsort(np.abs(distance), kind="stable")[:count]]


@pytest.mark.parametrize("name", ["tanh", "sech2"])
def test_hard_to_round_arguments_are_rounded_right(name: str) -> None:
    """Values within 2^-18 ulps of a tie, which the binary64 value alone may get wrong."""
    x = closest_to_ties(name, 400)
    found = getattr(certified.rounded_tanh_sech2(x, format=BINARY32), name)
    real = {"tanh": tanh, "sech2": sech2}[name]
    expected = [real(exact(value)).rounded(BINARY32) for value in x.tolist()]
    assert expected == found.tolist()


@pytest.mark.parametrize(
    ("count", "escalated"), [(1, 2), (8, 16), (9, 0)], ids=["one", "a few", "many"]
)
def test_a_few_arguments_near_ties_are_escalated_and_many_are_not(
    count: int, escalated: int
) -> None:
    """Rounded right either way, on either side, and NaN counts as neither."""
    hard = np.resize(closest_to_ties("tanh", 1), count)
    x = np.concatenate([hard, -hard, np.full(40, np.nan, np.float32)])
    found = certified.rounded_tanh_sech2(x, format=BINARY32)
    assert escalated == found.escalated
    for real, values in ((tanh, found.tanh), (sech2, found.sech2)):
        for argument, value in zip(x[: 2 * count].tolist(), values.tolist(), strict=False):
            assert real(exact(argument)).rounded(BINARY32) == value
        assert np.isnan(values[2 * count :]).all()


@pytest.mark.parametrize("off", [2.0**-43, -(2.0**-43)], ids=["too large", "too small"])
def test_any_numpy_within_the_bound_gives_the_same_answers(
    off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tanh off by half the bound and exp by a quarter, near ties and in the subnormal tail."""
    tail = np.random.default_rng(10).uniform(43.5, 53.0, 1 << 18).astype(np.float32)
    x = np.concatenate([closest_to_ties("tanh", 300), closest_to_ties("sech2", 300), tail])
    outputs, slopes = (f(x, format=BINARY32) for f in (certified.tanh, certified.sech2))
    right = outputs.rounded().values, slopes.rounded().values
    sweep = certified.ActivationSweep(BINARY32, x.size)
    tanh_function, exp_function = np.tanh, np.exp

    def worse_tanh(values: np.ndarray, out: np.ndarray) -> np.ndarray:
        return np.multiply(tanh_function(values, out=out), 1 + off, out=out)

    def worse_exp(values: np.ndarray, out: np.ndarray) -> np.ndarray:
        return np.multiply(exp_function(values, out=out), 1 + off / 2, out=out)

    monkeypatch.setattr(np, "tanh", worse_tanh)
    monkeypatch.setattr(np, "exp", worse_exp)
    found = certified.rounded_tanh_sech2(x, format=BINARY32)
    assert right[0].tobytes() == found.tanh.tobytes()
    assert right[1].tobytes() == found.sech2.tobytes()
    judged = sweep.judge(x, *right)
    assert not judged.output.misrounded.any()
    assert not judged.gradient.misrounded.any()
    assert right[0].tobytes() == judged.output.rounded.tobytes()
    assert right[1].tobytes() == judged.gradient.rounded.tobytes()


def test_values_near_ties_are_marked() -> None:
    """Everything within the stated units of a tie is left open and what lies outside is not."""
    tie = np.float64(1.0 + 2.0**-24).view(np.int64)
    units = np.array([-2049, -2048, -1, 0, 1, 2048, 2049])
    value = (tie + units).view(np.float64)
    n = value.size
    out = np.empty(n, np.bool_)
    rounded = value.astype(np.float32)
    scratch = np.empty(n, np.int64), np.empty(n), np.empty(n, np.float32)
    certified_binary32.mark_ties(value, 2048, False, rounded, *scratch, out)
    assert [False, True, True, True, True, True, False] == out.tolist()
    value = (1 + 2.0**-40 * np.array([-1.0, 0.0, 1.0])) * (2.5 * 2.0**-149)
    rounded = value.astype(np.float32)
    scratch = np.empty(3, np.int64), np.empty(3), np.empty(3, np.float32)
    certified_binary32.mark_ties(value, 2048, True, rounded, *scratch, out[:3])
    assert [False, True, False] == out[:3].tolist()


@pytest.mark.parametrize("name", ["tanh", "exp"])
def test_an_inaccurate_numpy_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on numpy's functions is checked against the proved ones."""
    right = getattr(np, name)

    def wrong(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.multiply(right(x), 1 + 2.0**-40, out=out)

    monkeypatch.setattr(np, name, wrong)
    with pytest.raises(
        RuntimeError, match=rf"numpy\.{name} on float64 is off by a relative 9\.1e-13"
    ):
        certified_binary32.require_accurate_numpy.__wrapped__()


@pytest.mark.parametrize("name", ["tanh", "exp"])
@pytest.mark.parametrize(
    "where",
    [
        pytest.param(lambda x: (np.abs(x) < 2.0**-100) & (x.size > 17), id="tiny arguments"),
        pytest.param(lambda x: (x < -640.0) | (x > 320.0), id="the largest arguments"),
        pytest.param(lambda x: np.full(x.shape, x.size == 1), id="arrays of one"),
        pytest.param(lambda x: np.full(x.shape, x.size == 17), id="arrays of 17"),
        pytest.param(
            lambda x: np.full(x.shape, x.size == 8 and x.__array_interface__["data"][0] % 64 == 8),
            id="arrays of 8 that begin 8 bytes into a line",
        ),
    ],
)
def test_a_numpy_that_is_inaccurate_in_places_is_refused(
    name: str,
    where: Callable[[np.ndarray], np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At either end of the range, and in short arrays wherever they begin."""
    right = getattr(np, name)

    def wrong(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        # Next to 0 the slope feels the square of exp's error only.
        factor = np.where(where(x), 1 + 2.0**-20, 1.0)
        return np.multiply(right(x), factor, out=out)

    monkeypatch.setattr(np, name, wrong)
    with pytest.raises(RuntimeError, match=rf"numpy\.{name} on float64 is off"):
        certified_binary32.require_accurate_numpy.__wrapped__()


def test_numpy_is_well_inside_its_bound() -> None:
    """Float64 tanh and 4t/(1+t)^2 are within 2^-47 of the double-double values: 32 to spare."""
    rng = np.random.default_rng(8)
    x = np.concatenate([2.0 ** rng.uniform(-149, 7, 1 << 17), rng.uniform(0, 90, 1 << 17)])
    values = np.tanh(x), certified_binary32.slope_of(-2.0 * x, np.empty_like(x))
    for value, enclosed in zip(values, certified_sweep.curves.tanh_sech2(x), strict=True):
        proved = np.ldexp(enclosed.head, enclosed.scale.astype(np.intc))
        assert np.abs(value / proved - 1).max() < 2.0**-47
