"""Stand-ins: synthetic tables drawn from aggregates, one marginal a column and one correlation matrix of latent normals.

A row is z ~ N(0, R) and u = Φ(z), and every u goes through the inverse of its column's marginal (a Gaussian copula, NORTA:
Cario and Nelson 1997). Means, marginals and pairwise correlations are those of the source; nothing else is.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import numpy as np

from dpbench.data.table import Column, Table
from dpbench.registry.code_digest import source_digest

Inverse = Callable[[np.ndarray], np.ndarray]
"""From a latent normal to the column's values."""

ATTRIBUTES: Mapping[int, tuple[str, ...]] = {
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
"""The subsets of Zhang et al. 2012, section 7, by dimension: the target is counted, so 14 has 13 features."""

DERIVED = {"is_single": ("marital", 0), "is_married": ("marital", 2)}
"""Columns that are an indicator of one level of a latent column."""

CHUNK = 1 << 14
"""Rows that are drawn together: what a generator gives depends on it, so it is fixed."""


@dataclass(frozen=True)
class StandIn:
    """The aggregates of one table, ready to be drawn from."""

    columns: tuple[Column, ...]
    target: Column
    threshold: float
    digest: str
    """Of the aggregates and of this file."""
    inverses: Mapping[str, Inverse] = field(repr=False)
    """By latent column, in the order of the correlation matrix."""
    factor: np.ndarray = field(repr=False)
    """The lower Cholesky factor of the latent correlation."""

    def draw(self, rows: int, generator: np.random.Generator) -> Table:
        """A table of so many rows; a shorter one is the beginning of a longer one."""
        features = np.empty((rows, len(self.columns)), order="F")
        response = np.empty(rows)
        for start in range(0, rows, CHUNK):
            part = slice(start, min(start + CHUNK, rows))
            values = self._values(generator.standard_normal((len(self.inverses), CHUNK)))
            for index, column in enumerate(self.columns):
                features[part, index] = _column(values, column.name)[: part.stop - start]
            response[part] = values[self.target.name][: part.stop - start]
        return Table(self.columns, self.target, features, response, threshold=self.threshold)

    def _values(self, normals: np.ndarray) -> dict[str, np.ndarray]:
        """The latent columns of a chunk. Sums run column by column and not in BLAS: the same bits on any number of threads."""
        values = {}
        for row, (name, inverse) in enumerate(self.inverses.items()):
            latent = self.factor[row, 0] * normals[0]
            for other in range(1, row + 1):
                latent += self.factor[row, other] * normals[other]
            values[name] = inverse(latent)
        return values


@cache
def stand_in(name: str) -> StandIn:
    """The stand-in whose aggregates are in the data folder of this name."""
    texts = {part: _read(name, part) for part in ("columns", "marginals", "latent_correlation")}
    columns = [_declared(row) for row in csv.DictReader(texts["columns"].splitlines())]
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


def _declared(row: Mapping[str, str]) -> Column:
    """A column from a line of ``columns.csv``; the target is its last line."""
    unit = "" if row["kind"] == "binary" else row["unit"]
    return Column(row["name"], float(row["lo"]), float(row["hi"]), unit, kind=row["kind"], meaning=row["meaning"])  # type: ignore[arg-type]


def _column(values: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in DERIVED:
        return values[name]
    source, level = DERIVED[name]
    return np.asarray(values[source] == level)


def _inverses(text: str) -> dict[str, Inverse]:
    """For each column of ``marginals.csv`` the inverse of its distribution function, taken at Φ(z)."""
    lines: dict[str, list[tuple[str, float, float]]] = {}
    for row in csv.DictReader(text.splitlines()):
        lines.setdefault(row["column"], []).append((row["kind"], float(row["value"]), float(row["probability"])))
    inverses = {}
    for name, points in lines.items():
        values, probabilities = np.array([point[1:] for point in points]).T
        inverses[name] = (_steps if points[0][0] == "discrete" else _quantiles)(values, probabilities)
    return inverses


def _steps(values: np.ndarray, probabilities: np.ndarray) -> Inverse:
    from scipy.special import ndtri

    cumulative = np.cumsum(probabilities)
    edges = ndtri(cumulative[:-1] / cumulative[-1])  # z is compared where u would be: Φ is monotone
    return lambda latent: values[np.searchsorted(edges, latent)]


def _quantiles(values: np.ndarray, probabilities: np.ndarray) -> Inverse:
    from scipy.special import ndtr

    return lambda latent: np.interp(ndtr(latent), probabilities, values)
