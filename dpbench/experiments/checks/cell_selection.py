"""Pick cells by their parameters, and bring those together that a claim compares."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.report.figures.naming import setting

COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
LEFT_OUT = ("mechanism", "model", "dataset", "attack", "epsilon")

Picked = Mapping[str, Any]
"""Parameters and what they must be: a value, a list of them, or a comparison such as '>= 0.8'."""


def value_of(row: CellRecord, key: str) -> str | None:
    """A parameter as text, from the configuration where the sweep did not vary it."""
    if key in row.params:
        return row.params[key]
    node: Any = row.detail.config
    for part in key.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return None if node is None or isinstance(node, Mapping) else str(node)


def picked(rows: Sequence[CellRecord], wanted: Picked) -> list[CellRecord]:
    """The finished cells that are all of what is wanted."""
    return [row for row in rows if row.done and all(_is(value_of(row, key), value) for key, value in wanted.items())]


def _is(value: str | None, wanted: Any) -> bool:
    if isinstance(wanted, (list, tuple)):
        return any(_is(value, one) for one in wanted)
    if value is None:
        return wanted is None
    text = str(wanted)
    for sign, holds in COMPARISONS.items():
        if text.startswith(sign):
            number = number_of(value)
            return number is not None and bool(holds(number, float(text.removeprefix(sign))))
    number, other = number_of(value), number_of(text)
    return value.lower() == text.lower() if number is None or other is None else number == other


def number_of(value: str | None) -> float | None:
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None


def pairs(rows: Sequence[CellRecord], first: Picked, other: Picked) -> Iterator[tuple[CellRecord, CellRecord]]:
    """Each of the first cells with each of the others at the same place.

    Two cells are at the same place when they differ in nothing but what ``other`` names; another mechanism has other options.
    """
    apart = _apart(other)
    for row in picked(rows, first):
        for beside in picked(rows, other):
            if beside is not row and _place(row, apart) == _place(beside, apart):
                yield row, beside


def curves(rows: Sequence[CellRecord], cells: Picked, along: str) -> list[list[CellRecord]]:
    """The cells in groups that differ in nothing but one numeric parameter, each in its order; a single cell is no curve."""
    groups: dict[tuple[tuple[str, str], ...], list[CellRecord]] = {}
    for row in picked(rows, cells):
        if number_of(row.params.get(along)) is not None:
            groups.setdefault(_place(row, (along,)), []).append(row)
    return [sorted(group, key=lambda row: float(row.params[along])) for group in groups.values() if len(group) > 1]


def paired_curves(
    rows: Sequence[CellRecord], first: Picked, other: Picked, along: str
) -> Iterator[tuple[list[CellRecord], list[CellRecord]]]:
    """Each of the first curves with each of the others at the same place."""
    apart = (*_apart(other), along)
    others = curves(rows, other, along)
    for curve in curves(rows, first, along):
        for beside in others:
            if beside != curve and _place(curve[0], apart) == _place(beside[0], apart):
                yield curve, beside


def _apart(other: Picked) -> tuple[str, ...]:
    return (*other, "mechanism.") if "mechanism" in other else tuple(other)


def _place(row: CellRecord, apart: Sequence[str]) -> tuple[tuple[str, str], ...]:
    options = tuple(key for key in apart if key.endswith("."))
    return tuple(sorted((key, value) for key, value in row.params.items() if key not in apart and not key.startswith(options)))


def place(row: CellRecord, without: Sequence[str] = ()) -> str:
    """Where a cell is, in words: the model, the dataset, ε, and the swept options that are not the mechanism's, but for some."""
    text = " on ".join(row.params[key] for key in ("model", "dataset") if key not in without)
    more = [key for key in distinguishing_params([row]) if key not in LEFT_OUT and not key.startswith("mechanism.")]
    return ", ".join(filter(None, [text, *(setting(key, row.params[key]) for key in ("epsilon", *more) if key not in without)]))


def named(row: CellRecord, without: Sequence[str] = ()) -> str:
    """The mechanism with the options that the sweep varied, but for some."""
    return label(replace(row, params={key: value for key, value in row.params.items() if key not in without}))
