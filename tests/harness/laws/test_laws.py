"""All laws: which there are, that each is broken by a subject made for it, and by no sound one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.case import DTYPES, Case
from harness.laws import LAWS, Law
from harness.strategies import Regime, regimes_for
from harness.subjects import Kind, Subject, builtin_names, load
from tests.drawn import neuron_cases, output_cases
from tests.harness import faulty
from tests.harness.breaking import BREAKING, Breaking, law
from tests.harness.laws.looking import judge_of

_CHECKED = tuple(each for each in LAWS if any(each.checks.values()))
README = Path(__file__).parents[3] / "README.md"


def drawn(kind: Kind, dtype: str, count: int) -> Iterator[Case]:
    """`count` cases of every regime, one of the very long."""
    for regime in regimes_for(kind):
        cases: Sequence[Case]
        if kind is Kind.TANH_GRADIENT:
            cases = output_cases(dtype, regime)
        else:
            cases = neuron_cases(dtype, regime, 60)
        yield from cases[: 1 if regime is Regime.VERY_LONG else count]


def check_broken(breaking: Breaking, dtype: str) -> None:
    """Some drawn case breaks the law, and what is said of the first is what should be."""
    judge = judge_of(breaking.subject, dtype)
    found = (judge.law(law(breaking.law), case).broken for case in drawn(breaking.kind, dtype, 60))
    message = next(broken[breaking.law] for broken in found if broken)
    assert breaking.message in message


def check_kept(subject: Subject, dtype: str, laws: Sequence[Law], count: int) -> None:
    """No drawn case breaks any of the laws."""
    judge = judge_of(subject, dtype)
    for case in drawn(subject.kind, dtype, count):
        for each in laws:
            assert {} == judge.law(each, case).broken, (each.name, case.to_json())


def ids(breaking: Breaking) -> str:
    """What a test of it states."""
    return f"{breaking.function.__name__} breaks {breaking.law}"


class TestBroken:
    """Every law is broken by a subject made to break it."""

    def test_every_law_and_kind_has_one(self) -> None:
        """For each kind that a law is checked of; an activation's neuron laws are a neuron's."""
        made = {(each.law, each.kind) for each in BREAKING}
        for each in _CHECKED:
            for kind in each.checks:
                shared = kind is Kind.ACTIVATION and each.checks[kind] == each.checks.get(
                    Kind.NEURON
                )
                assert (each.name, Kind.NEURON if shared else kind) in made

    @pytest.mark.parametrize("breaking", BREAKING, ids=ids)
    def test_found(self, breaking: Breaking) -> None:
        """In binary32."""
        check_broken(breaking, "float32")

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("breaking", BREAKING, ids=ids)
    def test_found_in_every_dtype(self, breaking: Breaking, dtype: str) -> None:
        """In the others too."""
        check_broken(breaking, dtype)


#: Laws that are kept by every sound subject here, the observed ones included, except for the last:
#: a plain torch neuron takes what it is given.
_OF_SOUND = _CHECKED[:-1]


class TestKept:
    """No sound subject breaks one."""

    @pytest.mark.parametrize("name", [name for name in builtin_names() if name != "sigmoid"])
    def test_built_ins(self, name: str) -> None:
        """None of the laws at all, in binary32; 2*sigmoid(2x) - 1 is not odd."""
        check_kept(load(name), "float32", _CHECKED, 6)

    def test_sigmoid(self) -> None:
        """Nor does the exception break a required one."""
        required = [each for each in _CHECKED if each.required]
        check_kept(load("sigmoid"), "float32", required, 6)

    @pytest.mark.parametrize(
        ("function", "dtype"),
        [
            pytest.param(each, DTYPES[index % 4], id=f"{each.__name__} in {DTYPES[index % 4]}")
            for index, each in enumerate(faulty.SOUND)
        ],
    )
    def test_sound(self, function: faulty.Neuron, dtype: str) -> None:
        """Other ways to the same neuron."""
        check_kept(Subject(function.__name__, Kind.NEURON, function), dtype, _OF_SOUND, 5)

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("function", faulty.SOUND, ids=lambda each: each.__name__)
    def test_sound_in_every_dtype(self, function: faulty.Neuron, dtype: str) -> None:
        """Required laws, in sixty cases of each regime."""
        required = [each for each in _CHECKED if each.required]
        check_kept(Subject(function.__name__, Kind.NEURON, function), dtype, required, 60)


class TestRegister:
    """The laws as they are published."""

    def test_names_are_unique_and_the_required_come_first(self) -> None:
        """So that the table reads as it should."""
        assert len(LAWS) == len({each.name for each in LAWS})
        assert [each.required for each in LAWS] == sorted(
            (each.required for each in LAWS), reverse=True
        )

    def test_a_law_that_does_not_apply(self) -> None:
        """A raw gradient has no output to bound and no sum to pad; an activation no vectors."""
        missing = {kind: {each.name for each in LAWS if not each.applies(kind)} for kind in Kind}
        assert set() == missing[Kind.NEURON]
        assert {
            Kind.ACTIVATION: {"zero-padding", "swap", "permutation", "mismatch-raises"},
            Kind.TANH_GRADIENT: {
                "output-bounded",
                "zero-padding",
                "swap",
                "output-odd",
                "output-monotone",
            },
        } == {kind: names for kind, names in missing.items() if names}

    @pytest.mark.skipif(not README.exists(), reason="no README beside the tests")
    def test_the_readme_lists_them(self) -> None:
        """Name, statement, whether required, kinds: a row for each law."""
        text = README.read_text(encoding="utf-8")
        for each in LAWS:
            kinds = "all" if len(each.checks) == len(Kind) else ", ".join(map(str, each.checks))
            held = "required" if each.required else "observed"
            held += ", required of built-ins" if each.binds_built_ins else ""
            assert f"| `{each.name}` | {each.statement} | {held} | {kinds} |\n" in text
