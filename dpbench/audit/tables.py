"""Whole tables for audits: kinds of rows that neighbours have in common, and a search over them.

A query that keeps its contract looks at one row at a time, so the other rows do not matter. These tables find queries that break
it.
"""

from collections.abc import Iterator

import numpy as np

from dpbench.audit.neighbours import Pairs, columns_of, common_rows, nudge, ones_to_zeros, random_rows, zero_rows
from dpbench.base.core_classes import is_core_class
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer
from dpbench.privacy.queries.query import CellQuery, RowQuery, contributions

TABLE_KINDS = 4
"""Random rows, zeros, corners, and one row again and again."""
SEARCHED_PAIRS = 4
"""Pairs of rows that the search begins with: the worst one, and others of every origin."""
ROUNDS = 20
"""Rounds of the search over whole tables."""


def common_tables(geometry: Geometry, count: int) -> list[Rows]:
    """Return tables of this many rows, one of each kind: always the same ones."""
    generator = np.random.default_rng(count)
    equal = random_rows(geometry, generator, 1).take(np.zeros(count, dtype=int))
    return [common_rows(geometry, count), zero_rows(geometry, count), random_rows(geometry, generator, count, 1.0), equal]


def extreme_rows(rows: Rows, count: int) -> np.ndarray:
    """Return the positions of about ``count`` rows: of every column, as many as lie furthest from the column's mean.

    What a query makes of a row depends on the other rows most often there: where outliers are dropped, clipped or ranked.
    """
    distances = np.abs(rows.z[:, 1:] - rows.z[:, 1:].mean(axis=0))
    each = min(-(-count // distances.shape[1]), rows.n)
    return np.unique(np.argpartition(-distances, each - 1, axis=0)[:each])


def outlier_table(geometry: Geometry, count: int) -> Rows:
    """Return rows of zeros and a row of ones, which lies √(count - 1) standard deviations from their mean."""
    return Rows(np.vstack([zero_rows(geometry, count - 1).z, ones_to_zeros(geometry).first.z]), geometry)


def looks_at_rows(answer: Answer) -> bool:
    """Return whether a query's own function sees rows: otherwise the core counts them, or maps its moments."""
    query = answer.call.query
    cells = isinstance(query, CellQuery) and not is_core_class(type(query))
    own = cells or isinstance(query, RowQuery) or getattr(query, "weighted", False)
    return answer.call.method not in ("scan", "sparse") and own


def worst_tables(
    geometry: Geometry, answer: Answer, pairs: Pairs, count: int, generator: np.random.Generator
) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs of neighbouring tables of ``count`` rows that move an answer far, if it could depend on all of their rows."""
    call, noise = answer.call, answer.noise
    query = call.query
    if noise is None or not looks_at_rows(answer):
        return

    def move(first: Rows, second: Rows) -> float:
        one, other = (contributions(query, columns_of(rows, call.geometry), 0).sum(axis=0) for rows in (first, second))
        return float(noise.moved(one, other, run=0))

    for common in common_tables(geometry, count - 1):
        for at in np.linspace(0, pairs.first.n - 1, SEARCHED_PAIRS).astype(int):
            (first,), (second,) = pairs.take(np.array([at])).tables(common)
            most = move(first, second)
            for _ in range(ROUNDS):
                others, ends = _moved(first, generator), _moved(second.take(slice(common.n, None)), generator)
                changed = Rows(np.vstack([others.z[: common.n], ends.z]), geometry, persons=second.persons)
                moved = move(others, changed)
                if moved > most:
                    first, second, most = others, changed, moved
            yield first, second


def _moved(rows: Rows, generator: np.random.Generator) -> Rows:
    """Return the rows with other values, and some real targets nearer to 0."""
    z = nudge(rows, generator).z.copy()
    if rows.geometry.target == "real":
        z[:, -1] *= np.where(generator.random(rows.n) < 0.2, generator.random(rows.n), 1.0)
    return Rows(z, rows.geometry, persons=rows.persons)
