"""Select cells by their parameters, and bring those together that a claim compares."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.report.labels import setting

COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}  # longer signs first
UNNAMED_KEYS = ("mechanism", "model", "dataset", "attack", "epsilon")
"""Parameters that :func:`place_of` writes without their names, or leaves out."""

Curve = Sequence[CellRecord]
"""Cells in the order of one numeric parameter, or a single cell."""
Selection = Mapping[str, Any]
"""Parameters and metrics, and what they must be: a value, a list of values, or a comparison such as '>= 0.8'."""


def select_cells(rows: Sequence[CellRecord], selection: Selection) -> list[CellRecord]:
    """Return the finished cells that match all of the selection."""
    return [row for row in rows if row.done and all(_matches(_parameter(row, key), value) for key, value in selection.items())]


def _parameter(row: CellRecord, key: str) -> str | None:
    """Return a parameter as text, from the configuration where the sweep did not vary it; or a metric, by its slash."""
    if key in row.params:
        return row.params[key]
    if "/" in key:
        return None if (value := row.metric(key)) is None else repr(value)
    node: Any = row.detail.config
    for part in key.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return None if node is None or isinstance(node, Mapping) else str(node)


def _matches(value: str | None, wanted: Any) -> bool:
    if isinstance(wanted, (list, tuple)):
        return any(_matches(value, choice) for choice in wanted)
    if value is None:
        return wanted is None
    text, number = str(wanted), _number(value)
    for sign, compare in COMPARISONS.items():
        if text.startswith(sign):
            return number is not None and bool(compare(number, float(text.removeprefix(sign))))
    other = _number(text)
    return value.lower() == text.lower() if number is None or other is None else number == other


def _number(value: str | None) -> float | None:
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None


def curves(rows: Sequence[CellRecord], cells: Selection, along: str) -> list[Curve]:
    """Group cells that differ only in one numeric parameter, in its order; without a parameter, every cell is a curve.

    With a parameter, a cell that differs from no other is left out.
    """
    selected = select_cells(rows, cells)
    if not along:
        return [[row] for row in selected]
    groups: dict[object, list[CellRecord]] = {}
    for row in selected:
        if _number(row.params.get(along)) is not None:
            groups.setdefault(_place_key(row, (along,)), []).append(row)
    return [sorted(group, key=lambda row: float(row.params[along])) for group in groups.values() if len(group) > 1]


def pairs(rows: Sequence[CellRecord], first: Selection, other: Selection, along: str) -> Iterator[tuple[Curve, Curve]]:
    """Yield each of the first curves with each of the others at the same place.

    Two curves are at the same place when they differ only in what ``other`` names; another mechanism has other options.
    """
    keys = (*other, *(["mechanism."] if "mechanism" in other else []), along)
    opponents = curves(rows, other, along)
    for curve in curves(rows, first, along):
        for opponent in opponents:
            if opponent != curve and _place_key(curve[0], keys) == _place_key(opponent[0], keys):
                yield curve, opponent


def _place_key(row: CellRecord, without: Sequence[str]) -> object:
    """Return the parameters that make a place, leaving some out; ``mechanism.`` stands for all options of mechanisms."""
    groups = tuple(key for key in without if key.endswith("."))
    return frozenset((key, value) for key, value in row.params.items() if key not in without and not key.startswith(groups))


def setting_key(row: CellRecord) -> object:
    """Return what the cells of all mechanisms at one place have in common: every parameter that is not the mechanism's."""
    return _place_key(row, ("mechanism", "mechanism."))


def place_of(row: CellRecord, without: Sequence[str] = ()) -> str:
    """Return a cell's place in words: model, dataset, ε, and the swept options that are not the mechanism's."""
    text = " on ".join(row.params[key] for key in ("model", "dataset") if key not in without)
    more = [key for key in distinguishing_params([row]) if key not in UNNAMED_KEYS and not key.startswith("mechanism.")]
    return ", ".join(filter(None, [text, *(setting(key, row.params[key]) for key in ("epsilon", *more) if key not in without)]))


def mechanism_of(row: CellRecord, without: Sequence[str] = ()) -> str:
    """Return the mechanism with the options that the sweep varied."""
    return label(replace(row, params={key: value for key, value in row.params.items() if key not in without}))
