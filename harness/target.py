"""One subject in one dtype on one device: what every plan is about."""

from __future__ import annotations

from harness.case import format_of
from harness.errors import CannotVerify, UsageError
from harness.subjects import Kind, Subject
from reference.formats import Format


class Target:
    """The kind and format of a plan with a subject and a dtype."""

    __slots__ = ()

    subject: Subject
    dtype: str

    @property
    def kind(self) -> Kind:
        """The kind of the subject."""
        return self.subject.kind

    @property
    def format(self) -> Format:
        """The format of the dtype."""
        return format_of(self.dtype)


def require_target(subject: Subject, dtype: str, device: str) -> Format:
    """The format of `dtype`.

    Raises UsageError if there is no such dtype; CannotVerify if the subject does not support it, or
    not the device.
    """
    try:
        format = format_of(dtype)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for name, wanted, supported in (
        ("dtype", dtype, subject.dtypes),
        ("device", device, subject.devices),
    ):
        if supported is not None and wanted not in supported:
            raise CannotVerify(
                f"{subject.name} does not support {wanted}; expected one of "
                f"{', '.join(supported)}; choose with --{name}"
            )
    return format
