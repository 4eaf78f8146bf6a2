"""By what name the command line finds a subject that was given as an object."""

from __future__ import annotations

from importlib.machinery import PathFinder

from harness.subjects import Subject, SubjectError, load


def locator(subject: Subject) -> str | None:
    """The name that `load` takes for `subject` in another process; None if there is none.

    None too where the name stands for something else than the object: for a local function, a
    lambda, an instance with a state of its own, or what a script or a file loaded by path defines.
    """
    module = subject.name.rpartition(":")[0]
    if module and PathFinder.find_spec(module.partition(".")[0]) is None:
        return None
    try:
        found = load(subject.name, subject.kind)
    except SubjectError:
        return None
    return subject.name if found == subject else None
