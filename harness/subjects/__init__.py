"""Subjects: the implementations under test, built in or a user's own."""

from harness.subjects.registry import (
    SubjectError,
    SubjectImportError,
    builtin_names,
    builtin_subjects,
    load,
)
from harness.subjects.subject import Kind, Stated, Subject, neuron_of

__all__ = [
    "Kind",
    "Stated",
    "Subject",
    "SubjectError",
    "SubjectImportError",
    "builtin_names",
    "builtin_subjects",
    "load",
    "neuron_of",
]
