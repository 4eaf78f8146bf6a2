"""The compiled subjects: what they compile they agree with; without a compiler they say why not."""

from __future__ import annotations

import sys

import pytest
import torch
from torch._inductor import cpp_builder
from torch._inductor.exc import InvalidCxxCompiler

from harness.subjects import SubjectError, load
from harness.subjects.accurate import accurate
from harness.subjects.textbook import textbook

ORIGINALS = {"fused": textbook, "accurate": accurate}


def has_compiler() -> bool:
    """Whether torch.compile would find one."""
    try:
        cpp_builder.get_cpp_compiler()
    except InvalidCxxCompiler:
        return False
    return True


def test_without_a_compiler_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import error of one line, with the remedy."""

    def missing() -> str:
        raise InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", missing)
    monkeypatch.delitem(sys.modules, "harness.subjects.compiled", raising=False)
    with pytest.raises(SubjectError, match=r"found no C\+\+ compiler; install g\+\+"):
        load("harness.subjects.compiled:fused")


@pytest.mark.slow
@pytest.mark.skipif(not has_compiler(), reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ORIGINALS)
def test_compiled_is_what_it_compiles(name: str) -> None:
    """Several lengths by one piece of code, empty too; mismatches are still an error."""
    subject = load(f"harness.subjects.compiled:{name}")
    for n in (5, 0, 1, 100):
        x, w = torch.randn(2, n, generator=torch.Generator().manual_seed(n))
        given = x, w, torch.tensor(0.25), torch.tensor(-1.5)
        for expected, result in zip(ORIGINALS[name](*given), subject.function(*given), strict=True):
            torch.testing.assert_close(result, expected)
    with pytest.raises(ValueError, match="weights has length 2; expected 3"):
        subject.function(torch.ones(3), torch.ones(2), torch.ones(()), torch.ones(()))
