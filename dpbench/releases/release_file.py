"""A released model: its file, and its predictions in the units of the columns."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dpbench.base.errors import Refused
from dpbench.contracts.model import Problem
from dpbench.data.column_format import NUMBER, ColumnFormat
from dpbench.data.geometry import Scaling, TargetKind
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Column, Table
from dpbench.data.transforms import Transform
from dpbench.files.python_cells import read_cells
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
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
    made_by: str = ""
    formats: Mapping[str, ColumnFormat] = field(default_factory=dict)
    """How the cells of attributes are read, as they were for the fit."""

    def __post_init__(self) -> None:
        coefficients = ["intercept"] * self.intercept + [column.name for column in self.columns]
        if sorted(self.weights) != sorted(coefficients):
            raise Refused(f"A release must have one weight for each of {', '.join(coefficients)}. Got {', '.join(self.weights)}.")
        for name, value, known in (("scaling", self.scaling, Scaling), ("kind", self.kind, TargetKind)):
            if value not in get_args(known):
                raise Refused(f"The {name} of a release must be one of {', '.join(get_args(known))}. Got {value!r} instead.")

    def predict(self, data: Any, *, clip: bool = True) -> np.ndarray:
        """Predict from a mapping of columns (a dict or a DataFrame) in their own units; further columns are ignored.

        A real target is predicted in its own unit, a binary one as the model predicts it. Values outside the declared bounds
        are clipped to them, as they were when the model was fitted. Predictions of a real target are clipped to its bounds too,
        which costs no privacy and cannot move them away from a target within the bounds; ``clip=False`` leaves them as they are.
        If the target was transformed, what is predicted is close to its median, not to its mean.
        """
        features = self._features(data)
        rows = self._scaled(features)
        problem: Problem = build("model", self.model).prepare(Curator(WholeSample(rows), Draws(0, "", [(0, 0)]), Budget()))
        weights = np.array([self.weights[name] for name in rows.geometry.names])
        predicted = np.asarray(problem.predict(rows.x, weights), dtype=float)[: len(features)]
        if self.kind == "binary":
            return predicted
        values = self.target.from_box(predicted)
        return np.clip(values, self.target.low, self.target.high) if clip else values

    def _features(self, data: Any) -> np.ndarray:
        """Return one column per feature; missing columns ``attribute=level`` come from the cells of their attribute."""
        names = [column.name for column in self.columns]
        values = {name: self._cells(data, name, self.formats.get(name, NUMBER)) for name in names if name in data}
        one_hot = {column.name: column.group for column in self.columns if column.name.startswith(f"{column.group}=")}
        for group in dict.fromkeys(group for name, group in one_hot.items() if name not in data and group in data):
            levels = {name: name.removeprefix(f"{group}=") for name in one_hot if one_hot[name] == group}
            column_format = self.formats.get(str(group), ColumnFormat(tuple(levels.values())))
            positions = self._cells(data, str(group), column_format)
            values = {f"{group}={level}": positions == at for at, level in enumerate(column_format.levels)} | values
        if missing := [name for name in names if name not in values]:
            raise Refused(f"A prediction needs the columns {', '.join(names)}. Missing: {', '.join(missing)}.")
        if len({len(value) for value in values.values()}) > 1:
            raise Refused("The columns of a prediction must have the same length.")
        return np.column_stack([values[name] for name in names]).astype(float)

    def _cells(self, data: Any, name: str, column_format: ColumnFormat) -> np.ndarray:
        """Return the numbers or level positions that the cells of a column mean, as they did in the fit."""
        values = read_cells(data[name], name, column_format)
        if missing := int(np.isnan(values).sum()):
            raise Refused(f"The column {name!r} of the data must have no missing values. Got {missing} of them.")
        return values

    def _scaled(self, features: np.ndarray) -> Rows:
        """Scale the rows as for the fit. Two made-up rows follow them, because a table has at least two."""
        whole = np.concatenate([features, [[column.low if column.group is None else 0.0 for column in self.columns]] * 2])
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


def load_release(path: str | os.PathLike[str]) -> Release:
    """Read a released model back."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"The release {os.fspath(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise Refused(f"The file {os.fspath(path)!r} is not a release: it is not JSON.") from None
    if (form := content.pop("format", None) if isinstance(content, dict) else None) != FORMAT:
        raise Refused(f"The format of the release {os.fspath(path)!r} must be {FORMAT!r}. Got {form!r} instead.")
    try:
        content["columns"] = tuple(map(_column, content["columns"]))
        content["target"] = _column(content["target"])
        formats = content.get("formats", {})
        content["formats"] = {name: ColumnFormat(**_tuples(fields)) for name, fields in formats.items()}
        return Release(**content)
    except (KeyError, TypeError) as error:
        raise Refused(f"The release {os.fspath(path)!r} is incomplete: {error}.") from None


def _column(content: Mapping[str, Any]) -> Column:
    """Return a column as the file describes it."""
    transform = content.get("transform")
    return Column(**{**content, "transform": None if transform is None else Transform(**_tuples(transform))})


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object with tuples again where JSON has lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
