"""Cells whose mechanism uses no budget: they have no parameter for ε, δ or how these are counted, and stand for all values."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from dpbench.records.cell_record import CellRecord

BUDGET_KEYS = ("epsilon", "delta", "budget", "accounting")
"""The keys of a cell's budget."""


def spread(cells: Sequence[CellRecord], keys: Collection[str] = BUDGET_KEYS) -> list[CellRecord]:
    """Return the cells, each one without a budget as its :func:`copies`; it stays as it is if there are none."""
    return [copy for cell in cells for copy in (list(copies(cell, cells, keys)) or [cell])]


def copies(cell: CellRecord, cells: Sequence[CellRecord], keys: Collection[str] = BUDGET_KEYS) -> Iterator[CellRecord]:
    """Yield a cell without a budget under each budget that other cells have: those of its place, or, if it has none, all others.

    A figure against ε draws such a cell at every ε, and a claim compares it at every ε. ``keys`` are the parameters that
    the copies get.
    """
    if cell.epsilon is not None:
        return
    others = [other for other in cells if other.epsilon is not None]
    place = _place(cell)
    budgets = [_budget(other, keys) for other in others if _place(other) == place] or [_budget(other, keys) for other in others]
    for budget in dict.fromkeys(budgets):
        yield replace(cell, params={**cell.params, **dict(budget)})


def _budget(cell: CellRecord, keys: Collection[str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, cell.params[key]) for key in BUDGET_KEYS if key in keys and key in cell.params)


def _place(cell: CellRecord) -> Mapping[str, str]:
    """Return the parameters that are neither the mechanism's nor the budget's."""
    return {key: text for key, text in cell.params.items() if key.partition(".")[0] not in ("mechanism", *BUDGET_KEYS)}
