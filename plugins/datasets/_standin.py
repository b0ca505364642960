"""Draws stand-ins: synthetic tables from aggregates, one marginal per column and one correlation matrix of latent normals.

For each row z ~ N(0, R) and u = Φ(z), and each u is mapped by the inverse of its column's marginal distribution (a Gaussian
copula, NORTA: Cario and Nelson 1997). The table has the means, marginals and pairwise correlations of the source, and nothing
else in common with it.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import cast

import numpy as np

from dpbench.data.table import Column, ColumnKind, Table
from dpbench.registry.code_digest import source_digest

Inverse = Callable[[np.ndarray], np.ndarray]
"""From latent normals to the column's values."""

ATTRIBUTE_SUBSETS: Mapping[int, tuple[str, ...]] = {
    5: ("age", "gender", "education", "family_size"),
    8: ("age", "gender", "education", "family_size", "nativity", "owns_dwelling", "automobiles"),
    11: (
        *("age", "gender", "education", "family_size", "nativity", "owns_dwelling", "automobiles"),
        *("is_single", "is_married", "children"),
    ),
    14: (
        *("age", "gender", "is_single", "is_married", "education", "disability", "nativity", "hours_per_week"),
        *("years_residing", "owns_dwelling", "family_size", "children", "automobiles"),
    ),
}
"""The subsets of Zhang et al. 2012, section 7, by dimension. It includes the target, so 14 stands for 13 features."""

INDICATORS = {"is_single": ("marital", 0), "is_married": ("marital", 2)}
"""Columns that indicate one level of a latent column."""

CHUNK_ROWS = 1 << 14
"""The number of rows drawn together. The rows depend on it, so it must never change."""


@dataclass(frozen=True)
class StandIn:
    """The aggregates of one table, from which rows can be drawn."""

    columns: tuple[Column, ...]
    target: Column
    threshold: float
    digest: str
    """A digest of the aggregates and of this module."""
    inverses: Mapping[str, Inverse] = field(repr=False)
    """Inverse distribution functions by latent column, in the order of the correlation matrix."""
    factor: np.ndarray = field(repr=False)
    """The lower Cholesky factor of the latent correlation."""

    def draw(self, rows: int, generator: np.random.Generator) -> Table:
        """Draw a table. A table with fewer rows is the beginning of a longer one."""
        features = np.empty((rows, len(self.columns)), order="F")
        response = np.empty(rows)
        for start in range(0, rows, CHUNK_ROWS):
            part = slice(start, min(start + CHUNK_ROWS, rows))
            values = self._values(generator.standard_normal((len(self.inverses), CHUNK_ROWS)))
            for index, column in enumerate(self.columns):
                features[part, index] = _values_of(values, column.name)[: part.stop - start]
            response[part] = values[self.target.name][: part.stop - start]
        return Table(self.columns, self.target, features, response, threshold=self.threshold)

    def _values(self, normals: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of a chunk by latent column."""
        values = {}
        for row, (name, inverse) in enumerate(self.inverses.items()):
            # summed term by term instead of in BLAS: the same bits with any number of threads
            latent = self.factor[row, 0] * normals[0]
            for other in range(1, row + 1):
                latent += self.factor[row, other] * normals[other]
            values[name] = inverse(latent)
        return values


@cache
def stand_in(name: str) -> StandIn:
    """Return the stand-in whose aggregates are in the data folder of this name."""
    texts = {part: _read(name, part) for part in ("columns", "marginals", "latent_correlation")}
    columns = [_column_of(row) for row in csv.DictReader(texts["columns"].splitlines())]
    thresholds = [float(row["threshold"]) for row in csv.DictReader(texts["columns"].splitlines()) if row["threshold"]]
    inverses = _inverses(texts["marginals"])
    correlation = list(csv.DictReader(texts["latent_correlation"].splitlines()))
    order = [row["column"] for row in correlation]
    matrix = np.array([[float(row[other]) for other in order] for row in correlation])
    content = hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:16]
    return StandIn(
        columns=tuple(columns[:-1]),
        target=columns[-1],
        threshold=thresholds[0],
        digest=f"{content} {source_digest(StandIn)}",
        inverses={name: inverses[name] for name in order},
        factor=np.linalg.cholesky(matrix),
    )


def _read(name: str, part: str) -> str:
    return resources.files(__package__).joinpath("data", "standin", name, f"{part}.csv").read_text(encoding="utf-8")


def _column_of(row: Mapping[str, str]) -> Column:
    """Return the column that a line of ``columns.csv`` declares; the last line is the target."""
    unit, kind = "" if row["kind"] == "binary" else row["unit"], cast(ColumnKind, row["kind"])
    return Column(row["name"], float(row["lo"]), float(row["hi"]), unit, kind=kind, meaning=row["meaning"])


def _values_of(values: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in INDICATORS:
        return values[name]
    source, level = INDICATORS[name]
    return np.asarray(values[source] == level)


def _inverses(text: str) -> dict[str, Inverse]:
    """Return for each column of ``marginals.csv`` its inverse distribution function at Φ(z)."""
    lines: dict[str, list[tuple[str, float, float]]] = {}
    for row in csv.DictReader(text.splitlines()):
        lines.setdefault(row["column"], []).append((row["kind"], float(row["value"]), float(row["probability"])))
    inverses = {}
    for name, points in lines.items():
        values, probabilities = np.array([point[1:] for point in points]).T
        inverses[name] = (_discrete if points[0][0] == "discrete" else _continuous)(values, probabilities)
    return inverses


def _discrete(values: np.ndarray, probabilities: np.ndarray) -> Inverse:
    from scipy.special import ndtri

    cumulative = np.cumsum(probabilities)
    edges = ndtri(cumulative[:-1] / cumulative[-1])  # compare z instead of u = Φ(z), which is monotone
    return lambda latent: values[np.searchsorted(edges, latent)]


def _continuous(values: np.ndarray, probabilities: np.ndarray) -> Inverse:
    from scipy.special import ndtr

    return lambda latent: np.interp(ndtr(latent), probabilities, values)
