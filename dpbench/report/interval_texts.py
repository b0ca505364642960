"""What a reader must know of the intervals of coefficients, in sentences that the cells recorded."""

from collections.abc import Callable, Iterable

from dpbench.records.cell_record import CellRecord, label
from dpbench.records.names import INTERVAL_METHOD, INTERVALS
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import group_by, listed

KEYS = "inference."
"""Begins the keys of the command that say which intervals are made."""


def has_intervals(cell: CellRecord) -> bool:
    return INTERVAL_METHOD in cell.tags


def asks_for_intervals(sweep: SweepRecord) -> bool:
    """Return whether a key of the intervals was typed, or varied: then intervals are a part of the printed answer."""
    typed = any(text.lstrip("+~").startswith(KEYS) for text in sweep.overrides)
    return typed or any(key.startswith(KEYS) for cell in sweep.cells for key in cell.params)


def interval_sentences(cells: Iterable[CellRecord], name: Callable[[CellRecord], str] = label) -> list[str]:
    """Return what the cells recorded of their intervals: first what is true of all, the rest after the names that it is about.

    A sentence must be true of every cell of a name: what differs along ε is in the table.
    """
    groups = group_by((cell for cell in cells if INTERVALS in cell.tags), name)
    parts = {text: [cell.tags[INTERVALS].splitlines() for cell in group] for text, group in groups.items()}
    common = {text: [part for part in first if all(part in other for other in rest)] for text, (first, *rest) in parts.items()}
    sentences = dict.fromkeys(sentence for own in common.values() for sentence in own)
    by_owners = group_by(sentences, lambda sentence: tuple(text for text, own in common.items() if sentence in own))
    shared = by_owners.pop(tuple(common), [])
    return [*([" ".join(shared)] if shared else []), *(f"{listed(own, most=6)}: {' '.join(t)}" for own, t in by_owners.items())]
