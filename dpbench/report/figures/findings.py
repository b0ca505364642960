"""What a reader of a figure must know about its numbers: fits that are no better than the mean, and chosen penalties."""

from collections.abc import Sequence

import numpy as np

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import PENALTY
from dpbench.report.formatting import group_by
from dpbench.report.labels import problem_title


def sentences_about(cells: Sequence[CellRecord]) -> list[str]:
    """Return the sentences for a caption of these cells."""
    return [*_worse_than_the_mean(cells), *_chosen_penalties(cells)]


def _worse_than_the_mean(cells: Sequence[CellRecord]) -> list[str]:
    """Name the tables on which every median error, that of the non-private fits included, is above the mean predictor's."""
    sentences = []
    for table, group in group_by(cells, lambda cell: problem_title(cell, ("dataset",))).items():
        triples = [(cell.error(), cell.reference("no_privacy"), cell.reference("mean_predictor")) for cell in group]
        known = np.array([triple for triple in triples if None not in triple], dtype=float).reshape(-1, 3)
        lowest, mean = known[:, :2].min(axis=1, initial=np.inf), known[:, 2]
        if len(known) and (lowest > mean).all():
            sentences.append(
                f"On {table} every fit, the one without privacy included, is worse than predicting the mean: "
                f"the least median error is {lowest.min():.3g}, that of the mean {mean[0]:.3g}."
            )
    return sentences


def _chosen_penalties(cells: Sequence[CellRecord]) -> list[str]:
    """Say which penalties cross-validation chose: the range over all runs, and that of the cells' medians."""
    chosen = [cell for cell in cells if cell.metric(PENALTY) is not None]
    if not chosen:
        return []
    low, high = (pick(cell.metrics[f"{PENALTY}_{end}"] for cell in chosen) for pick, end in ((min, "min"), (max, "max")))
    medians = [cell.metrics[PENALTY] for cell in chosen]
    middle = f"medians of a cell: {min(medians):.3g} to {max(medians):.3g}"
    return [f"Cross-validation chose λ from {low:.3g} to {high:.3g} ({middle})."]
