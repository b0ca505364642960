"""A released model: its file, and its predictions in the units of the columns."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.contracts.model import Model
from dpbench.data.geometry import Scaling, TargetKind
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Column, Table
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.standard_draws import Draws
from dpbench.registry.lookup import build

FORMAT = "dpbench release 1"


@dataclass(frozen=True)
class Release:
    """Weights that may be published, with the public facts that a prediction needs and what they cost."""

    model: Mapping[str, Any]
    """The model's name and options."""
    mechanism: Mapping[str, Any]
    dataset: Mapping[str, Any]
    """Its name, and whether its rows are synthetic."""
    columns: tuple[Column, ...]
    target: Column
    kind: TargetKind
    scaling: Scaling
    radius: float | None
    threshold: float | None
    intercept: bool
    weights: Mapping[str, float]
    """By the coefficients' names, on the scaled columns."""
    privacy: Mapping[str, Any]
    """ε, δ, neighbours, the number of rows, the noise, the whole ledger."""
    statement: str
    """The guarantee in plain language."""
    made_by: str = field(default="")

    def predict(self, data: Any) -> np.ndarray:
        """Predict from a mapping of columns (a dict or a DataFrame) in their own units; further columns are ignored.

        A real target is predicted in its own unit, a binary one as the model predicts it. Values outside the declared bounds
        are clipped to them, as they were when the model was fitted.
        """
        features = self._features(data)
        rows = self._scaled(features)
        model: Model = build("model", self.model)
        curator = Curator(WholeSample(rows), Draws(0, "", [(0, 0)]), Budget())
        problem = model.prepare(curator)
        weights = np.array([self.weights[name] for name in rows.geometry.names])
        predicted = np.asarray(problem.predict(rows.x, weights), dtype=float)[: len(features)]
        if self.kind == "binary":
            return predicted
        return self.target.low + (predicted + 1) / 2 * (self.target.high - self.target.low)

    def _features(self, data: Any) -> np.ndarray:
        missing = [column.name for column in self.columns if column.name not in data and not _given_as_levels(column, data)]
        if missing:
            needed = ", ".join(column.name for column in self.columns)
            raise Refused(f"A prediction needs the columns {needed}. Missing: {', '.join(missing)}.")
        for group in dict.fromkeys(column.group for column in self.columns if _given_as_levels(column, data)):
            self._check_levels(str(group), data)
        values = [_values(column, data) for column in self.columns]
        for column, value in zip(self.columns, values, strict=True):
            if value.dtype.kind not in "fiub" or value.ndim != 1:
                raise Refused(f"The column {column.name!r} must be a list of numbers. Got the type {value.dtype} instead.")
        if len({len(value) for value in values}) > 1:
            raise Refused("The columns of a prediction must have the same length.")
        return np.column_stack(values).astype(float)

    def _check_levels(self, group: str, data: Any) -> None:
        """Refuse texts of a categorical attribute that are not declared levels."""
        levels = [_level(column) for column in self.columns if column.group == group]
        strange = int((~np.isin(np.atleast_1d(np.asarray(data[group])).astype(str), levels)).sum())
        if strange:
            raise Refused(f"The column {group!r} must hold one of {', '.join(levels)}. Got {strange} other values.")

    def _scaled(self, features: np.ndarray) -> Rows:
        """Scale the rows as for the fit. Two made-up rows follow them, because a table has at least two."""
        extra = np.array([[column.low for column in self.columns]] * 2)
        for group in dict.fromkeys(column.group for column in self.columns if column.group is not None):
            extra[:, [column.group == group for column in self.columns]] = 0.0
        whole = np.concatenate([features, extra])
        threshold = self.target.low if self.threshold is None else self.threshold
        table = Table(self.columns, self.target, whole, np.full(len(whole), self.target.low), self.radius, threshold=threshold)
        return scale(table, self.scaling, self.intercept, self.kind)

    def save(self, path: Path, overwrite: bool = False) -> None:
        """Write the file, completely or not at all. An existing file is replaced only with ``overwrite``."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.chmod(file.name, 0o644)
                if not overwrite:
                    path.touch(exist_ok=False)
                os.replace(file.name, path)
            finally:
                Path(file.name).unlink(missing_ok=True)


def _given_as_levels(column: Column, data: Any) -> bool:
    """Return whether the data have the attribute as texts instead of the one-hot column ``attribute=level``."""
    named = column.group is not None and column.name.startswith(f"{column.group}=")
    return named and column.group in data and column.name not in data


def _level(column: Column) -> str:
    """Return the level that a one-hot column stands for."""
    return column.name.removeprefix(f"{column.group}=")


def _values(column: Column, data: Any) -> np.ndarray:
    """Return a column's values: its own, or whether its attribute has the column's level."""
    if column.name in data:
        return np.atleast_1d(np.asarray(data[column.name]))
    return np.asarray(np.atleast_1d(np.asarray(data[column.attribute])).astype(str) == _level(column), dtype=float)


def load_release(path: str | os.PathLike[str]) -> Release:
    """Read a released model back."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"The release {os.fspath(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise Refused(f"The file {os.fspath(path)!r} is not a release: it is not JSON.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise Refused(f"The format of the release {os.fspath(path)!r} must be {FORMAT!r}. Got {found!r} instead.")
    del content["format"]
    try:
        content["columns"] = tuple(Column(**column) for column in content["columns"])
        content["target"] = Column(**content["target"])
        return Release(**content)
    except (KeyError, TypeError) as error:
        raise Refused(f"The release {os.fspath(path)!r} is incomplete: {error}.") from None
