"""Select cells by their parameters, and bring those together that a claim compares."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpbench.records.budget_free import BUDGET_KEYS, copies
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
    """Return the finished cells that match all of the selection. A cell without a budget matches every ε and δ."""
    return [row for row in rows if row.done and all(_has(row, key, value) for key, value in selection.items())]


def _has(row: CellRecord, key: str, value: Any) -> bool:
    parameter = _parameter(row, key)
    return (parameter is None and key in BUDGET_KEYS) or matches(parameter, value)


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


def matches(value: str | None, wanted: Any) -> bool:
    """Return whether a parameter's text is what is wanted: a value, one of several, or a comparison such as '>= 0.8'."""
    if isinstance(wanted, (list, tuple)):
        return any(matches(value, choice) for choice in wanted)
    if value is None:
        return wanted is None
    text, number = str(wanted), _number(value)
    for sign, compare in COMPARISONS.items():
        if text.startswith(sign):
            limit = _number(text.removeprefix(sign))
            return number is not None and limit is not None and bool(compare(number, limit))
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

    Two curves are at the same place when they differ only in what ``other`` names; another mechanism has other options. A cell
    without a budget is at the place of every ε, though two of them are compared only once.
    """
    keys = (*other, *(["mechanism."] if "mechanism" in other else []), along)
    made = [copy for row in rows for copy in copies(row, rows)]
    copied = set(map(id, made))
    opponents = curves([*rows, *made], other, along)
    for curve in curves([*rows, *made], first, along):
        for opponent in opponents:
            both_copied = id(curve[0]) in copied and id(opponent[0]) in copied
            if not both_copied and opponent != curve and _place_key(curve[0], keys) == _place_key(opponent[0], keys):
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
    more = ["epsilon", *more] if row.epsilon is not None else more
    return ", ".join(filter(None, [text, *(setting(key, row.params[key]) for key in more if key not in without)]))


def mechanism_of(row: CellRecord, without: Sequence[str] = ()) -> str:
    """Return the mechanism with the options that the sweep varied."""
    return label(replace(row, params={key: value for key, value in row.params.items() if key not in without}))
