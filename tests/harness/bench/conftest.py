"""One process that has imported torch for all tests here, and a folder for each side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from harness.bench import runner
from harness.bench.processes import Child, Side, Stem
from harness.bench.workload import Workload, subject_workload

#: A neuron; `{extra}` is what else it does before.
NEURON = """
import torch

def neuron(x, w, b, g):
    {extra}
    y = torch.tanh((x * w).sum() + b)
    d = g * (1 - y * y)
    return y, d * w, d * x, d
"""


class _Shared:
    """A stem that is not closed by who uses it."""

    def __init__(self, stem: Stem) -> None:
        self._stem = stem

    def fork(self, request: Mapping[str, object], patience: float) -> Child:
        return self._stem.fork(request, patience)

    def close(self) -> None:
        """Left to the fixture."""


@pytest.fixture(scope="session")
def _stem() -> Iterator[Stem]:
    with Stem(threads=1) as stem:
        yield stem


@pytest.fixture
def one_stem(_stem: Stem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runners fork from one process: to import torch takes seconds."""
    monkeypatch.setattr(runner, "Stem", lambda *_, **__: _Shared(_stem))


@pytest.fixture
def side(tmp_path: Path) -> Callable[..., Side]:
    """Makes a side with a file `mine.py`: its neuron does `extra` first, its module `on_import`."""

    def make(
        name: str,
        extra: str = "pass",
        on_import: str = "",
        workloads: tuple[Workload, ...] = (subject_workload("mine.py:neuron", "float32", 8),),
        attribute: str = "neuron",
    ) -> Side:
        folder = tmp_path / name
        folder.mkdir()
        text = NEURON.format(extra=extra).replace("def neuron", f"def {attribute}")
        (folder / "mine.py").write_text(f"{on_import}\n{text}", encoding="utf-8")
        return Side(f"the {name} folder", folder, (folder,), workloads)

    return make
