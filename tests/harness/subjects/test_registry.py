"""From a name to a subject, and from a bad name to one clear line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import harness.subjects.exponential as exponential
from harness.case import DTYPES
from harness.subjects import (
    Kind,
    Subject,
    SubjectError,
    SubjectImportError,
    builtin_names,
    builtin_subjects,
    load,
    neuron_of,
)
from harness.subjects.registry import from_object

NAMES = (
    "textbook",
    "autograd",
    "exponential",
    "sigmoid",
    "torch-tanh",
    "aten-tanh-gradient",
    "accurate",
    "accurate-tanh",
    "fused",
)
FORMS = "expected a built-in name, package.module:attribute or path/to/file.py:attribute"

GOOD_FILE = """
import functools

import torch
from beside_it import double
from harness.grade import Grade
from harness.subjects import Kind, Stated, Subject

executions = []
executions.append(__name__)


def neuron(inputs, weights, bias, upstream_gradient):
    return "called"


class Holder:
    @staticmethod
    def neuron(inputs, weights, bias, upstream_gradient):
        return "held"

    class inner:
        double = staticmethod(double)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, upstream_gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * upstream_gradient


class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)


class Picky(torch.nn.Module):
    def __init__(self, size):
        super().__init__()


class Plain:
    pass


instance = Layer()
partial = functools.partial(neuron, bias=0)
compiled = torch.compile(torch.tanh, backend="eager")
declared = Subject(
    "declared", Kind.ACTIVATION, torch.tanh, {"float32": Stated(Grade.TEXTBOOK, "by torch")}
)
number = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A user's file that imports another one beside it."""
    (tmp_path / "beside_it.py").write_text("def double(x):\n    return 2 * x\n")
    path = tmp_path / "my_neurons.py"
    path.write_text(GOOD_FILE)
    return path


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the modules a test imported, and what it did to sys.path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("_subject_", "beside_it", "users_", "raises_")):
            del sys.modules[name]


def fails(name: str, kind: str | None = None) -> SubjectError:
    """The error of loading `name`, which must be one line."""
    with pytest.raises(SubjectError) as caught:
        load(name, kind)
    assert "\n" not in str(caught.value)
    return caught.value


class TestBuiltins:
    """The subjects that need no path."""

    def test_names_in_order(self) -> None:
        """The names, and the subjects in the order of the names."""
        assert builtin_names() == NAMES
        assert tuple(subject.name for subject in builtin_subjects()) == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_load_by_name(self, name: str) -> None:
        """A built-in is loaded by its name, with or without its own kind."""
        (expected,) = (subject for subject in builtin_subjects() if subject.name == name)
        assert expected == load(name)
        assert expected == load(name, expected.kind)
        assert expected == load(name, str(expected.kind))

    @pytest.mark.parametrize("name", NAMES)
    def test_states_a_grade_and_a_reason_in_every_dtype(self, name: str) -> None:
        """Each claim is for one of the four dtypes, with one sentence on why."""
        stated = load(name).stated
        assert set(DTYPES) == set(stated)
        for claim in stated.values():
            assert re.fullmatch(r"[^.\n]{20,}(\.\d[^.\n]*)*", claim.reason), claim.reason

    def test_kinds(self) -> None:
        """The plain ones, and those that are worth using."""
        plain = [Kind.NEURON] * 2 + [Kind.ACTIVATION] * 3 + [Kind.TANH_GRADIENT]
        best = [Kind.NEURON, Kind.ACTIVATION, Kind.NEURON]
        assert [subject.kind for subject in builtin_subjects()] == plain + best

    def test_the_names_are_known_without_torch(self) -> None:
        """Listing names, and failing on a bad one, must not wait for torch."""
        program = (
            "import sys; from harness.subjects import builtin_names, load, SubjectError\n"
            "try: load('nothing')\n"
            "except SubjectError: print(len(builtin_names()), 'torch' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{len(NAMES)} False\n"


class TestObjects:
    """What an attribute may be."""

    @pytest.mark.parametrize(
        ("attribute", "expected"),
        [("neuron", "called"), ("Holder.neuron", "held"), ("partial", "called")],
    )
    def test_a_callable(self, file: Path, attribute: str, expected: str) -> None:
        """A function, one reached through dots, and any other callable, as it is."""
        subject = load(f"{file}:{attribute}")
        assert (f"{file}:{attribute}", Kind.NEURON) == (subject.name, subject.kind)
        assert subject.stated == {}
        assert expected == subject.function(inputs=0, weights=0, bias=0, upstream_gradient=0)

    # torch.compile reads .grad of its argument, and silences the warning where none is an error.
    @pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
    @pytest.mark.parametrize("attribute", ["Layer", "instance", "compiled", "Square"])
    def test_an_activation(self, file: Path, attribute: str) -> None:
        """A module class or instance, a compiled function, an autograd Function: all lifted."""
        subject = load(f"{file}:{attribute}", "activation")
        assert Kind.ACTIVATION is subject.kind
        half = torch.tensor([0.5])
        zero, one = torch.tensor(0.0), torch.tensor(1.0)
        output, _, _, bias_gradient = neuron_of(subject)(half, torch.ones(1), zero, one)
        y = 0.25 if attribute == "Square" else torch.tanh(half).item()
        slope = 1.0 if attribute == "Square" else 1 - y * y
        assert (y, pytest.approx(slope, rel=1e-6)) == (output.item(), bias_gradient.item())

    def test_a_subject_with_its_own_declarations(self, file: Path) -> None:
        """A Subject is taken as it is; its kind may be repeated."""
        subject = load(f"{file}:declared")
        assert (subject.name, subject.kind) == ("declared", Kind.ACTIVATION)
        assert list(subject.stated) == ["float32"]
        assert subject == load(f"{file}:declared", Kind.ACTIVATION)

    @pytest.mark.parametrize(
        "attribute", ["ExponentialTanh", "ExponentialTanhModule"], ids=["Function", "nn.Module"]
    )
    def test_a_module_path(self, attribute: str) -> None:
        """`package.module:attribute` reaches an importable module, both forms of one idea."""
        subject = load(f"harness.subjects.exponential:{attribute}", "activation")
        x = torch.tensor(0.5)
        assert exponential.ExponentialTanh.apply(x).item() == subject.function(x).item()

    def test_a_nested_attribute_of_a_module(self) -> None:
        """`a.b` after the colon is an attribute of an attribute."""
        assert torch.nn.functional.tanh is load("torch:nn.functional.tanh").function

    @pytest.mark.parametrize(
        ("found", "name"),
        [
            (exponential.ExponentialTanh, "harness.subjects.exponential:ExponentialTanh"),
            (
                exponential.ExponentialTanhModule(),
                "harness.subjects.exponential:ExponentialTanhModule",
            ),
            (neuron_of, "harness.subjects.subject:neuron_of"),
            (torch.nn.Tanh, "torch.nn.modules.activation:Tanh"),
        ],
        ids=["Function", "module instance", "function", "module class"],
    )
    def test_an_object_in_hand(self, found: object, name: str) -> None:
        """Python callers pass the object itself, which is named after itself or as they say."""
        subject = from_object(found, "activation")
        assert (name, Kind.ACTIVATION) == (subject.name, subject.kind)
        assert callable(subject.function)
        assert (
            (named := from_object(found, name="mine")).name,
            named.kind,
        ) == ("mine", Kind.NEURON)

    def test_a_subject_in_hand(self) -> None:
        """A Subject is itself, unless its kind is contradicted."""
        subject = load("sigmoid")
        assert subject is from_object(subject)
        with pytest.raises(SubjectError, match="'sigmoid' is of kind activation, not neuron"):
            from_object(subject, "neuron")

    def test_an_object_that_cannot_be_called(self) -> None:
        """The type takes the place of a name."""
        with pytest.raises(SubjectError, match="'builtins:int' is of type int, which cannot be"):
            from_object(5)

    def test_an_operator_of_torch(self) -> None:
        """A raw operator of torch can be named directly."""
        subject = load("torch:ops.aten.tanh", "activation")
        assert subject.function(torch.tensor(0.0)).item() == 0.0


class TestFiles:
    """Files are executed as scripts are, once for each state."""

    def test_two_attributes_share_one_module(self, file: Path) -> None:
        """One execution serves every attribute of the file."""
        neuron = load(f"{file}:neuron").function
        partial = load(f"{file}:partial").function
        assert partial.func is neuron  # type: ignore[attr-defined]

    def test_an_edited_file_is_executed_again(self, file: Path) -> None:
        """A subject is never judged as it was before an edit."""
        assert load(f"{file}:neuron").function(0, 0, 0, 0) == "called"
        file.write_text("def neuron(inputs, weights, bias, upstream_gradient):\n    return 'new'\n")
        assert load(f"{file}:neuron").function(0, 0, 0, 0) == "new"

    def test_a_relative_path(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A relative path is taken from the working directory, with or without a separator."""
        monkeypatch.chdir(file.parent)
        assert load("my_neurons.py:neuron").function(0, 0, 0, 0) == "called"
        assert load("./my_neurons.py:neuron").function(0, 0, 0, 0) == "called"

    def test_sys_path_is_as_found(self, file: Path) -> None:
        """The file's folder is importable only while it is executed."""
        before = list(sys.path)
        load(f"{file}:neuron")
        assert before == sys.path

    def test_a_module_in_the_working_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A console script can import what lies in the working directory."""
        (tmp_path / "users_package").mkdir()
        (tmp_path / "users_package" / "__init__.py").touch()
        (tmp_path / "users_package" / "kernels.py").write_text("def neuron():\n    return 1\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
        assert load("users_package.kernels:neuron").function() == 1

    def test_the_working_directory_shadows_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An installed module wins over one of the same name in the working directory."""
        (tmp_path / "colorsys.py").write_text("def rgb_to_hsv():\n    return 'shadow'\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
        assert load("colorsys:rgb_to_hsv").function(0, 0, 0) == (0.0, 0.0, 0.0)


class TestUnknownNames:
    """Names that stand for nothing: a usage error."""

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("texbook", f"'texbook' is not a subject; {FORMS}; did you mean textbook?"),
            ("TORCH_TANH", f"'TORCH_TANH' is not a subject; {FORMS}; did you mean torch-tanh?"),
            ("zzz", f"'zzz' is not a subject; {FORMS}; the built-ins are {', '.join(NAMES)}"),
            ("", f"'' is not a subject; {FORMS}; the built-ins are {', '.join(NAMES)}"),
            (
                "my/file.py",
                f"'my/file.py' is not a subject; {FORMS}; "
                "add a colon and the attribute's name, as in my/file.py:neuron",
            ),
            (
                "a.b",
                f"'a.b' is not a subject; {FORMS}; "
                "add a colon and the attribute's name, as in a.b:neuron",
            ),
            (
                "a.b:",
                f"'a.b:' is not a subject; {FORMS}; add the attribute's name after the colon",
            ),
            (
                ":neuron",
                f"':neuron' is not a subject; {FORMS}; the built-ins are {', '.join(NAMES)}",
            ),
            (
                "my module:neuron",
                f"'my module:neuron' does not name a module before its colon; {FORMS}; "
                "write the module's name with dots",
            ),
            (
                "..relative:neuron",
                f"'..relative:neuron' does not name a module before its colon; {FORMS}; "
                "write the module's name with dots",
            ),
        ],
    )
    def test_message(self, name: str, message: str) -> None:
        """The name, the forms a name has, and the likeliest remedy."""
        error = fails(name)
        assert message == str(error)
        assert not isinstance(error, SubjectImportError)

    def test_an_unknown_kind(self) -> None:
        """The kinds are listed and the nearest suggested."""
        expected = (
            "'activations' is not a kind of subject; expected neuron, activation, tanh-gradient; "
            "did you mean activation?"
        )
        assert expected == str(fails("textbook", "activations"))

    def test_a_contradicted_kind(self, file: Path) -> None:
        """A built-in or a Subject keeps the kind it has."""
        expected = (
            "'sigmoid' is of kind activation, not neuron; expected its own kind; "
            "leave the kind out, or say activation"
        )
        assert expected == str(fails("sigmoid", "neuron"))
        assert expected.replace("sigmoid", "declared") == str(fails(f"{file}:declared", "neuron"))


class TestImportErrors:
    """Names that are well formed but cannot be imported."""

    def test_a_missing_module(self) -> None:
        """The missing module is named, not only the subject."""
        error = fails("no_such_package.module:neuron")
        assert isinstance(error, SubjectImportError)
        assert str(error) == (
            "'no_such_package.module:neuron' cannot be imported: there is no module "
            "'no_such_package'; expected one on sys.path or in the working directory; "
            "install it, or give the path of its file"
        )

    def test_a_missing_submodule(self) -> None:
        """A package that exists without the module that is asked for."""
        assert "there is no module 'harness.no_such'" in str(fails("harness.no_such:neuron"))

    def test_a_module_whose_own_import_is_missing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A dependency that is missing is not mistaken for the module itself."""
        (tmp_path / "users_needy.py").write_text("import no_such_dependency\n")
        monkeypatch.chdir(tmp_path)
        error = fails("users_needy:neuron")
        assert isinstance(error, SubjectImportError)
        assert str(error) == (
            "'users_needy:neuron' cannot be imported: users_needy raised ModuleNotFoundError: "
            "No module named 'no_such_dependency'; expected an import without an error; "
            "import it in Python to see the traceback"
        )

    def test_a_missing_attribute(self, file: Path) -> None:
        """A near name is suggested."""
        error = fails("harness.subjects.textbook:textbok")
        assert isinstance(error, SubjectImportError)
        assert str(error) == (
            "'harness.subjects.textbook:textbok' cannot be imported: the module has no attribute "
            "'textbok'; expected the name of a callable; did you mean textbook?"
        )
        assert str(fails(f"{file}:Holder.nothing_like_it")).endswith(
            "Holder has no attribute 'nothing_like_it'; expected the name of a callable; "
            "check its spelling"
        )

    def test_a_missing_file(self, tmp_path: Path) -> None:
        """The path is repeated, with the folder a relative one is taken from."""
        error = fails("no/such/file.py:neuron")
        assert isinstance(error, SubjectImportError)
        assert (
            "'no/such/file.py:neuron' cannot be imported: no/such/file.py is not a file; "
            f"expected a Python file; check the path, which is taken from {Path.cwd()}"
        ) == str(error)
        assert f"{tmp_path} is not a file" in str(fails(f"{tmp_path}:neuron"))

    @pytest.mark.parametrize(
        ("text", "raised"),
        [
            ("raise ValueError('two\\nlines')", "ValueError: two lines"),
            ("import sys; sys.exit(3)", "SystemExit: 3"),
            ("def broken(:", "SyntaxError: invalid syntax"),
            ("assert False", "AssertionError"),
        ],
    )
    def test_a_file_that_raises(self, tmp_path: Path, text: str, raised: str) -> None:
        """Whatever a file raises on import becomes one line, with its cause kept."""
        path = tmp_path / "raises_here.py"
        path.write_text(text)
        error = fails(f"{path}:neuron")
        assert isinstance(error, SubjectImportError)
        assert f"'{path}:neuron' cannot be imported: {path} raised {raised}" in str(error)
        assert error.__cause__ is not None
        assert not [name for name in sys.modules if "raises_here" in name]

    def test_a_file_that_is_not_python(self, tmp_path: Path) -> None:
        """A path that is no Python file is refused by its suffix."""
        path = tmp_path / "neuron.txt"
        path.touch()
        assert "raised ImportError: neuron.txt has no suffix of a Python file" in str(
            fails(f"{path}:neuron")
        )


class TestUnfitObjects:
    """Attributes that exist and are no subject."""

    @pytest.mark.parametrize(
        ("attribute", "message"),
        [
            (
                "number",
                "is of type int, which cannot be called; expected a callable, an nn.Module or an "
                "autograd.Function; name one of those",
            ),
            (
                "Plain",
                "is a class; expected a callable, an nn.Module or an autograd.Function; "
                "name a function or an instance",
            ),
        ],
    )
    def test_message(self, file: Path, attribute: str, message: str) -> None:
        """What the attribute is, what was expected, and the remedy."""
        error = fails(f"{file}:{attribute}")
        assert not isinstance(error, SubjectImportError)
        assert f"'{file}:{attribute}' {message}" == str(error)

    def test_a_module_class_with_arguments(self, file: Path) -> None:
        """A class that needs arguments cannot be made; an instance can be named."""
        message = str(fails(f"{file}:Picky"))
        assert message.startswith(
            f"'{file}:Picky' is an nn.Module class that cannot be made without arguments (TypeError"
        )
        assert message.endswith("; expected one that can; name an instance instead")


def test_subjects_are_what_load_returns(file: Path) -> None:
    """Every form of name gives the same record."""
    names = ("textbook", "torch:tanh", f"{file}:neuron")
    assert [Subject] * 3 == [type(load(name)) for name in names]
