"""Sentences about what a reader must know of a sweep's cells: leaks, missing weights, clipped targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord
from dpbench.records.leaks import UNPROVEN_NOISE

MIN_CLIPPED_SHARE = 0.01
"""Tables with a larger share of clipped targets get a warning."""


def leak_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for everything that leaked, and for noise without a proof, with the number of cells."""
    sentences = []
    for leak, count in Counter(leak for cell in cells if cell.done for leak in cell.leaks).items():
        word, name = ("UNPROVEN", "") if leak.what == UNPROVEN_NOISE.what else ("LEAKS", f"{leak.what}: ")
        sentences.append(f"{word} in {count} cell{'s' * (count > 1)}: {name}{leak.why}.")
    return sentences


def missing_weights(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for each mechanism some of whose runs gave no weights: its numbers are over the others."""
    return [
        f"{name}: up to {rate:.0%} of the runs of a cell gave no finite weights and are left out."
        for name, rate in _largest(cells, "mechanism", "health/not_finite").items()
        if rate > 0
    ]


def clipped_targets(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for each table with many targets outside the declared bounds."""
    return [
        f"{name}: {rate:.0%} of the targets lie outside the declared bounds and are clipped to them; errors are measured against "
        "the clipped targets."
        for name, rate in _largest(cells, "dataset", "health/target_clipped").items()
        if rate > MIN_CLIPPED_SHARE
    ]


def _largest(cells: Sequence[CellRecord], param: str, metric: str) -> dict[str, float]:
    """Return the largest value of a metric for each value of a parameter."""
    largest: dict[str, float] = {}
    for cell in cells:
        name = cell.params[param]
        largest[name] = max(cell.metrics.get(metric, 0.0), largest.get(name, 0.0))
    return largest
