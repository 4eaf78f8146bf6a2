"""What a subject declares, in code and in pyproject.toml: the same words, the same rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

import harness
from harness.errors import UsageError
from harness.grade import Grade
from harness.subjects import Kind, Stated, Subject, SubjectError, SubjectImportError, load
from harness.subjects.declaration import declared_of
from harness.subjects.registry import from_object, offered_names
from harness.subjects.settings import declared_in_project
from reference.formats import BINARY32
from tests.harness.command import invoke

WORDS: dict[str, Any] = {
    "kind": "activation",
    "dtypes": ["float32", "bfloat16"],
    "devices": ["cpu"],
    "accumulation": "float32",
    "activation_ulps": 4,
    "flush_to_zero": True,
    "grades": {"float32": "stable", "bfloat16": "faithful"},
    "reason": "measured",
}
TABLE = """
[tool.neuron-harness.subjects."{name}"]
kind = "activation"
dtypes = ["float32", "bfloat16"]
devices = ["cpu"]
accumulation = "float32"
activation-ulps = 4
flush-to-zero = true
grades = {{ float32 = "stable", bfloat16 = "faithful" }}
reason = "measured"
"""
EXPECTED: dict[str, Any] = {
    "kind": Kind.ACTIVATION,
    "dtypes": ("float32", "bfloat16"),
    "devices": ("cpu",),
    "accumulation": BINARY32,
    "activation_ulps": 4.0,
    "flush_to_zero": True,
    "stated": {
        "float32": Stated(Grade.STABLE, "measured"),
        "bfloat16": Stated(Grade.FAITHFUL, "measured"),
    },
}


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test imported."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("_subject_", "users_")):
            del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a subject, seen from a folder within it."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "mine.py").write_text("import torch\ntanh = torch.tanh\n")
    monkeypatch.chdir(tmp_path / "kernels")
    return tmp_path


def declared(subject: Subject) -> dict[str, Any]:
    """The declarations of a subject, under their names."""
    return {name: getattr(subject, name) for name in EXPECTED}


@pytest.mark.parametrize("what", ["function", "class", "module class", "module instance"])
def test_a_decorator_declares(what: str) -> None:
    """And changes nothing else."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)

    class Function(torch.autograd.Function):
        pass

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x)

    found: Any = {
        "function": function,
        "class": Function,
        "module class": Module,
        "module instance": Module(),
    }[what]
    assert found is harness.subject(**WORDS)(found)
    assert EXPECTED == declared(from_object(found))


def test_a_table_declares_the_same(project: Path) -> None:
    """The nearest pyproject.toml above; the path of a file is taken from its folder."""
    (project / "pyproject.toml").write_text(TABLE.format(name="kernels/mine.py:tanh"))
    for name in ("mine.py:tanh", "./mine.py:tanh", str(project / "kernels" / "mine.py:tanh")):
        assert EXPECTED == declared(load(name)), name
        assert name == load(name).name
    assert Kind.NEURON is from_object(torch.tanh).kind


def test_a_table_goes_before_the_code(project: Path) -> None:
    """Word by word."""
    (project / "kernels" / "both.py").write_text(
        "import harness, torch\n"
        "@harness.subject(kind='activation', dtypes=['float32'], activation_ulps=3)\n"
        "def tanh(x):\n    return torch.tanh(x)\n"
    )
    (project / "pyproject.toml").write_text(
        '[tool.neuron-harness.subjects."kernels/both.py:tanh"]\ndtypes = ["float64"]\n'
    )
    found = load("both.py:tanh")
    assert (("float64",), 3.0, Kind.ACTIVATION) == (
        found.dtypes,
        found.activation_ulps,
        found.kind,
    )


def test_one_grade_is_for_every_dtype() -> None:
    """That is supported."""
    found = harness.subject(grades="stable", dtypes=["float32"])(lambda x: x)
    assert {"float32": Stated(Grade.STABLE, "declared")} == from_object(found).stated
    everywhere = harness.subject(grades="stable")(lambda x: x)
    assert {"float16", "bfloat16", "float32", "float64"} == set(from_object(everywhere).stated)


def test_a_declared_kind_may_not_be_contradicted() -> None:
    """It may be repeated."""
    found = harness.subject(kind="activation")(lambda x: x)
    assert Kind.ACTIVATION is from_object(found, "activation").kind
    with pytest.raises(SubjectError, match="is of kind activation, not neuron"):
        from_object(found, "neuron")


def test_what_takes_no_attributes() -> None:
    """Is told so, with the remedy."""
    with pytest.raises(UsageError, match=r"a builtin_function_or_method takes no attributes"):
        harness.subject(kind="activation")(torch.tanh)
    assert declared_of(torch.tanh) is None


BAD = [
    ("kind", "neurone", "expected one of neuron, activation, tanh-gradient"),
    ("dtypes", ["float8"], "expected a list of some of float16, bfloat16, float32, float64"),
    ("dtypes", [], "expected a list of some of"),
    ("dtypes", "float32", "expected a list of some of"),
    ("devices", ["tpu"], "expected a list of some of cpu, cuda"),
    ("accumulation", "float8", "expected one of float16, bfloat16, float32, float64"),
    ("activation_ulps", 0.25, "expected a number of ulps, 0.5 (correctly rounded) or more"),
    ("activation_ulps", True, "expected a number of ulps"),
    ("flush_to_zero", 1, "expected true or false"),
    ("grades", "good", "expected one of correct, faithful, stable, textbook, wrong, or a table"),
    ("grades", {"float8": "stable"}, "or a table of them by dtype (float16, "),
    ("reason", "two\nlines", "expected one line of text"),
]


@pytest.mark.parametrize(("word", "value", "expected"), BAD)
def test_a_bad_value_in_code(word: str, value: object, expected: str) -> None:
    """One line: the word, the value, what was expected."""
    with pytest.raises(UsageError) as caught:
        harness.subject(**{word: value})
    assert str(caught.value).startswith(f"harness.subject: {word} is {value!r}; ")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dtype = 1", ".dtype is not known; expected one of kind, dtypes, devices, accumulation, "),
        ("dtypes = ['float8']", ".dtypes is ['float8']; expected a list of some of float16, "),
        ("activation-ulps = 'x'", ".activation-ulps is 'x'; expected a number of ulps"),
        ("reason = 'why'", ".reason is given without grades; expected both"),
    ],
)
def test_a_bad_table(project: Path, line: str, expected: str) -> None:
    """One line that names the file, the key, and what was expected; whoever it is about."""
    file = project / "pyproject.toml"
    file.write_text(f'[tool.neuron-harness.subjects."other:f"]\n{line}\n')
    with pytest.raises(UsageError) as caught:
        load("mine.py:tanh")
    start = f'{file}: tool.neuron-harness.subjects."other:f"{expected}'
    assert str(caught.value).startswith(start), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[tool.neuron-harness]\nsubject = 1\n", "tool.neuron-harness.subject is not known; "),
        ("[tool.neuron-harness]\nsubjects = 1\n", "tool.neuron-harness.subjects is 1; expected"),
        ("[tool]\nneuron-harness = 1\n", "tool.neuron-harness is 1; expected a table"),
        ("[tool.neuron-harness.subjects.textbook]\n", "declares something of a built-in subject"),
        ("[tool.neuron-harness.subjects]\n'a:b' = 1\n", "is 1; expected a table"),
        ("= nonsense\n", "cannot be read ("),
    ],
)
def test_no_table(project: Path, content: str, expected: str) -> None:
    """What is there in its place is named."""
    (project / "pyproject.toml").write_text(content)
    with pytest.raises(UsageError, match=r"pyproject\.toml") as caught:
        load("mine.py:tanh")
    assert expected in str(caught.value)


def test_no_project(project: Path) -> None:
    """Declares nothing; nor does one that says nothing of this."""
    assert declared_in_project("mine.py:tanh") is None
    (project / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert declared_in_project("mine.py:tanh") is None


@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"])
def test_it_reaches_the_command(project: Path, isolate: str) -> None:
    """In the other process too: dtypes, the grade that is required, the kind, and a usage error."""
    file = project / "pyproject.toml"
    file.write_text(TABLE.format(name="kernels/mine.py:tanh"))
    words = ("verify", "mine.py:tanh", "--device", "cpu", "--examples", "14", "--seed", "1")
    outcome = invoke(*words, isolate)
    assert 1 == outcome.status
    assert "mine.py:tanh bfloat16 cpu: graded" in outcome.out
    assert ", required faithful" in outcome.out
    assert "float16 " not in outcome.out.replace("bfloat16", "")
    file.write_text(file.read_text().replace("= 4", "= 0"))
    outcome = invoke(*words, isolate)
    assert (2, "") == (outcome.status, outcome.out)
    assert "activation-ulps is 0; expected a number of ulps" in outcome.err


@pytest.mark.parametrize("command", ["sweep", "hunt"])
def test_it_reaches_sweep_and_hunt(project: Path, command: str) -> None:
    """A dtype that is not declared is not supported."""
    (project / "pyproject.toml").write_text(TABLE.format(name="kernels/mine.py:tanh"))
    outcome = invoke(command, "mine.py:tanh", "--dtype", "float16")
    assert 3 == outcome.status
    assert "does not support float16; expected one of float32, bfloat16" in outcome.err


def test_a_bad_decorator_in_a_file(project: Path) -> None:
    """Is a usage error of that subject."""
    (project / "kernels" / "bad.py").write_text(
        "import harness\n@harness.subject(dtypes=['float8'])\ndef f(x):\n    return x\n"
    )
    with pytest.raises(SubjectError, match=r"^'bad.py:f': harness.subject: dtypes is") as caught:
        load("bad.py:f")
    assert not isinstance(caught.value, SubjectImportError)


class TestEntryPoints:
    """What installed packages offer."""

    @pytest.fixture
    def offered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """An installed package with subjects, one of which cannot be imported."""
        (tmp_path / "users_kernels.py").write_text(
            "import harness, torch\n"
            "@harness.subject(kind='activation')\n"
            "def tanh(x):\n    return torch.tanh(x)\n"
        )
        info = tmp_path / "users_kernels-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: users-kernels\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "[neuron_harness.subjects]\nusers-tanh = users_kernels:tanh\n"
            "broken = users_nothing:tanh\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        return info

    def test_by_name(self, offered: Path) -> None:
        """Of a kind that it declares."""
        found = load("users-tanh")
        assert ("users-tanh", Kind.ACTIVATION) == (found.name, found.kind)
        assert {"users-tanh", "broken"} <= set(offered_names())

    def test_one_that_cannot_be_imported(self, offered: Path) -> None:
        """The place that it names is told."""
        with pytest.raises(SubjectImportError, match="'broken' cannot be imported: users_nothing"):
            load("broken")

    def test_the_nearest_is_suggested(self, offered: Path) -> None:
        """Where a name is misspelt."""
        with pytest.raises(SubjectError, match="did you mean users-tanh"):
            load("users-tahn")

    def test_two_of_one_name(self, offered: Path, tmp_path: Path) -> None:
        """Are told apart by their places."""
        other = tmp_path / "users_others-1.0.dist-info"
        other.mkdir()
        (other / "METADATA").write_text("Metadata-Version: 2.1\nName: users-others\nVersion: 1.0\n")
        (other / "entry_points.txt").write_text(
            "[neuron_harness.subjects]\nusers-tanh = users_others:tanh\n"
        )
        assert 2 == len(metadata.entry_points(group="neuron_harness.subjects", name="users-tanh"))
        with pytest.raises(SubjectError, match="users_kernels:tanh and users_others:tanh"):
            load("users-tanh")
