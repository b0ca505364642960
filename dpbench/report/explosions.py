"""Runs that explode: their error is several times that of a predictor that knows only the mean of the target."""

import math
from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord, label
from dpbench.records.explosion import EXPLOSION_FACTOR, Explosion, explosion_of
from dpbench.records.names import EXPLODING, LARGEST_EXPLOSION
from dpbench.report.formatting import plural

MAX_NAMED_CELLS = 3
"""A sentence names this many cells, those with the largest errors, and counts the others."""


def explosion(cell: CellRecord) -> Explosion | None:
    """Return the explosion of a cell; None if no run explodes, or if the record has no runs."""
    return explosion_of(cell.detail.runs, cell.primary) if _may_explode(cell) else None


def explosion_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return one sentence on the runs of these cells that explode, or none."""
    sizes = [(_largest(cell), cell) for cell in cells if cell.done and _may_explode(cell)]
    exploding = sorted((pair for pair in sizes if pair[0] > 0), key=lambda pair: -pair[0])
    if not exploding:
        return []
    several = len({(cell.params["model"], cell.params["dataset"]) for cell in cells}) > 1
    texts = []
    for _, cell in exploding[:MAX_NAMED_CELLS]:
        runs = explosion(cell)
        if runs is None:
            continue
        problem = f" for {cell.params['model']} on {cell.params['dataset']}" if several else ""
        at = "" if cell.epsilon is None else f" at ε = {cell.epsilon:g}"
        texts.append(f"{label(cell)}{problem}{at} in {runs.text}")
    if (more := len(exploding) - MAX_NAMED_CELLS) > 0:
        texts.append(f"and {plural(more, 'more cell')}")
    return [
        f"Runs explode (an error above {EXPLOSION_FACTOR} times the mean predictor's in the same run), which the median hides "
        f"and a mean does not: {'; '.join(texts)}."
    ]


def _may_explode(cell: CellRecord) -> bool:
    """Return whether runs of a cell explode, as far as its metrics tell without its runs, which take longer to read."""
    return cell.metrics.get(EXPLODING, math.inf) > 0


def _largest(cell: CellRecord) -> float:
    """Return the largest error of a run that explodes; 0 if none does."""
    if LARGEST_EXPLOSION in cell.metrics:
        return cell.metrics[LARGEST_EXPLOSION]
    runs = explosion(cell)
    return runs.largest if runs else 0.0
