"""Runs that failed or explode: a predictor that knows only the mean of the target is as good, or several times better."""

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
        texts.append(f"{_place(cell, several)} in {runs.text}")
    if (more := len(exploding) - MAX_NAMED_CELLS) > 0:
        texts.append(f"and {plural(more, 'more cell')}")
    return [
        f"Runs explode (an error above {EXPLOSION_FACTOR} times the mean predictor's in the same run), which the median hides "
        f"and a mean does not: {'; '.join(texts)}."
    ]


def failed_sentences(cells: Sequence[CellRecord], *, several: bool) -> list[str]:
    """Return one sentence on the runs of these cells that lost everything, or none; ``several``: they are of several problems."""
    failed = sorted((cell for cell in cells if cell.failed_share > 0), key=lambda cell: -cell.failed_share)
    if not failed:
        return []
    texts = [f"{_place(cell, several)} in {100 * cell.failed_share:.2g} % of the runs" for cell in failed[:MAX_NAMED_CELLS]]
    if (more := len(failed) - MAX_NAMED_CELLS) > 0:
        texts.append(f"and {plural(more, 'more cell')}")
    return [
        "Runs lost everything, which the median hides: predicting the same for everybody would be at least as good. "
        f"{'; '.join(texts)}."
    ]


def _place(cell: CellRecord, several: bool) -> str:
    """Return a cell's mechanism and ε, with its problem if there are several."""
    problem = f" for {cell.params['model']} on {cell.params['dataset']}" if several else ""
    return f"{label(cell)}{problem}" + ("" if cell.epsilon is None else f" at ε = {cell.epsilon:g}")


def _may_explode(cell: CellRecord) -> bool:
    """Return whether runs of a cell explode, as far as its metrics tell without its runs, which take longer to read."""
    return cell.metrics.get(EXPLODING, math.inf) > 0


def _largest(cell: CellRecord) -> float:
    """Return the largest error of a run that explodes; 0 if none does."""
    if LARGEST_EXPLOSION in cell.metrics:
        return cell.metrics[LARGEST_EXPLOSION]
    runs = explosion(cell)
    return runs.largest if runs else 0.0
