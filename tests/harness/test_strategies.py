"""The public face of the strategies."""

import hashlib
import subprocess
import sys

import pytest

from harness.case import DTYPES
from harness.strategies import Regime, cases, regimes_for, tanh_gradient_cases
from tests.drawn import drawn
from tests.flushed import in_flushing_thread


def test_kinds_have_their_regimes() -> None:
    """Between them, every regime; activations are looked at like neurons."""
    neuron, gradient = regimes_for("neuron"), regimes_for("tanh-gradient")
    assert set(Regime) == {*neuron, *gradient}
    assert neuron == regimes_for("activation")
    assert {Regime.ONE} == {*gradient} - {*neuron}
    assert 14 == len(neuron)


def test_an_unknown_kind_is_refused() -> None:
    """The message names the kinds."""
    with pytest.raises(ValueError, match="unknown kind 'layer'; expected neuron, activation or"):
        regimes_for("layer")


def test_a_regime_of_another_kind_is_refused() -> None:
    """The message names the regimes there are."""
    with pytest.raises(ValueError, match="a neuron has no regime 'one'; expected one of empty, "):
        cases("float32", Regime.ONE)
    with pytest.raises(ValueError, match="a tanh-gradient has no regime 'cancelling'; expected"):
        tanh_gradient_cases("float32", Regime.CANCELLING)


def test_an_unknown_dtype_is_refused() -> None:
    """The message names the dtypes."""
    for strategy in (cases, tanh_gradient_cases):
        with pytest.raises(ValueError, match="unknown dtype 'float8'; expected one of float16"):
            strategy("float8")


@pytest.mark.parametrize("strategy", [cases, tanh_gradient_cases], ids=["neuron", "gradient"])
def test_without_a_regime_all_are_drawn(strategy) -> None:  # type: ignore[no-untyped-def]
    """Empty, short and long cases come from one strategy."""
    lengths = [len(case.inputs) for case in drawn(strategy("float32"), 300)]
    assert 0 in lengths
    assert 1 in lengths
    assert 40 < max(lengths)


@pytest.mark.parametrize("dtype", DTYPES)
def test_flush_to_zero_draws_the_same_cases(dtype: str) -> None:
    """Bit for bit: values come from integers, in the regimes that need subnormals most."""
    for strategy in (
        cases(dtype, Regime.TINY),
        cases(dtype, Regime.CANCELLING),
        cases(dtype, Regime.OVERFLOWING),
        cases(dtype),
        tanh_gradient_cases(dtype, Regime.TINY),
    ):

        def draw(strategy=strategy) -> list[str]:  # type: ignore[no-untyped-def]
            return [case.to_json() for case in drawn(strategy, 40)]

        assert draw() == in_flushing_thread(draw)


def test_a_seed_draws_the_same_cases_in_every_process() -> None:
    """Nothing depends on hash seeds or on what ran before."""
    script = (
        "import hashlib\n"
        "from tests.drawn import drawn\n"
        "from harness.strategies import cases\n"
        "texts = [case.to_json() for case in drawn(cases('bfloat16'), 60)]\n"
        "print(hashlib.sha256(repr(texts).encode()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert 1 == len(digests)
    assert len(hashlib.sha256().hexdigest()) == len(digests.pop())
