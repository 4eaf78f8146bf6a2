"""What every plan is about: a subject, a dtype and a device that go together."""

import pytest

from harness.errors import CannotVerify, UsageError
from harness.subjects import Kind, Subject
from harness.target import require_target
from reference.formats import BFLOAT16

LIMITED = Subject("limited", Kind.NEURON, print, dtypes=("bfloat16",), devices=("cpu",))


def test_the_format_of_the_dtype() -> None:
    """Of any dtype where the subject names none."""
    assert BFLOAT16 == require_target(LIMITED, "bfloat16", "cpu")
    assert BFLOAT16 == require_target(Subject("any", Kind.NEURON, print), "bfloat16", "cuda")


@pytest.mark.parametrize(
    ("dtype", "device", "error", "message"),
    [
        ("half", "cpu", UsageError, "unknown dtype 'half'"),
        ("float16", "cpu", CannotVerify, "not support float16; expected one of bfloat16; choose w"),
        (
            "bfloat16",
            "cuda",
            CannotVerify,
            "not support cuda; expected one of cpu; choose with --d",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(
    dtype: str, device: str, error: type[Exception], message: str
) -> None:
    """The value, what was expected, the option."""
    with pytest.raises(error, match=message):
        require_target(LIMITED, dtype, device)
