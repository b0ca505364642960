"""A released model: its file, and its predictions in the units of the columns."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.whole_file import write_whole
from dpbench.contracts.model import Problem
from dpbench.data.column_format import NUMBER, ColumnFormat
from dpbench.data.geometry import Scaling, TargetKind
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import origins_and_units, scale
from dpbench.data.table import Column, Table
from dpbench.data.transforms import Transform
from dpbench.files.python_cells import column_chunk
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import build
from dpbench.releases.coefficient_table import CoefficientTable, Units
from dpbench.releases.released_intervals import NoIntervals, ReleasedIntervals, read_section

FORMAT = "dpbench release 1"
START = f'{{\n  "format": {json.dumps(FORMAT)}'
"""How the text of every release begins."""
DERIVED = "weights_in_own_units"
"""A key of the file for its readers, computed from the others; older files lack it."""


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
    command: str = ""
    """What was typed, with files by their names alone; empty for a release from Python."""
    formats: Mapping[str, ColumnFormat] = field(default_factory=dict)
    """How the cells of attributes are read, as they were for the fit."""
    inference: ReleasedIntervals | NoIntervals = field(default_factory=NoIntervals)
    """The intervals of the coefficients, or why there are none."""

    def __post_init__(self) -> None:
        coefficients = ["intercept"] * self.intercept + [column.name for column in self.columns]
        if sorted(self.weights) != sorted(coefficients):
            raise Refused(f"A release must have one weight for each of {', '.join(coefficients)}. Got {', '.join(self.weights)}.")
        if isinstance(self.inference, ReleasedIntervals) and sorted(self.inference.coefficients) != sorted(coefficients):
            raise Refused(f"A release with intervals must have one for each of {', '.join(coefficients)}. Got others.")
        for name, value, known in (("scaling", self.scaling, Scaling), ("kind", self.kind, TargetKind)):
            if value not in get_args(known):
                raise Refused(f"The {name} of a release must be one of {', '.join(get_args(known))}. Got {value!r} instead.")

    @property
    def event(self) -> str:
        """What a prediction of a binary target is the probability of, such as "1 (1 = yes)"; empty for a real target."""
        if self.kind == "real":
            return ""
        meaning = f" ({self.target.meaning})" if self.target.meaning else ""
        return f"1{meaning}" if self.target.kind == "binary" else f"above {self.threshold:g}"

    def predict(self, data: Any, *, clip: bool = True, interval: float | None = None) -> np.ndarray:
        """Predict from a mapping of columns (a dict or a DataFrame) in their own units; further columns are ignored.

        A real target is predicted in its own unit, a binary one as the model predicts it. Values outside the declared bounds
        are clipped to them, as they were when the model was fitted. Predictions of a real target are clipped to its bounds too,
        which costs no privacy and cannot move them away from a target within the bounds; ``clip=False`` leaves them as they are.
        If the target was transformed, what is predicted is close to its median, not to its mean.

        ``interval=0.95`` returns three columns: the prediction, and the ends of an interval that holds the target of a future
        row with this probability, over the rows of the population, the errors and the noise of privacy. It takes the errors for
        normal and of equal variance, and uses Student's quantile. The ends of a transformed target are mapped back as
        predictions are. An interval is centred on the estimates in ``inference``, and always holds the prediction.
        """
        features = self._features(data)
        rows = scale(self._table(features), self.scaling, self.intercept, self.kind)
        problem: Problem = build("model", self.model).prepare(Curator(WholeSample(rows), Draws(0, "", [(0, 0)]), Budget()))
        weights = np.array([self.weights[name] for name in rows.geometry.names])
        predicted = np.asarray(problem.predict(rows.x, weights), dtype=float)[: len(features)]
        if interval is not None:
            low, high = self._intervals_of(rows.x[: len(features)], rows.geometry.names, interval)
            predicted = np.column_stack([predicted, np.minimum(low, predicted), np.maximum(high, predicted)])
        if self.kind == "binary":
            return predicted
        values = self.target.from_box(predicted)
        return np.clip(values, self.target.low, self.target.high) if clip else values

    def _intervals_of(self, design: np.ndarray, names: Sequence[str], level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals of the scaled targets of future rows, low and high."""
        if not 0 < level < 1:
            raise Refused(f"The probability of an interval must be between 0 and 1. Got {level!r} instead.")
        if self.kind == "binary":
            raise Refused("A binary target is 0 or 1, so an interval tells no more of it than its probability, the prediction.")
        if isinstance(self.inference, NoIntervals):
            raise Refused(self.inference.reason)
        return self.inference.predicted(design, names, level)

    def intervals(self) -> CoefficientTable:
        """Return the estimates with their intervals, scaled and in the columns' own units; refuse if there are none."""
        if isinstance(self.inference, NoIntervals):
            raise Refused(self.inference.reason)
        return CoefficientTable.of(self.inference, self.weights, self._units())

    def weights_in_own_units(self) -> dict[str, float]:
        """Return what one unit of each column adds to the target in its unit; columns without such a number are left out.

        :class:`~dpbench.releases.coefficient_table.CoefficientTable` says which these are, and what the intercept means.
        """
        return {name: self.weights[name] * unit + offset for name, (offset, unit) in self._units().items()}

    def _units(self) -> Units:
        """Return how coefficients are mapped to the columns' own units, where that is a multiplication."""
        if self.target.transform is not None or (self.scaling == "ball" and self.radius is not None):
            return {}
        table = self._table(np.empty((0, len(self.columns))))
        geometry = scale(table, self.scaling, self.intercept, self.kind).geometry
        units = dict(zip(geometry.columns, geometry.half_range / origins_and_units(table, geometry)[1], strict=True))
        plain = {column.name: (0.0, float(units[column.name])) for column in self.columns if column.transform is None}
        if not self.intercept:
            return plain
        middle = 0.0 if self.kind == "binary" else (self.target.low + self.target.high) / 2
        return {"intercept": (middle, geometry.half_range * geometry.constant), **plain}

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
            needed, lacking = (
                ", ".join(dict.fromkeys(one_hot.get(name, name) or name for name in each)) for each in (names, missing)
            )
            raise Refused(f"A prediction needs the columns {needed}. Missing: {lacking}.")
        if len({len(value) for value in values.values()}) > 1:
            raise Refused("The columns of a prediction must have the same length.")
        return np.column_stack([values[name] for name in names]).astype(float)

    def _cells(self, data: Any, name: str, column_format: ColumnFormat) -> np.ndarray:
        """Return the numbers or level positions that the cells of a column mean, as they did in the fit."""
        chunk = column_chunk(data[name], name)
        values = chunk.values(column_format)
        if (missing := np.isnan(values)).any():
            where = f"Got {int(missing.sum())} of them, the first in row {chunk.start + int(missing.argmax()) + 1}."
            raise Refused(f"The column {name!r} of {chunk.label} must have no missing values. {where}")
        return values

    def _table(self, features: np.ndarray) -> Table:
        """Return the rows as a table. Two made-up rows follow them, because a table has at least two."""
        whole = np.concatenate([features, [[column.low if column.group is None else 0.0 for column in self.columns]] * 2])
        threshold = self.target.low if self.threshold is None else self.threshold
        return Table(self.columns, self.target, whole, np.full(len(whole), self.target.low), self.radius, threshold=threshold)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the file, completely or not at all. An existing file is replaced only with ``overwrite``."""
        path = Path(path)
        content = {"format": FORMAT, **asdict(self), DERIVED: self.weights_in_own_units()}
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(path, text.encode(), overwrite)


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
    content.pop(DERIVED, None)
    try:
        content["columns"] = tuple(map(_column, content["columns"]))
        content["target"] = _column(content["target"])
        formats = content.get("formats", {})
        content["formats"] = {name: ColumnFormat(**_tuples(fields)) for name, fields in formats.items()}
        content["inference"] = read_section(content.get("inference"))
        return Release(**content)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Refused(f"The release {os.fspath(path)!r} is incomplete or was changed: {error}.") from None


def begins_as_release(path: Path) -> bool:
    """Return whether a file is empty or begins as a release does: an interrupted release may have left it."""
    with path.open("rb") as file:
        start = file.read(len(START))
    return start == START.encode()[: len(start)]


def _column(content: Mapping[str, Any]) -> Column:
    """Return a column as the file describes it."""
    transform = content.get("transform")
    return Column(**{**content, "transform": None if transform is None else Transform(**_tuples(transform))})


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object with tuples again where JSON has lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
