"""A user's declarations of columns, turned into the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.table import Column, Table
from dpbench.files.bounds_file import Bounds, ColumnDeclaration
from dpbench.records.leaks import BOUNDS_FROM_DATA, Leak


def declared_table(
    columns: Mapping[str, ColumnDeclaration],
    target: str,
    bounds: Bounds,
    nulls: tuple[str, ...],
    features: np.ndarray,
    response: np.ndarray,
    leaks: tuple[Leak, ...] = (),
    **facts: Any,
) -> Table:
    """Return a table with these rows, of what is declared; ``nulls`` are the file's codes for a missing value."""
    names = [name for name in columns if name != target]
    column, threshold = _target_column(target, columns[target])
    formats = {name: columns[name].format for name in names}
    return Table(
        tuple(column for name in names for column in columns[name].columns(name)),
        column,
        features,
        response,
        sensitive=tuple(name for name in bounds.sensitive if name in names),
        threshold=bounds.threshold if bounds.threshold is not None else threshold,
        leaks=(*((BOUNDS_FROM_DATA,) if bounds.from_data else ()), *leaks),
        formats={name: replace(form, nulls=(*nulls, *form.nulls)) for name, form in formats.items()},
        **facts,
    )


def expanded(declaration: ColumnDeclaration, values: np.ndarray) -> list[np.ndarray]:
    """Return one column of the design, or one column per level."""
    return [values == position for position in range(len(declaration.levels))] if declaration.levels else [values]


def _target_column(name: str, declaration: ColumnDeclaration) -> tuple[Column, float | None]:
    if not declaration.levels:
        return declaration.columns(name)[0], None
    if len(declaration.levels) > 2:
        raise Refused(f"The target {name!r} must have bounds or two levels. Got {len(declaration.levels)} levels instead.")
    return Column(name, 0, 1, kind="binary", meaning=f"1 = {declaration.levels[1]}"), 0.5
