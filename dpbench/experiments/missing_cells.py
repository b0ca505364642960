"""Which cells a sweep would need for a claim that finds nothing in it."""

from __future__ import annotations

from collections.abc import Sequence

from dpbench.experiments.checks.cell_selection import Picked, picked
from dpbench.experiments.checks.check import Check
from dpbench.records.cell_record import CellRecord

PARTS = ("cells", "against", "over", "under")
"""The options of checks that pick cells."""


def lack(check: Check, rows: Sequence[CellRecord], at: Picked) -> str:
    """What these cells lack for the check, as in 'has no finished cell with mechanism = dpba'."""
    for wanted in ({}, at, *({**at, **getattr(check, part, {})} for part in PARTS)):
        if not picked(rows, wanted):
            return f"has no finished cell{f' with {_said(wanted)}' if wanted else ''}"
    along = getattr(check, "along", None)
    if along is not None:
        return f"has no such cells that differ in nothing but {along}"
    return "has no such cells at the same place, which differ in nothing but what 'against' names"


def _said(wanted: Picked) -> str:
    """What cells must be, in words."""
    texts = {key: " or ".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in wanted.items()}
    return " and ".join(f"{key} {text}" if text.startswith((">", "<")) else f"{key} = {text}" for key, text in texts.items())
