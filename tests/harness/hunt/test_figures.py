"""The statistics of scattered inputs."""

from collections import Counter

import numpy as np
import torch

from harness.hunt.evaluate import Evaluator
from harness.hunt.figures import Figures
from harness.hunt.plan import make_plan
from harness.hunt.strata import segments
from harness.subjects import Kind, Subject


def test_scattered_inputs_count_where_they_belong() -> None:
    """Segment by segment the figures are those of its own inputs, the worst among them."""
    plan = make_plan(Subject("tanh", Kind.ACTIVATION, torch.tanh), dtype="float32")
    evaluator = Evaluator(plan)
    figures = Figures(evaluator.sweep, evaluator.quantities)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 12_000, dtype=np.uint64).astype(np.uint32)
    errors: dict[tuple[int, int], float] = {}
    for part in np.split(bits, 3):
        evaluated = evaluator(part)
        figures.add(evaluated)
        for index, pattern in enumerate(part):
            for row in (0, 1):
                errors[row, int(pattern)] = float(evaluated.scores[row, index])
    summary = figures.summary()
    table = segments(plan.kind, plan.format)
    counts = Counter(table.index(int(pattern) & 0x7FFFFFFF) for pattern in bits)
    assert counts == {group: both[0].points for group, both in summary.segments.items()}
    for group, both in summary.segments.items():
        inside = [each for each in bits if table.index(int(each) & 0x7FFFFFFF) == group]
        for row, statistics in enumerate(both):
            assert statistics.max_ulp == max(errors[row, int(each)] for each in inside)
            if statistics.max_ulp:
                magnitude, side = evaluator.sweep.place(statistics.worst)
                assert table.all[group].start <= magnitude < table.all[group].stop
                assert statistics.max_ulp == errors[row, magnitude | side << 31]
    for row, worst in enumerate(summary.worst):
        sizes = sorted((errors[row, int(each)] for each in bits), reverse=True)
        assert sizes[:10] == [entry.size for entry in worst]
