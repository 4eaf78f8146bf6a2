"""From a subject's name to the subject: the built-ins, adapters of other frameworks, what installed
packages offer, a module's attribute, or a file's."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from harness.errors import UsageError, one_line
from harness.subjects.declaration import Declaration, declared_of
from harness.subjects.settings import declared_in_project
from harness.subjects.subject import Kind, Subject

_BUILTINS: Final = MappingProxyType(
    {
        "textbook": "harness.subjects.textbook",
        "autograd": "harness.subjects.autograd",
        "exponential": "harness.subjects.exponential",
        "sigmoid": "harness.subjects.sigmoid",
        "torch-tanh": "harness.subjects.torch_tanh",
        "aten-tanh-gradient": "harness.subjects.aten_tanh_gradient",
        "accurate": "harness.subjects.accurate",
        "accurate-tanh": "harness.subjects.accurate_tanh",
        "fused": "harness.subjects.fused",
    }
)
#: Operations of other frameworks, and the packages they need, which are extras of this one.
_ADAPTERS: Final = MappingProxyType(
    {
        "numpy-tanh": ("harness.subjects.adapters.numpy", "TANH", "numpy"),
        "jax-tanh": ("harness.subjects.adapters.jax", "TANH", "jax"),
        "jax-tanh-gradient": ("harness.subjects.adapters.jax", "TANH_GRADIENT", "jax"),
        "tensorflow-tanh": ("harness.subjects.adapters.tensorflow", "TANH", "tensorflow"),
        "tensorflow-tanh-gradient": (
            "harness.subjects.adapters.tensorflow",
            "TANH_GRADIENT",
            "tensorflow",
        ),
    }
)
#: The entry points by which an installed package offers subjects, each under a name of its own.
ENTRY_POINTS: Final = "neuron_harness.subjects"
_FORMS: Final = "a built-in name, package.module:attribute or path/to/file.py:attribute"


class SubjectError(ValueError):
    """A name that stands for no subject. The message is one line: value, expected, remedy."""


class SubjectImportError(SubjectError):
    """A subject that is well named but cannot be imported."""


def builtin_names() -> tuple[str, ...]:
    """The names of the built-in subjects. Does not import torch."""
    return tuple(_BUILTINS)


def builtin_subjects() -> tuple[Subject, ...]:
    """The built-in subjects, in the order of `builtin_names`. Imports torch."""
    return tuple(_builtin(name) for name in _BUILTINS)


def adapter_names() -> tuple[str, ...]:
    """The names of the adapters of other frameworks, installed or not."""
    return tuple(_ADAPTERS)


def offered_names() -> tuple[str, ...]:
    """The names of the subjects that installed packages offer, sorted."""
    return tuple(sorted(metadata.entry_points(group=ENTRY_POINTS).names))


def load(name: str, kind: Kind | str | None = None) -> Subject:
    """The subject that `name` stands for.

    `name` is that of a built-in or an adapter, one that an installed package offers (an entry point
    of the group `neuron_harness.subjects`), `package.module:attribute`, or
    `path/to/file.py:attribute`; the attribute may be dotted. Modules are looked for in the working
    directory too, after the rest of `sys.path`, and a file may import the files beside it. The
    attribute is a callable, an `nn.Module` (an instance, or a class that needs no arguments), a
    `torch.autograd.Function` class, or a `Subject` with its own declarations.

    `kind` is the signature of the attribute: what it declares, or else a neuron, unless said. What
    has a kind already, as a built-in, a `Subject` and what declares one have, `kind` may repeat but
    not contradict. What the pyproject.toml around the working directory declares of a subject goes
    before what its code declares; of built-ins and adapters it declares nothing.

    Raises SubjectImportError if the module, file or attribute cannot be imported, and its base
    SubjectError if the name is unknown or malformed, or stands for something unfit; UsageError for
    a bad declaration.
    """
    wanted = _kind(kind)
    if name in _BUILTINS:
        return _of_kind(_builtin(name), wanted)
    if name in _ADAPTERS:
        return _of_kind(_adapter(name), wanted)
    declared = declared_in_project(name, reserved=(*_BUILTINS, *_ADAPTERS))
    place, colon, attribute = name.rpartition(":")
    if place and colon and attribute:
        module = _from_file(name, place) if _is_file(place) else _from_module(name, place)
        found = _attribute(name, module, attribute)
    else:
        found = _offered(name)
    if declared is None:
        return from_object(found, wanted, name=name)
    return declared.of(from_object(found, wanted or declared.kind, name=name))


def from_object(found: Any, kind: Kind | str | None = None, *, name: str | None = None) -> Subject:
    """The subject that an object is: a callable, an `nn.Module`, a `torch.autograd.Function` class,
    or a `Subject`, which keeps its own name.

    `kind` is as for `load`. `name` is the subject's, by default the object's own: module:name of
    a function or class, and the type's name of an instance. Raises SubjectError for another object.
    """
    wanted = _kind(kind)
    if isinstance(found, Subject):
        return _of_kind(found, wanted)
    name = _own_name(found) if name is None else name
    declared = declared_of(found) or Declaration()
    function = _callable(name, found)
    subject = declared.of(Subject(name, declared.kind or wanted or Kind.NEURON, function))
    return _of_kind(subject, wanted)


def _own_name(found: Any) -> str:
    named = found if hasattr(found, "__qualname__") else type(found)
    return f"{named.__module__}:{named.__qualname__}"


def _builtin(name: str) -> Subject:
    subject: Subject = importlib.import_module(_BUILTINS[name]).SUBJECT
    return subject


def _adapter(name: str) -> Subject:
    module, attribute, package = _ADAPTERS[name]
    try:
        subject: Subject = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise _failed_import(name, module, error) from error
        raise SubjectImportError(
            f"{name!r} needs {package}, which is not installed; expected the extra `{package}`; "
            f"pip install 'neuron-harness[{package}]'"
        ) from None
    except Exception as error:
        raise _failed_import(name, package, error) from error
    return subject


def _offered(name: str) -> Any:
    """What an installed package offers under a name."""
    points = tuple(metadata.entry_points(group=ENTRY_POINTS, name=name))
    if not points:
        raise SubjectError(_unknown(name))
    if len({point.value for point in points}) > 1:
        raise SubjectError(
            f"{name!r} is offered by several installed packages, as "
            f"{' and '.join(sorted(point.value for point in points))}; expected one; name it as "
            "package.module:attribute"
        )
    try:
        return points[0].load()
    except UsageError as error:
        raise SubjectError(f"{name!r}: {error}") from None
    except (Exception, SystemExit) as error:
        raise _failed_import(name, points[0].value, error) from error


def _kind(kind: Kind | str | None) -> Kind | None:
    if kind is None:
        return None
    try:
        return Kind(kind)
    except ValueError:
        raise SubjectError(
            f"{kind!r} is not a kind of subject; expected {', '.join(Kind)}"
            f"{_suggestion(kind, tuple(Kind))}"
        ) from None


def _of_kind(subject: Subject, wanted: Kind | None) -> Subject:
    if wanted not in (None, subject.kind):
        raise SubjectError(
            f"{subject.name!r} is of kind {subject.kind}, not {wanted}; expected its own kind; "
            f"leave the kind out, or say {subject.kind}"
        )
    return subject


def _unknown(name: str) -> str:
    message = f"{name!r} is not a subject; expected {_FORMS}"
    suggestion = _suggestion(name, (*builtin_names(), *adapter_names(), *offered_names()))
    if suggestion:
        return message + suggestion
    if name.endswith(":"):
        return f"{message}; add the attribute's name after the colon"
    if _is_file(name) or "." in name:
        return f"{message}; add a colon and the attribute's name, as in {name}:neuron"
    return f"{message}; the built-ins are {', '.join(_BUILTINS)}"


def _suggestion(name: str, names: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name.lower().replace("_", "-"), names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def is_file_name(name: str) -> bool:
    """Whether a subject's name is of the form path/to/file.py:attribute."""
    place, colon, _ = name.rpartition(":")
    return bool(colon) and name not in _BUILTINS and _is_file(place)


def _is_file(place: str) -> bool:
    separators = (os.sep, os.altsep or os.sep)
    return place.endswith(".py") or any(separator in place for separator in separators)


def _from_module(name: str, place: str) -> ModuleType:
    if not all(part.isidentifier() for part in place.split(".")):
        raise SubjectError(
            f"{name!r} does not name a module before its colon; expected {_FORMS}; "
            "write the module's name with dots"
        )
    working_directory = os.getcwd()
    # A console script does not look in the working directory; left on the path, because a module
    # may import others when it is called.
    if not {"", working_directory} & set(sys.path):
        sys.path.append(working_directory)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise SubjectImportError(
                f"{name!r} cannot be imported: there is no module {error.name!r}; expected one on "
                "sys.path or in the working directory; install it, or give the path of its file"
            ) from error
        raise _failed_import(name, place, error) from error
    except UsageError as error:
        raise SubjectError(f"{name!r}: {error}") from None
    except (Exception, SystemExit) as error:
        raise _failed_import(name, place, error) from error


def _from_file(name: str, place: str) -> ModuleType:
    path = Path(place).expanduser()
    if not path.is_file():
        raise SubjectImportError(
            f"{name!r} cannot be imported: {place} is not a file; expected a Python file; "
            f"check the path, which is taken from {os.getcwd()}"
        )
    path = path.resolve()
    try:
        return _execute(path)
    except UsageError as error:
        raise SubjectError(f"{name!r}: {error}") from None
    except (Exception, SystemExit) as error:
        raise _failed_import(name, place, error) from error


def _execute(path: Path) -> ModuleType:
    """The module of a file, executed once for each state of the file.

    Once, because two attributes of one file must see one module, and because operators can be
    registered with torch only once; again after an edit, so that it is never judged stale.
    """
    state = path.stat()
    key = f"{path}\0{state.st_mtime_ns}\0{state.st_size}".encode()
    module_name = f"_subject_{path.stem}_{hashlib.sha256(key).hexdigest()[:16]}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} has no suffix of a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        with _importable(path.parent):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


@contextmanager
def _importable(directory: Path) -> Iterator[None]:
    """Put `directory` first on sys.path, as running a file in it would."""
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        if str(directory) in sys.path:
            sys.path.remove(str(directory))


def _failed_import(name: str, place: str, error: BaseException) -> SubjectImportError:
    return SubjectImportError(
        f"{name!r} cannot be imported: {place} raised {one_line(error)}; expected an import "
        "without an error; import it in Python to see the traceback"
    )


def _attribute(name: str, module: ModuleType, attribute: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = tuple(each for each in dir(found) if not each.startswith("_"))
            raise SubjectImportError(
                f"{name!r} cannot be imported: {_owner(found)} has no attribute {part!r}; "
                f"expected the name of a callable{_nearest(part, names)}"
            ) from None
    return found


def _owner(found: Any) -> str:
    if isinstance(found, ModuleType):
        return "the module"
    return found.__name__ if inspect.isclass(found) else f"a {type(found).__name__}"


def _nearest(name: str, names: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else "; check its spelling"


def _callable(name: str, found: Any) -> Callable[..., Any]:
    import torch

    if inspect.isclass(found):
        if issubclass(found, torch.autograd.Function):
            function: Callable[..., Any] = found.apply
            return function
        if not issubclass(found, torch.nn.Module):
            raise SubjectError(
                f"{name!r} is a class; expected a callable, an nn.Module or an "
                "autograd.Function; name a function or an instance"
            )
        try:
            found = found()
        except Exception as error:
            raise SubjectError(
                f"{name!r} is an nn.Module class that cannot be made without arguments "
                f"({one_line(error)}); expected one that can; name an instance instead"
            ) from error
    if not callable(found):
        raise SubjectError(
            f"{name!r} is of type {type(found).__name__}, which cannot be called; expected a "
            "callable, an nn.Module or an autograd.Function; name one of those"
        )
    result: Callable[..., Any] = found
    return result
