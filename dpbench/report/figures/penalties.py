"""What a caption says about penalties that were chosen on the private rows."""

from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import PENALTY


def penalty_sentence(cells: Sequence[CellRecord]) -> str:
    """Say which λ cross-validation chose: the range over all runs, and that of the cells' medians."""
    chosen = [cell for cell in cells if cell.metric(PENALTY) is not None]
    if not chosen:
        return ""
    low, high = (pick(cell.metrics[f"{PENALTY}_{end}"] for cell in chosen) for pick, end in ((min, "min"), (max, "max")))
    medians = [cell.metrics[PENALTY] for cell in chosen]
    middle = f"medians of a cell: {min(medians):.3g} to {max(medians):.3g}"
    return f"Cross-validation chose λ from {low:.3g} to {high:.3g} ({middle})."
