"""Public tables with declared bounds, included in the distribution: many small ones, to compare mechanisms on."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, ClassVar

import numpy as np

from dpbench.base.errors import Refused, check_known
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column, Table


@dataclass(frozen=True)
class OpenTable(Dataset):
    """Real: one of 33 public tables, named by `dataset.table`: 21 with a real target, 12 with two classes.

    `python -m dpbench data` lists them; data/open/tables.json says where each comes from, what was removed, and how its bounds
    were chosen. Documented bounds were known without the rows. Rounded ones are the range of the public table itself, rounded
    outwards, which is fine for a comparison; bounds of private rows must not be made like that. At most 0.1 % of a column's
    values lie outside.

    A category becomes one column per level except the first, so that X'X can be inverted, and one sensitivity group; two levels
    are one column of 0 and 1. A binary model of a real target predicts whether it is above a declared threshold near its median.
    A real model of two classes predicts -1 or 1.
    """

    name: ClassVar[str] = "open"
    public: ClassVar[bool] = True

    table: str = option("air_quality", help="the name of a table, as `python -m dpbench data` lists them")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known("table of dataset=open", [self.table], tables())

    @classmethod
    def variants(cls) -> Sequence[Mapping[str, Any]]:
        return [{"table": name} for name in tables()]

    @property
    def display_name(self) -> str:
        return self.table

    @property
    def licence(self) -> str:
        return str(self._facts["licence"])

    @property
    def citation(self) -> str:
        facts = self._facts
        repository = [f"UCI Machine Learning Repository {facts['uci_id']}"] if "uci_id" in facts else []
        doi = [f"DOI {facts['doi']}"] if "doi" in facts else []
        return ", ".join([f"{facts['creators']} ({facts['year']})", facts["title"], *repository, *doi])

    @property
    def remark(self) -> str:
        columns = [column for column in self._facts["columns"].values() if column["kind"] != "binary"]
        rounded = sum("documented" not in (column.get("bounds_from"), column.get("levels_from")) for column in columns)
        bounds = f"the bounds of {rounded} of {len(columns)} columns are" if rounded < len(columns) else "its bounds are"
        source = f"{bounds} the range of the public table itself, rounded outwards" if rounded else "all bounds are documented"
        return f"{source}; a row is {self._facts['rows_are']}."

    def load(self, generator: np.random.Generator) -> Table:
        from pyarrow import parquet

        content = _folder().joinpath(f"{self.table}.parquet").read_bytes()
        if hashlib.sha256(content).hexdigest() != self._facts["sha256"]:
            raise Refused(f"The vendored file of dataset=open table={self.table} has been changed: its sha256 is another one.")
        rows = parquet.read_table(io.BytesIO(content))
        features = {name: facts for name, facts in self._facts["columns"].items() if facts["role"] == "feature"}
        target, threshold = self._target()
        return Table(
            tuple(column for name, facts in features.items() for column in _columns(name, facts)),
            target,
            np.column_stack([_values(rows[name], facts) for name, facts in features.items()]),
            rows[target.name].to_numpy().astype(float),
            threshold=threshold,
            formats={name: ColumnFormat(tuple(facts["levels"])) for name, facts in features.items() if "levels" in facts},
        )

    def fingerprint(self) -> str:
        """Return a digest of the rows and their declarations."""
        parts = [self._facts[key] for key in ("sha256", "target", "columns")] + [self._target()[1]]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def _facts(self) -> Mapping[str, Any]:
        return tables()[self.table]

    def _target(self) -> tuple[Column, float]:
        """Return the target, and the value above which a binary one is 1."""
        name, facts = self._facts["target"], self._facts["columns"][self._facts["target"]]
        if self._facts["task"] == "binary":
            return Column(name, 0, 1, kind="binary", meaning=facts.get("unit", "")), 0.5
        return _columns(name, facts)[0], self._facts["twin_threshold"]


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """Return what is known about each table, in alphabetical order."""
    facts: Mapping[str, Mapping[str, Any]] = json.loads(_folder().joinpath("tables.json").read_text(encoding="utf-8"))["tables"]
    return facts


def _folder() -> Any:
    return resources.files(__package__).joinpath("data", "open")


def _columns(name: str, facts: Mapping[str, Any]) -> list[Column]:
    """Return the column of a number, or the columns of a category's levels without the first."""
    if facts["kind"] != "categorical":
        low, high = facts["bounds"]
        return [Column(name, low, high, facts.get("unit", ""), kind="integer" if facts["kind"] == "integer" else "continuous")]
    others = facts["levels"][1:]
    if len(others) == 1:
        return [Column(name, 0, 1, kind="binary", meaning=f"1 = {others[0]}")]
    return [Column(f"{name}={level}", 0, 1, group=name, meaning=level) for level in others]


def _values(column: Any, facts: Mapping[str, Any]) -> np.ndarray:
    """Return the values of these columns: (rows, columns)."""
    if facts["kind"] != "categorical":
        return np.asarray(column.to_numpy()[:, None], dtype=float)  # of small integers, differences would overflow
    from pyarrow import array, compute

    level = compute.index_in(column, value_set=array(facts["levels"])).to_numpy()
    return np.asarray(level[:, None] == np.arange(1, len(facts["levels"])), dtype=float)


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [OpenTable]
