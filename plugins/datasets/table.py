"""Anyone's own table: a CSV or Parquet file, or a DataFrame, with declared bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused, unknown
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.table import Column, Table
from dpbench.files.bounds_draft import MAX_DRAFTED_LEVELS, profile_columns
from dpbench.files.bounds_file import Bounds, ColumnDeclaration, parse_bounds, parse_levels, read_bounds
from dpbench.files.complete_rows import CompleteRows
from dpbench.files.data_frames import path_of
from dpbench.files.download_cache import user_file_checksum
from dpbench.files.table_files import File, open_table
from dpbench.files.values import NULLS
from dpbench.records.leaks import BOUNDS_FROM_DATA


@dataclass(frozen=True)
class UserTable(Dataset):
    """Your own table: CSV (also .gz), Parquet or DataFrame, with the bounds that you declare.

    Each column is named in ``bounds``, as ``{age: [0, 100], sex: {levels: [f, m]}}`` or in a file (`python -m dpbench data
    describe people.csv` drafts one), or left out by ``attributes``. Values outside the bounds are clipped to them. A
    column with levels becomes one column a level and one sensitivity group; a target with two levels is 0 or 1, the second
    above the threshold.

    Bounds are public: they must not come from the rows. ``bounds=data`` reads them there all the same, and every record
    then says ``bounds_from_data``. ``missing=drop`` leaves out rows with a missing value: n then depends on the rows, and
    every record says ``rows_dropped``, unless ``sample_n`` fixes n.

    From Python, ``dpbench.sweep({"dataset.path": frame, …}, dataset="table")`` takes a DataFrame.
    """

    name: ClassVar[str] = "table"
    licence: ClassVar[str] = "yours"

    path: str = option("", help="a CSV or Parquet file; a DataFrame from Python")
    target: str = option("", help="the column that is predicted")
    bounds: dict[str, Any] | str | None = option(None, help="[low, high] or levels by column, a bounds file, or data (a leak)")
    levels: dict[str, Any] | None = option(None, help="the levels of categorical columns")
    missing: Literal["refuse", "drop"] = option("refuse", help="what happens to a row with a missing value")
    delimiter: str | None = option(None, help="what parts the columns of a CSV; null: a comma")
    nulls: tuple[str, ...] | None = option(None, help="texts that mean a missing value; null: NA, NaN, null and the like")

    def __post_init__(self) -> None:
        for name in ("bounds", "levels"):  # names and texts, whatever numbers the command line takes them for
            given = getattr(self, name)
            if isinstance(given, Mapping):
                object.__setattr__(self, name, {str(key): value for key, value in given.items()})
        if isinstance(self.nulls, (list, tuple)):
            object.__setattr__(self, "nulls", tuple(map(str, self.nulls)))
        super().__post_init__()

    def load(self, generator: np.random.Generator) -> Table:
        bounds = self._declared()
        target = self.target or bounds.target
        if not target:
            raise Refused("The target of dataset=table must be a column's name: dataset.target=income. Got nothing instead.")
        nulls = self.nulls if self.nulls is not None else bounds.nulls if bounds.nulls is not None else NULLS
        file = open_table(path_of(self._path()), self.delimiter or bounds.delimiter or ",")
        columns = self._measured(file, target, nulls) if self.bounds == "data" else self._chosen_columns(file, bounds, target)
        values = file.read({name: one.format for name, one in columns.items()}, nulls)
        complete = self._complete(file, values, generator)
        kept = dict(zip(columns, complete.values(file.label).T, strict=True))
        for name, one in columns.items():
            _refuse_constant(file, name, one, kept[name])
        features = [name for name in columns if name != target]
        design = [column for name in features for column in columns[name].columns(name)]
        column, threshold = _target(target, columns[target])
        expanded = [np.empty((len(kept[target]), 0)), *(_expanded(columns[name], kept[name]) for name in features)]
        return Table(
            tuple(design),
            column,
            np.column_stack(expanded),
            np.ascontiguousarray(kept[target]),
            sensitive=tuple(name for name in bounds.sensitive if name in features),
            threshold=bounds.threshold if bounds.threshold is not None else threshold,
            leaks=(*((BOUNDS_FROM_DATA,) if self.bounds == "data" or bounds.from_data else ()), *complete.leaks),
            dropped=complete.dropped,
            declared_n=complete.sample_n is not None,
        )

    def fingerprint(self) -> str:
        """The content of the file, and of the bounds file, whatever their dates."""
        paths = [path_of(self._path())]
        if isinstance(self.bounds, str) and self.bounds != "data":
            paths.append(self.bounds)
        return " ".join(user_file_checksum(path) for path in paths)

    def _path(self) -> str:
        if not self.path:
            raise Refused("The path of dataset=table must be a CSV or Parquet file: dataset.path=people.csv. Got nothing.")
        return self.path

    def _declared(self) -> Bounds:
        """The bounds as declared, levels included."""
        if isinstance(self.bounds, str):
            return Bounds({}) if self.bounds == "data" else self._with_levels(read_bounds(self.bounds))
        if not self.bounds:
            raise Refused(
                "The bounds of dataset=table must be declared: dataset.bounds={age:[0,100],...} or a file, which "
                "`python -m dpbench data describe` drafts. Got nothing instead."
            )
        return self._with_levels(parse_bounds(self.bounds, "dataset.bounds"))

    def _with_levels(self, bounds: Bounds) -> Bounds:
        levels = {
            name: ColumnDeclaration(levels=parse_levels(name, given, "dataset.levels"))
            for name, given in (self.levels or {}).items()
        }
        twice = sorted(set(levels) & set(bounds.columns))
        if twice:
            raise Refused(f"The column {twice[0]!r} must have bounds or levels. Got both instead.")
        return replace(bounds, columns={**bounds.columns, **levels})

    def _chosen_columns(self, file: File, bounds: Bounds, target: str) -> dict[str, ColumnDeclaration]:
        """The declared columns that are used, in the file's order; one that nothing is said about is refused."""
        file.check_columns([*bounds.columns, *bounds.ignored, target])
        for name in bounds.sensitive:
            if name not in bounds.columns:
                raise unknown("column with bounds", name, bounds.columns)
        used = [*self._attribute_names(self.attributes), target] if self.attributes is not None else list(file.names)
        file.check_columns(used)
        if target in bounds.ignored:
            raise Refused(f"The target {target!r} must have bounds. Got ignore instead.")
        silent = [name for name in file.names if name in used and name not in bounds.columns and name not in bounds.ignored]
        if silent:
            raise Refused(
                f"{file.label} has columns without bounds: {', '.join(map(repr, silent))}. Declare bounds or levels, or name "
                "the columns to use in dataset.attributes."
            )
        return {name: bounds.columns[name] for name in file.names if name in used and name in bounds.columns}

    def _measured(self, file: File, target: str, nulls: tuple[str, ...]) -> dict[str, ColumnDeclaration]:
        """Ranges and levels as they are in the rows."""
        used = [*self._attribute_names(self.attributes), target] if self.attributes is not None else list(file.names)
        levels = self.levels or {}
        file.check_columns([*used, target, *levels])
        columns: dict[str, ColumnDeclaration] = {}
        for name, one in profile_columns(file, [name for name in file.names if name in used], nulls).items():
            if one.empty:
                raise _all_missing(file, name)
            if one.constant:
                raise _constant(file, name)
            if name in levels:
                columns[name] = ColumnDeclaration(levels=parse_levels(name, levels[name], "dataset.levels"))
            elif one.numeric:
                columns[name] = ColumnDeclaration(one.low, one.high)
            elif one.categorical:
                columns[name] = ColumnDeclaration(levels=one.levels)
            else:
                raise Refused(
                    f"The column {name!r} of {file.label} holds more than {MAX_DRAFTED_LEVELS} different texts, so it has no "
                    "levels: leave it out with dataset.attributes."
                )
        return columns

    def _complete(self, file: File, values: Mapping[str, np.ndarray], generator: np.random.Generator) -> CompleteRows:
        lacking = {name: np.isnan(array) for name, array in values.items()}
        for name, rows in lacking.items():
            if rows.all():
                raise _all_missing(file, name)
        if self.missing == "refuse" and (some := [name for name, rows in lacking.items() if rows.any()]):
            counts = ", ".join(f"{name!r} {int(lacking[name].sum())}" for name in some)
            raise Refused(
                f"{file.label} has missing values, the first in column {some[0]!r}, row {int(lacking[some[0]].argmax()) + 1} "
                f"(in all: {counts}). dataset.missing=drop leaves such rows out; dataset.nulls says what means a missing value."
            )
        complete = CompleteRows(self.sample_n if self.missing == "drop" else None, generator)
        complete.add(np.column_stack(list(values.values())), lacking)
        return complete


def _expanded(one: ColumnDeclaration, values: np.ndarray) -> np.ndarray:
    """A column of the design, or one a level."""
    return values[:, None] == np.arange(len(one.levels)) if one.levels else values[:, None]


def _target(name: str, one: ColumnDeclaration) -> tuple[Column, float | None]:
    if not one.levels:
        return one.columns(name)[0], None
    if len(one.levels) > 2:
        raise Refused(f"The target {name!r} must have bounds or two levels. Got {len(one.levels)} levels instead.")
    return Column(name, 0, 1, kind="binary", meaning=f"1 = {one.levels[1]}"), 0.5


def _refuse_constant(file: File, name: str, one: ColumnDeclaration, values: np.ndarray) -> None:
    clipped = values if one.levels else np.clip(values, one.low, one.high)
    if clipped.min() == clipped.max():
        raise _constant(file, name)


def _constant(file: File, name: str) -> Refused:
    return Refused(
        f"The column {name!r} of {file.label} holds the same value in every row, once clipped to its bounds. Leave it out, or "
        "check its bounds."
    )


def _all_missing(file: File, name: str) -> Refused:
    return Refused(f"The column {name!r} of {file.label} holds no value at all: leave it out with dataset.attributes.")


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [UserTable]
