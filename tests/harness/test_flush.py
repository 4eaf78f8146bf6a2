"""Detecting and suspending flush-to-zero."""

import ctypes
import platform
import subprocess
import sys

import pytest
import torch

from harness.flush import Flushing, flushes_subnormals, flushing, subnormals_kept
from tests.flushed import in_flushing_thread

KEPT = Flushing(results=False, operands=False)
FLUSHED = Flushing(results=True, operands=True)


def test_a_plain_thread_keeps_subnormals() -> None:
    """The state in which Python starts."""
    assert flushing() == KEPT
    assert not flushes_subnormals()


def test_flush_to_zero_is_detected() -> None:
    """As torch sets it: operands and results."""
    assert in_flushing_thread(flushing) == FLUSHED
    assert in_flushing_thread(flushes_subnormals)


def test_subnormals_are_kept_inside_and_flushed_again_after() -> None:
    """The context manager restores what it found."""

    def visit() -> list[Flushing]:
        with subnormals_kept() as found:
            inside = flushing()
        return [found, inside, flushing()]

    assert [FLUSHED, KEPT, FLUSHED] == in_flushing_thread(visit)


def test_the_setting_is_restored_after_an_exception() -> None:
    """Also when the work inside fails."""

    def visit() -> Flushing:
        with pytest.raises(ZeroDivisionError), subnormals_kept():
            _ = 1 / 0
        return flushing()

    assert in_flushing_thread(visit) == FLUSHED


def test_flushing_set_inside_is_undone() -> None:
    """Restored as found works in this direction too."""
    with subnormals_kept() as found:
        torch.set_flush_denormal(True)
    assert found == KEPT
    assert flushing() == KEPT


def test_torch_that_cannot_switch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and the work inside does not run."""

    def visit() -> str:
        with monkeypatch.context() as patch:
            patch.setattr(torch, "set_flush_denormal", lambda flush: False)
            with pytest.raises(RuntimeError, match="run in a process") as caught, subnormals_kept():
                pytest.fail("ran with subnormals flushed")
        return str(caught.value)

    message = in_flushing_thread(visit)
    assert message.startswith("subnormal operands and results are flushed to zero in this thread")
    assert "\n" not in message


_MXCSR_OFFSET = 28  # in glibc's fenv_t on x86-64
_FLUSH_RESULTS = 1 << 15


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="sets the processor's flush-to-zero bit alone through glibc's fenv_t on x86-64",
)
def test_results_alone_are_told_apart_and_not_silently_changed() -> None:
    """torch cannot restore flush-to-zero without denormals-are-zero: a warning says so."""
    libm = ctypes.CDLL("libm.so.6")

    def visit() -> Flushing:
        environment = ctypes.create_string_buffer(32)
        libm.fegetenv(environment)
        control = int.from_bytes(environment[_MXCSR_OFFSET:], "little") & ~(1 << 6)
        environment[_MXCSR_OFFSET:] = (control | _FLUSH_RESULTS).to_bytes(4, "little")
        libm.fesetenv(environment)
        with (
            pytest.warns(RuntimeWarning, match="could not restore it"),
            subnormals_kept() as found,
        ):
            assert flushing() == KEPT
        return found

    assert Flushing(results=True, operands=False) == in_flushing_thread(visit)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (KEPT, "subnormals are kept"),
        (FLUSHED, "subnormal operands and results are flushed to zero"),
        (Flushing(results=True, operands=False), "subnormal results are flushed to zero"),
        (Flushing(results=False, operands=True), "subnormal operands are flushed to zero"),
    ],
    ids=str,
)
def test_the_state_in_words(state: Flushing, words: str) -> None:
    """For reports."""
    assert words == str(state)
    assert (state != KEPT) == bool(state)


def test_detection_needs_no_torch() -> None:
    """Neither does keeping what is kept anyway."""
    script = (
        "import sys; from harness.flush import flushing, subnormals_kept\n"
        "with subnormals_kept() as found: print(bool(found), 'torch' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "False False" == output.strip()
