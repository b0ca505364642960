"""The user's own table: a CSV or Parquet file, or a DataFrame, with declared bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, ClassVar, Literal, Self

import numpy as np

from dpbench.base.errors import Refused, check_known
from dpbench.base.memory import refuse_beyond_memory
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.column_format import TEXT, ColumnFormat
from dpbench.data.table import Table
from dpbench.data.table_stream import TableStream
from dpbench.files.bounds_file import (
    DIALECT_KEYS,
    NO_WEIGHTS,
    Bounds,
    ColumnDeclaration,
    parse_bounds,
    parse_codes,
    parse_levels,
    read_bounds,
)
from dpbench.files.codebook import source_files
from dpbench.files.complete_rows import CompleteRows
from dpbench.files.data_bounds import all_missing, bounds_from_data, constant
from dpbench.files.data_frames import PREFIX, open_user_table, path_of
from dpbench.files.dialects import Dialect
from dpbench.files.download_cache import user_file_checksum
from dpbench.files.person_column import CountedRows
from dpbench.files.table_files import File
from dpbench.files.user_files import regular_file

from ._declared_table import declared_table, expanded
from ._streamed_file import LARGEST_EXPANSION, StreamedFile, loading_bytes


@dataclass(frozen=True)
class UserTable(Dataset):
    """Your own table: a CSV (also .gz) or Parquet file or a DataFrame, with the bounds that you declare.

    ``bounds`` names each column, as in ``{age: [0, 100], sex: {levels: [f, m]}}`` or in a file (`python -m dpbench data describe
    people.csv` drafts one), or ``attributes`` leaves it out. Values outside the bounds are clipped to them. A column with levels
    becomes one column per level and one sensitivity group. A target with two levels is 0 for the first and 1 for the second.

    Bounds are public, so they must not come from the rows. ``bounds=data`` reads them from the rows nevertheless, and every
    record then has the leak ``bounds_from_data``. ``missing=drop`` leaves out rows with a missing value. Then n depends on the
    rows, and records have the leak ``rows_dropped``, unless ``sample_n`` fixes n. ``missing=level`` needs a level ``unknown``.

    ``person`` names the column that says whose row it is, if a person may have several rows. Then privacy is promised to persons.
    The first ``rows_per_person`` rows of each person count, in the order of the file; later rows are left out, before anything
    else is done. The number of persons is public. Each counts as ``rows_per_person`` rows, of which missing ones add nothing.

    ``stream=true`` reads the rows in chunks, at every pass, as is done by default if they do not fit into memory. It needs
    ``splits.by=blocks``, and then gives the numbers of the loaded table, for mechanisms that need sums alone.

    ``path=cps_00001.xml`` names the codebook of an extract of any IPUMS project, whose data lies next to it. From Python,
    ``dpbench.sweep({"dataset.path": frame, …}, dataset="table")`` takes a DataFrame.
    """

    name: ClassVar[str] = "table"
    expected_failures: ClassVar[Mapping[str, str]] = {"bad options": "nulls takes any code of a missing value, nan included"}
    licence: ClassVar[str] = "yours"

    path: str = option("", help="a CSV or Parquet file; a DataFrame from Python")
    target: str = option("", help="the column to predict")
    title: str = option("", help="what titles and records call the table; empty: the name of its file")
    bounds: dict[str, Any] | str | None = option(None, help="[low, high] or levels by column, a bounds file, or data (a leak)")
    levels: dict[str, Any] | None = option(None, help="the levels of categorical columns")
    missing: Literal["refuse", "drop", "level"] = option("refuse", help="a row with a missing value; or level: a level unknown")
    nulls: tuple[str, ...] | None = option(None, help="codes for a missing value, next to NA, NaN, null and the like")
    person: str | None = option(None, help="the column that names each row's person, if a person may have several rows")
    rows_per_person: int | None = option(None, low=1, help="the rows of one person that count: later ones are left out")
    delimiter: str | None = option(None, help="what separates the columns of a CSV, or tab; null: a comma")
    encoding: str | None = option(None, help="the encoding of a CSV, such as latin-1; null: utf-8")
    header: bool | None = option(None, help="whether the first row names the columns; null: true")
    decimal: str | None = option(None, help="the decimal separator of numbers in texts; null: a point")
    stream: bool | None = option(None, help="read the rows in chunks at every pass; null: if they do not fit into memory")
    thousands: str | None = option(None, help="the thousands separator of numbers in texts: comma, point, space, apostrophe")

    def __post_init__(self) -> None:
        for name in ("bounds", "levels"):  # the command line turns column names such as 1 into numbers
            if isinstance(declared := getattr(self, name), Mapping):
                object.__setattr__(self, name, {str(key): value for key, value in declared.items()})
        if self.nulls is not None:
            object.__setattr__(self, "nulls", parse_codes(self.nulls, "nulls", "dataset=table"))
        super().__post_init__()
        if (self.person is None) != (self.rows_per_person is None):
            raise Refused(
                "The options dataset.person and dataset.rows_per_person must be set together: dataset.person=COLUMN names each "
                "row's person, and dataset.rows_per_person=4 says how many rows of one person count at most. Got one of them."
            )

    @classmethod
    def build(cls, options: Mapping[str, Any]) -> Self:
        if "weights" in options:
            raise Refused(f"dataset.weights cannot be set. {NO_WEIGHTS}")
        return super().build(options)

    def options(self) -> dict[str, Any]:
        """Return every option with its value, without ``stream`` unless the table is streamed: other cells keep their keys."""
        return {name: value for name, value in super().options().items() if name != "stream" or value}

    def load(self, generator: np.random.Generator) -> Table:
        bounds, target, file, columns = self._opened()
        formats = {name: column.format for name, column in columns.items()}
        values, counted = self._read(file, formats)
        missing = {name: np.isnan(array) for name, array in values.items()}
        complete = self._complete_rows(file, values, missing, counted, generator)
        rows = dict(zip(columns, complete.values(file.label).T, strict=True))
        for name, declaration in columns.items():
            _refuse_constant(file, name, declaration, rows[name])
        features = [name for name in columns if name != target]
        count, width = len(rows[target]), sum(len(columns[name].columns(name)) for name in features)
        what = f"{file.label}, with {count:,} rows and {width:,} columns (one for each level),"
        refuse_beyond_memory(what, 8 * count * width)
        design = [column for name in features for column in expanded(columns[name], rows[name])]
        return declared_table(
            *(columns, target, bounds, file.dialect.nulls),
            np.column_stack([np.empty((len(rows[target]), 0)), *design]),
            np.ascontiguousarray(rows[target]),
            complete.leaks,
            dropped=complete.dropped,
            declared_n=complete.sample_n is not None,
            persons=counted.persons.take(~np.any(list(missing.values()), axis=0)) if counted else None,
            beyond_limit=counted.beyond_limit if counted else 0,
        )

    def for_memory(self, memory: int) -> Self:
        if self.stream is not None or not self.path:
            return self
        try:
            file = regular_file(path_of(self.path))
            # only a file that is not small is opened
            large = file.stat().st_size * LARGEST_EXPANSION > memory and loading_bytes(file) > memory
        except Refused:  # reading it says what is wrong, after what the bounds lack
            return self
        return replace(self, stream=True) if large else self

    def streams(self) -> bool:
        return bool(self.stream)

    def stream_table(self) -> TableStream:
        for option_name, refused, why in (
            ("person", self.person is not None, "whose rows belong together is not known before all are read"),
            ("missing", self.missing == "drop", "n would depend on the rows that are left out"),
            ("sample_n", self.sample_n is not None, "a sample is drawn from loaded rows"),
            ("sample_rate", self.sample_rate != 1, "a sample is drawn from loaded rows"),
            ("resample", self.resample, "rows are drawn from loaded ones"),
            ("bounds", self.bounds == "data", "bounds must be known before the rows are read"),
        ):
            if refused:
                raise Refused(f"A streamed table cannot have dataset.{option_name}={getattr(self, option_name)}: {why}.")
        bounds, target, file, columns = self._opened()
        width = sum(len(column.columns(name)) for name, column in columns.items() if name != target)
        head = declared_table(columns, target, bounds, file.dialect.nulls, np.zeros((2, width)), np.zeros(2))
        return StreamedFile(file, columns, target, self.declared(head))

    def _opened(self) -> tuple[Bounds, str, File, dict[str, ColumnDeclaration]]:
        """Return the bounds, the target, the file and the declarations of the columns that are read."""
        bounds = self._declared_bounds()
        target = self.target or bounds.target
        if not target:
            raise Refused("The target of dataset=table must be the name of a column: dataset.target=income. Got nothing instead.")
        options = {key: getattr(self, key) for key in DIALECT_KEYS if getattr(self, key) is not None}
        file = open_user_table(self._path(), Dialect.of({**bounds.dialect, **options}))
        from_data = self.bounds == "data"
        columns = self._columns_from_data(file, target) if from_data else self._declared_columns(file, bounds, target)
        if self.missing == "level":
            columns = {name: column if name == target else column.with_unknown() for name, column in columns.items()}
        return replace(bounds, from_data=from_data or bounds.from_data), target, file, columns

    @property
    def display_name(self) -> str:
        title = self.title or ("" if self.path.startswith(PREFIX) else PurePath(self.path).name.partition(".")[0])
        return f"{self.name} {title}".strip()

    def fingerprint(self) -> str:
        """Return the checksums of the file and of the bounds file; their dates do not count."""
        bounds = [user_file_checksum(self.bounds)] if isinstance(self.bounds, str) and self.bounds != "data" else []
        return " ".join([self.source(), *bounds])

    def source(self) -> str:
        """Return the checksum of the file alone."""
        return " ".join(user_file_checksum(path) for path in source_files(path_of(self._path())))

    def _path(self) -> str:
        if not self.path:
            raise Refused("The path of dataset=table must be a CSV or Parquet file: dataset.path=people.csv. Got nothing.")
        return self.path

    def _declared_bounds(self) -> Bounds:
        """Return the declared bounds and levels."""
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
            name: ColumnDeclaration(levels=parse_levels(name, declared, "dataset.levels"))
            for name, declared in (self.levels or {}).items()
        }
        twice = sorted(set(levels) & set(bounds.columns))
        if twice:
            raise Refused(f"The column {twice[0]!r} must have bounds or levels. Got both instead.")
        return replace(bounds, columns={**bounds.columns, **levels})

    def _declared_columns(self, file: File, bounds: Bounds, target: str) -> dict[str, ColumnDeclaration]:
        """Return the declared columns that are used, in the order of the file. Refuse columns without a declaration."""
        file.check_columns([*bounds.columns, *bounds.ignored, *bounds.open, *filter(None, [self.person]), target])
        if self.person in (*bounds.columns, target):
            raise Refused(
                f"The column {self.person!r} names persons, so it cannot be the target or have bounds. Got both instead."
            )
        check_known("column with bounds", bounds.sensitive, bounds.columns)
        used = self._used_columns(file, target)
        file.check_columns(used)
        if target in bounds.ignored:
            raise Refused(f"The target {target!r} must have bounds. Got ignore instead.")
        if unfilled := [name for name in file.names if name in used and name in bounds.open]:
            raise Refused(
                f"The bounds of {', '.join(map(repr, unfilled))} are open: fill in low and high from what is known without the "
                "rows, or write ignore, or name the columns to use in dataset.attributes."
            )
        declared = {*bounds.columns, *bounds.ignored, *file.unnamed}
        undeclared = [name for name in file.names if name in used and name not in declared]
        if undeclared:
            raise Refused(
                f"{file.label} has columns without bounds: {', '.join(map(repr, undeclared))}. Declare bounds or levels, or name "
                "the columns to use in dataset.attributes."
            )
        return {name: bounds.columns[name] for name in file.names if name in used and name in bounds.columns}

    def _columns_from_data(self, file: File, target: str) -> dict[str, ColumnDeclaration]:
        used, levels = self._used_columns(file, target), self.levels or {}
        file.check_columns([*used, target, *levels])
        return bounds_from_data(file, [name for name in file.names if name in used], levels, self.missing == "level")

    def _read(self, file: File, formats: Mapping[str, ColumnFormat]) -> tuple[dict[str, np.ndarray], CountedRows | None]:
        """Return the columns, without the rows of a person beyond those that count."""
        if self.person is None or self.rows_per_person is None:
            return file.read(formats), None
        values = file.read({**formats, self.person: TEXT})
        counted = CountedRows.of(file.label, self.person, values.pop(self.person), self.rows_per_person)
        return counted.take(values), counted

    def _used_columns(self, file: File, target: str) -> list[str]:
        """Return the columns that are read as features and target."""
        if self.attributes is not None:
            return [*self._attribute_names(self.attributes), target]
        return [name for name in file.names if name != self.person]

    def _complete_rows(
        self,
        file: File,
        values: Mapping[str, np.ndarray],
        missing: Mapping[str, np.ndarray],
        counted: CountedRows | None,
        generator: np.random.Generator,
    ) -> CompleteRows:
        for name, rows in missing.items():
            if rows.all():
                raise all_missing(file, name)
        if self.missing != "drop" and (incomplete := [name for name, rows in missing.items() if rows.any()]):
            counts = ", ".join(f"{name!r} {int(missing[name].sum())}" for name in incomplete)
            first = incomplete[0]
            row = int(missing[first].argmax())
            number = 1 + (int(counted.index[row]) if counted else row)
            level = "dataset.missing=level counts them where `unknown` is a declared level; " if self.missing == "level" else ""
            raise Refused(
                f"{file.label} has missing values, the first in column {first!r}, row {number} (in all: {counts}). {level}"
                "dataset.missing=drop leaves such rows out; `missing: VALUE` among a column's bounds replaces them."
            )
        # n is public whatever is left out where persons are counted, and a sample is one of persons, which is drawn later
        declared = self.sample_n if self.missing == "drop" and counted is None else None
        complete = CompleteRows(declared, generator, public_n=counted is not None)
        complete.add(np.column_stack(list(values.values())), missing)
        return complete


def _refuse_constant(file: File, name: str, declaration: ColumnDeclaration, values: np.ndarray) -> None:
    clipped = values if declaration.levels else np.clip(values, declaration.low, declaration.high)
    if clipped.min() == clipped.max():
        raise constant(file, name)


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [UserTable]
