"""Certified arrays against the exact oracle, element by element."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, inf, isnan, nan

import numpy as np
import pytest

from reference import certified
from reference.certified.answers import Answers
from reference.certified.carriers import Carried
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.measure import error
from tests.certified_inputs import moved, patterns, spread, truncated

formats = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)

FUNCTIONS = {"tanh": certified.tanh, "sech2": certified.sech2}


def same(left: float, right: float) -> bool:
    """Equal with the sign of zeros, or both NaN."""
    return (left != left and right != right) or (
        left == right and copysign(1, left) == copysign(1, right)
    )


def assert_agrees_with_the_exact_oracle(answers: Answers, computed: Carried) -> None:
    """Rounded results bit for bit; errors within 0.005 ulps; flags from exact neighbours."""
    format = answers.format
    judged = answers.judge(computed)
    rounded = answers.rounded().values
    assert rounded.shape == computed.shape == judged.rounded.shape == judged.ulps.shape
    for i, at in enumerate(np.ndindex(computed.shape)):
        exact, value = answers.real(i), float(computed[at])
        want = exact.rounded(format)
        what = f"{exact} in {format.name}: want {want.hex()}, judged {value.hex()}"
        assert same(want, float(rounded[at])), what
        assert same(want, float(judged.rounded[at])), what
        assert judged.misrounded[at] == (not (value == want or (isnan(value) and isnan(want)))), (
            what
        )
        near = exact.neighbours(format)
        faithful = value in near or (isnan(value) and isnan(near[0]))
        assert judged.unfaithful[at] == (not faithful), what
        found, ulps = error(exact, value, format), float(judged.ulps[at])
        if found is None:
            assert isnan(ulps), what
        else:
            assert abs(ulps / 2 - found.ulps / 2) <= 0.0025 + 1e-12 * abs(found.ulps), what


def results_near(answers: Answers, rng: np.random.Generator) -> list[Carried]:
    """The right results, results 1 and 3 floats off, and constants far off."""
    format = answers.format
    right = answers.rounded().values
    return [
        right,
        moved(right, 1, format, rng),
        moved(right, 3, format, rng),
        truncated(np.full(right.shape, rng.choice([0.0, inf, -inf, nan, 1.0])), format),
    ]


@formats
@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations_agree_with_the_exact_oracle(name: str, format: Format) -> None:
    """tanh and sech^2 over every binade, the tail, subnormals and special values."""
    rng = np.random.default_rng([format.width, format.precision])
    answers = FUNCTIONS[name](spread(600, format, rng), format=format)
    for computed in results_near(answers, rng):
        assert_agrees_with_the_exact_oracle(answers, computed)


@formats
def test_raw_gradients_agree_with_the_exact_oracle(format: Format) -> None:
    """dy * (1 - y^2) for stored outputs, outputs beyond 1, and any upstream gradient."""
    rng = np.random.default_rng([format.width, format.precision, 1])
    y = np.concatenate(
        [
            truncated(np.tanh(rng.uniform(-6, 6, 300)), format),
            moved(truncated(rng.choice([-1.0, 1.0], 100), format), 3, format, rng),
            truncated(2.0 ** rng.uniform(-14, 14, 200), format),
            spread(300, format, rng),
        ]
    )
    dy = rng.permutation(np.concatenate([spread(500, format, rng), np.ones_like(y)]))[: y.size]
    answers = certified.tanh_gradient(y, dy, format=format)
    for computed in results_near(answers, rng):
        assert_agrees_with_the_exact_oracle(answers, computed)


@formats
def test_exact_ties_of_raw_gradients_go_to_even_without_escalation(format: Format) -> None:
    """Rational results halfway between two floats are settled by their exact enclosures."""
    rng = np.random.default_rng(2)
    bits = format.precision // 2 + 1
    y = truncated(rng.integers(1, 1 << bits, 40000) * 2.0**-bits, format)
    few = format.precision + 1 - bits if format == BINARY64 else bits
    dy = truncated(rng.integers(1, 1 << few, 40000) * 1.0, format)
    y[::4] = 0.5
    dy[::4] = truncated(
        rng.integers(1 << format.precision - 1, 1 << format.precision, 10000) * 1.0, format
    )
    exact = [
        Fraction(b) * (1 - Fraction(a) ** 2) for a, b in zip(y.tolist(), dy.tolist(), strict=True)
    ]
    half_bits = [abs(value.numerator).bit_length() for value in exact]
    answers = certified.tanh_gradient(y, dy, format=format)
    rounded = answers.rounded()
    ties = [i for i in range(y.size) if half_bits[i] == format.precision + 1 and exact[i]]
    assert len(ties) > 100
    assert 0 == rounded.escalated
    for i in ties[:2000]:
        assert answers.real(i).rounded(format) == float(rounded.values[i])


@formats
@pytest.mark.parametrize("width", [0, 1, 2, 7])
@pytest.mark.parametrize("kind", ["ordinary", "any pattern", "cancelling", "overflowing", "tiny"])
def test_neurons_agree_with_the_exact_oracle(kind: str, width: int, format: Format) -> None:
    """All five quantities of batches of neurons of each kind."""
    seed = ["ordinary", "any pattern", "cancelling", "overflowing", "tiny"].index(kind)
    rng = np.random.default_rng([format.width, format.precision, width, seed])
    batch = 24

    def draw(*shape: int, scale: float = 1.0) -> Carried:
        if kind == "any pattern":
            return patterns(int(np.prod(shape)), format, rng).reshape(shape)
        return truncated(rng.normal(size=shape) * scale, format)

    top, bottom = 2.0 ** (format.emax - 1), 2.0 ** (format.emin - 1)
    scale = {"overflowing": top, "tiny": bottom}.get(kind, 2.0 ** float(rng.integers(-3, 3)))
    x, w = draw(batch, width, scale=scale), draw(batch, width)
    b, g = draw(batch), draw(batch, scale=scale if kind == "tiny" else 1.0)
    if kind in ("cancelling", "tiny"):
        b[::2] = 0.0
    if kind == "cancelling" and width > 1:
        x[:, 1], w[:, 1] = x[:, 0], -w[:, 0]
        b = truncated(b.astype(np.float64) * 2.0 ** (-format.precision), format)
    batch_of = certified.neurons(x, w, b, g, format=format)
    for name in ("preactivation", "output", "bias_gradient", "input_gradient", "weight_gradient"):
        answers: Answers = getattr(batch_of, name)
        assert answers.shape == (
            (batch, width) if name.startswith(("input", "weight")) else (batch,)
        )
        for computed in results_near(answers, rng)[:3]:
            assert_agrees_with_the_exact_oracle(answers, computed)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["above", "below"])
def test_a_product_far_below_the_bias_is_not_lost(sign: float) -> None:
    """Which neighbours of b are faithful to x w + b depends on the sign of the least product."""
    x, w = np.array([[sign * 2.0**-500]]), np.array([[2.0**-400]])
    b = np.array([1.5 * 2.0**500])
    batch = certified.neurons(x, w, b, np.ones(1), format=BINARY64)
    assert b.tolist() == batch.preactivation.rounded().values.tolist()
    for computed in (b, np.nextafter(b, np.inf), np.nextafter(b, 0.0)):
        assert_agrees_with_the_exact_oracle(batch.preactivation, computed)


@pytest.mark.parametrize("format", [BINARY32, BINARY64], ids=lambda format: format.name)
def test_ordinary_neurons_are_settled_without_escalation(format: Format) -> None:
    """Wide neurons without cancellation stay in double-double: one in a thousand may not."""
    rng = np.random.default_rng(3)
    x, w = (truncated(rng.normal(size=(400, 60)), format) for _ in range(2))
    b, g = (truncated(rng.normal(size=400), format) for _ in range(2))
    batch = certified.neurons(x, w, b, g, format=format)
    for answers in (batch.output, batch.bias_gradient, batch.input_gradient, batch.weight_gradient):
        assert answers.rounded().escalated <= 0.001 * np.prod(answers.shape)


@formats
def test_escalations_of_activations_are_rare(format: Format) -> None:
    """At most one in ten thousand arguments of ordinary size is left to mpmath."""
    rng = np.random.default_rng(4)
    x = truncated(rng.choice([-1.0, 1.0], 200_000) * 2.0 ** rng.uniform(-20, 6, 200_000), format)
    for function in FUNCTIONS.values():
        assert function(x, format=format).rounded().escalated <= 20


@pytest.mark.parametrize(
    ("computed", "upstream", "expected"),
    [
        (1.0, 1.0, 0.0),
        (1.0 + 2.0**-23, 1.0, 2.0),
        (1.0 - 2.0**-24, 1.0, 1.0),
        (1.0 - 2.0**-24, 4.0, 0.25),
        (1.0 - 2.0**-24, -4.0, 0.25),
        (1.0 - 2.0**-24, 2.0**-149, 2.0**149),
        (inf, 1.0, 2.0**152 - 2.0**24),
        (nan, 1.0, nan),
        (1.0, 0.0, 0.0),
        (0.5, 0.0, inf),
        (1.0, inf, nan),
        (1.0, nan, nan),
    ],
)
def test_scaled_error(computed: float, upstream: float, expected: float) -> None:
    """|computed - 1| / (2^-24 |g|) at sech^2(0) = 1 in binary32."""
    answers = certified.sech2(np.zeros(1, np.float32), format=BINARY32)
    with np.errstate(all="ignore"):
        given = np.array([computed], np.float32)
    found = float(answers.scaled_error(given, upstream)[0])
    assert (isnan(expected) and isnan(found)) or expected == found


def test_scaled_error_survives_huge_and_tiny_quantities() -> None:
    """Neither the error in ulps nor u |g| leaves the range on the way."""
    answers = certified.tanh_gradient(
        np.array([0.5, 0.5]), np.array([2.0**-1074, 2.0**1000]), format=BINARY64
    )
    found = answers.scaled_error(np.array([1e300, 0.0]), np.array([1.0, 2.0**1000]))
    assert [float(np.finfo(np.float64).max), 0.75 * 2.0**53] == found.tolist()
    found = answers.scaled_error(np.array([1e200, 0.0]), np.array([2.0**-300, 2.0**1000]))
    assert 1e200 * 2.0**53 * 2.0**300 == found[0]


def test_shapes_are_kept() -> None:
    """Arrays of any shape, 0-dim and empty ones among them."""
    for shape in ((), (0,), (3, 0), (2, 3, 4)):
        x = np.full(shape, 0.5, np.float32)
        answers = certified.tanh(x, format=BINARY32)
        assert shape == answers.rounded().values.shape
        assert shape == answers.judge(x).ulps.shape
        assert shape == certified.rounded_tanh_sech2(x, format=BINARY32).tanh.shape


def test_strided_arrays_are_read_as_they_are() -> None:
    """A column and a reversed view give the answers of their copies, and keep their bits."""
    x = np.arange(40, dtype=np.float32).reshape(8, 5) / 8
    before = x.tobytes()
    for view in (x[:, 2], x[::-1, 1:4], x.T):
        expected = certified.tanh(view.copy(), format=BINARY32).rounded().values
        assert (
            expected.tobytes() == certified.tanh(view, format=BINARY32).rounded().values.tobytes()
        )
    assert before == x.tobytes()


def test_blocks_make_no_difference() -> None:
    """An element's answer does not depend on where in a long array it stands."""
    rng = np.random.default_rng(6)
    x = spread(30_000, BINARY64, rng)
    whole = certified.sech2(x, format=BINARY64).rounded().values
    order = rng.permutation(x.size)
    shuffled = certified.sech2(x[order], format=BINARY64).rounded().values
    assert whole[order].tobytes() == shuffled.tobytes()


def test_answers_hold_with_numpy_errors_raised() -> None:
    """numpy.seterr(all='raise') in the caller does not reach the internals."""
    with np.errstate(all="raise"):
        x = np.array([0.0, inf, -inf, nan, 1e-320, 1e308, 0.5])
        certified.tanh(x, format=BINARY64).judge(x)
        certified.sech2(x, format=BINARY64).scaled_error(x, 1.0)
        certified.tanh_gradient(x, x, format=BINARY64).judge(x)
        grid = np.array([x, x[::-1]])
        batch = certified.neurons(grid, grid, x[:2], x[4:6], format=BINARY64)
        batch.weight_gradient.judge(grid)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: certified.tanh(np.zeros(3), format=BINARY32),
            TypeError,
            r"x has dtype float64, but members of binary32 are carried in float32; convert it with "
            r"\.astype\(numpy\.float32\)",
        ),
        (
            lambda: certified.tanh(np.float32([1 + 2**-10]), format=BFLOAT16),
            ValueError,
            r"x holds 0x1\.004\w+p\+0, not a bfloat16 number; round it first",
        ),
        (
            lambda: certified.tanh(np.zeros(3), format=BINARY64).judge(np.zeros(2)),
            ValueError,
            r"computed has shape \(2,\), the exact values \(3,\)",
        ),
        (
            lambda: certified.neurons(
                np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(3), np.zeros(2), format=BINARY64
            ),
            ValueError,
            r"inputs \(2, 3\), weights \(2, 3\), bias \(3,\) and upstream_gradient \(2,\) "
            r"are not a batch of neurons; expected \(B, n\), \(B, n\), \(B,\) and \(B,\)",
        ),
        (
            lambda: certified.members(BINARY16, 5, 70000),
            ValueError,
            r"bit patterns 0x5 to 0x11170 are not a range of binary16; "
            r"expected 0 <= start <= stop <= 0x10000",
        ),
        (
            lambda: certified.ActivationSweep(BINARY32, 4).judge(*3 * [np.zeros(5, np.float32)]),
            ValueError,
            r"are not a block; expected one length, at most 4",
        ),
    ],
    ids=["wrong dtype", "not bfloat16", "wrong shape", "wrong batch", "wrong range", "wrong block"],
)
def test_errors_name_the_value_and_the_remedy(call, kind, message: str) -> None:  # type: ignore[no-untyped-def]
    """One line: what was given, what was expected, what to do."""
    with pytest.raises(kind, match=message) as caught:
        call()
    assert 1 == len(str(caught.value).splitlines())


def test_members_are_the_bit_patterns() -> None:
    """members and bit_patterns invert one another and agree with the formats."""
    for format in FORMATS:
        start = (1 << format.width) - 300
        values = certified.members(format, start, 1 << format.width)
        assert (
            list(range(start, 1 << format.width)) == certified.bit_patterns(values, format).tolist()
        )
        few = certified.members(format, 1, 40)
        assert [format.from_bits(i) for i in range(1, 40)] == few.tolist()
        assert certified.carrier(format) == few.dtype


@pytest.mark.parametrize(
    "call",
    [
        lambda: certified.tanh(np.ones(1), format=BINARY64),
        lambda: certified.rounded_tanh_sech2(np.ones(1, np.float32), format=BINARY32),
        lambda: certified.ActivationSweep(BINARY32).judge(*3 * [np.ones(1, np.float32)]),
        lambda: certified.TanhGradientSweep(BINARY32).judge(*2 * [np.ones(1, np.float32)]),
        lambda: certified.neurons(*2 * [np.ones((1, 1))], *2 * [np.ones(1)], format=BINARY64),
    ],
    ids=["tanh", "rounded_tanh_sech2", "ActivationSweep", "TanhGradientSweep", "neurons"],
)
def test_threads_that_flush_subnormals_are_refused(call) -> None:  # type: ignore[no-untyped-def]
    """A RuntimeError that names the remedy, instead of wrong answers."""
    pytest.importorskip("torch", reason="torch sets flush-to-zero; install torch")
    from tests.flushed import in_flushing_thread

    with pytest.raises(
        RuntimeError, match=r"flushes subnormal numbers.*set_flush_denormal\(False\)"
    ):
        in_flushing_thread(call)


def test_answers_refuse_a_thread_that_began_to_flush() -> None:
    """Answers made before are no way around the check."""
    pytest.importorskip("torch", reason="torch sets flush-to-zero; install torch")
    from tests.flushed import in_flushing_thread

    answers = certified.sech2(np.array([360.0]), format=BINARY64)
    for call in (answers.rounded, lambda: answers.judge(np.zeros(1))):
        with pytest.raises(RuntimeError, match="flushes subnormal numbers"):
            in_flushing_thread(call)
