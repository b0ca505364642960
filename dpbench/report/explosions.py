"""Runs that explode: their error is several times that of a predictor that knows only the mean of the target."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.records.cell_record import CellRecord, label
from dpbench.report.formatting import plural

EXPLOSION_FACTOR = 3
"""A run explodes if its error is more than this many times the mean predictor's error in the same run."""
MAX_NAMED_CELLS = 3
"""A sentence names this many cells, those with the largest errors, and counts the others."""


@dataclass(frozen=True)
class Explosion:
    """How many runs of a cell explode, and how large their errors are."""

    count: int
    runs: int
    largest: float

    @property
    def text(self) -> str:
        return f"{self.count:,} of {plural(self.runs, 'run')}, up to {self.largest:.3g}"


def explosion(cell: CellRecord) -> Explosion | None:
    """Return the explosion of a cell; None if no run explodes, or if the record has no runs."""
    runs = cell.detail.runs
    names = (f"utility/{cell.primary}", f"reference/mean_predictor/{cell.primary}")
    if not all(name in runs for name in names):
        return None
    error, mean_predictor = (np.asarray(runs[name], dtype=float) for name in names)
    exploding = error > EXPLOSION_FACTOR * mean_predictor
    return Explosion(int(exploding.sum()), len(error), float(error[exploding].max())) if exploding.any() else None


def explosion_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return one sentence on the runs of these cells that explode, or none."""
    exploding = [(runs, cell) for cell in cells if cell.done and (runs := explosion(cell))]
    if not exploding:
        return []
    exploding.sort(key=lambda pair: -pair[0].largest)
    several = len({(cell.params["model"], cell.params["dataset"]) for cell in cells}) > 1
    texts = []
    for runs, cell in exploding[:MAX_NAMED_CELLS]:
        problem = f" for {cell.params['model']} on {cell.params['dataset']}" if several else ""
        texts.append(f"{label(cell)}{problem} at ε = {cell.epsilon:g} in {runs.text}")
    if (more := len(exploding) - MAX_NAMED_CELLS) > 0:
        texts.append(f"and {plural(more, 'more cell')}")
    return [
        f"Runs explode (an error above {EXPLOSION_FACTOR} times the mean predictor's in the same run), which the median hides "
        f"and a mean does not: {'; '.join(texts)}."
    ]
