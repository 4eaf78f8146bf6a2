"""What the markers of a test ask of a verification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import pytest
import torch

from harness.case import DTYPES


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `harness.verify` that a test may set; None for those it leaves alone."""

    dtypes: tuple[str, ...] | None = None
    devices: tuple[str, ...] | None = None
    kind: str | None = None
    require: str | None = None
    examples: int | None = None
    seed: int | None = None
    activation_ulps: float | None = None
    strict_laws: bool = False
    second_order: str | None = None


def options_of(markers: Iterable[pytest.Mark]) -> Options:
    """The options of a test: of its own marker first, then of its class's and its module's.

    Raises pytest.UsageError for an argument that does not exist, and one without a name.
    """
    known = [each.name for each in fields(Options)]
    found: dict[str, Any] = {}
    for marker in markers:
        for name in marker.kwargs:
            if name not in known:
                raise pytest.UsageError(
                    f"the marker neuron has no argument {name!r}; expected some of "
                    f"{', '.join(known)}; correct its name"
                )
        if marker.args:
            raise pytest.UsageError(
                f"the marker neuron was given {marker.args[0]!r} without a name; expected "
                f"name=value with some of {', '.join(known)}"
            )
        found = {**marker.kwargs, **found}
    for name in ("dtypes", "devices"):
        if isinstance(found.get(name), str):
            found[name] = (found[name],)
        if found.get(name) is not None:
            found[name] = tuple(map(str, found[name]))
    return Options(**found)


def places(options: Options) -> list[tuple[str, str]]:
    """Each dtype with each device: those asked for, else all dtypes, and the devices there are.

    Raises pytest.UsageError for a dtype that does not exist.
    """
    for dtype in options.dtypes or ():
        if dtype not in DTYPES:
            raise pytest.UsageError(
                f"the marker neuron names the dtype {dtype!r}; expected some of {', '.join(DTYPES)}"
            )
    devices = options.devices or ("cpu", *(("cuda",) if torch.cuda.is_available() else ()))
    return [(dtype, device) for device in devices for dtype in options.dtypes or DTYPES]
