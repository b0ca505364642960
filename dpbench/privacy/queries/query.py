"""Queries: the sums over rows that a mechanism asks the Curator for, without access to the rows.

There are three kinds, and all say only what a single row adds. The sums are formed here, so no query can return a total that it
computed itself: a sensitivity is a statement about one row, and would not hold for such a total.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpbench.base.core_classes import is_core_class
from dpbench.base.read_only import read_only
from dpbench.data.bins import Partition
from dpbench.data.samples import Sample, row_contributions
from dpbench.data.scaling import Rows

Array = np.ndarray


class Query(ABC):
    """A sum over rows of a vector-valued contribution: a :class:`MomentQuery`, a :class:`RowQuery` or a :class:`CellQuery`.

    ``name`` appears in the ledger, and numbers the calls. The noise stream is named by the class and this name, so that two
    mechanisms that ask the same query get the same standard noise.
    """

    name: str

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of coefficients of an answer."""

    @property
    def identity(self) -> str:
        """A text that identifies the query beyond its name: an audit compares it between neighbours."""
        return f"{type(self).__name__} of {self.size}"


@dataclass(frozen=True, eq=False)
class Layer:
    """Consecutive coefficients of an answer, each of which adds a multiple of one second moment.

    Coefficient ``start + i`` gains ``factor[i]`` times the sum over rows of z[``first[i]``] · z[``second[i]``], where z = (1,
    features, target).
    """

    first: Array
    second: Array
    factor: Array
    start: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("first", np.int64), ("second", np.int64), ("factor", np.float64)):
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=kind)))
        if not (self.first.shape == self.second.shape == self.factor.shape == (len(self.first),)) or self.start < 0:
            raise ValueError("A layer's arrays must be vectors of one length, and its start must be at least 0.")
        if not (np.isfinite(self.factor).all() and (self.first >= 0).all() and (self.second >= 0).all()):
            raise ValueError("A layer's factors must be finite, and its positions must be at least 0.")


class MomentQuery(Query):
    """A linear map of second moments, which the core holds: an answer costs no pass over the rows.

    Required
        ``name``; ``layers``: the map, as plain data. The layers' coefficients add up, and the answer has as many as they reach.

    Optional
        ``weighted = True`` and ``weights(rows, run)``: a weight for each row, a function of that row alone (and of what is
        public). The core then forms the moments of weighted rows, in one pass over each run's own rows. ``source``: queries
        with the same source share this pass.
    """

    weighted: bool = False

    @property
    @abstractmethod
    def layers(self) -> tuple[Layer, ...]:
        """The linear map."""

    @property
    def size(self) -> int:
        return max(layer.start + len(layer.factor) for layer in self.layers)

    def weights(self, rows: Rows, run: int) -> Array:
        """Return the weight of each row: (rows,)."""
        return np.ones(rows.n)

    @property
    def source(self) -> object:
        """The object whose weights these are."""
        return self


class RowQuery(Query):
    """Any other sum: the query says what each row contributes, and the core adds the contributions up, chunk by chunk.

    Required
        ``name``, ``size``; ``contribution(rows, run)``. A row's contribution depends on that row alone (and on what is public).

    Optional
        ``state``: an array with the runs as its first axis, if contributions depend on earlier answers. Then they are added up
        for each run, with ``state[run]``. A query without a state is summed once for all folds, mechanisms and ε, with run 0,
        so it must be hashable by its content: a frozen dataclass.
    """

    state: Array | None = None

    @abstractmethod
    def contribution(self, rows: Rows, run: int) -> Array:
        """Return what each row adds: (rows, size)."""


class CellQuery(Query):
    """A sum in which each row adds to the coefficients of one cell alone: an answer costs one pass, however many the cells.

    Required
        ``name``; ``cells``; ``columns``: one for each coefficient of a cell; ``partition``: its ``locate(rows)`` gives every row
        an index; ``cell_of(index, run)``: the cells of rows with these indices; ``values(rows)``: what each row adds to its cell,
        (rows, columns).
    """

    partition: Partition
    columns: tuple[int, ...]

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of cells."""

    @property
    def size(self) -> int:
        return self.cells * len(self.columns)

    @abstractmethod
    def cell_of(self, index: Array, run: int) -> Array:
        """Return the number of each row's cell: (rows,)."""

    @abstractmethod
    def values(self, rows: Rows) -> Array:
        """Return what each row adds to the coefficients of its cell: (rows, columns)."""


class Passes:
    """The last pass over weighted rows, which queries with one source share."""

    def __init__(self) -> None:
        self._last: tuple[Sample, object, int | None, Array] | None = None

    def gram(self, query: MomentQuery, sample: Sample) -> Array:
        """Return the second moments of each run's weighted rows: (runs, d + 2, d + 2)."""
        source, only = query.source, _only_row(query.layers)
        last = self._last
        if last is None or last[0] is not sample or last[1] is not source or last[2] != only:
            grams = np.stack([_weighted_gram(query, sample, run, only) for run in range(sample.runs)])
            self._last = last = sample, source, only, read_only(grams)
        return last[3]


def exact_answer(query: Query, sample: Sample, passes: Passes | None = None) -> Array:
    """Return the exact answer for each run: (runs, size). This is the only place where sums are formed."""
    if isinstance(query, RowQuery):
        answer = sample.sums(query)
    elif isinstance(query, CellQuery):
        answer = np.stack([_cell_sums(query, sample, run) for run in range(sample.runs)])
    elif isinstance(query, MomentQuery):
        gram = (passes or Passes()).gram(query, sample) if query.weighted else sample.moments.gram
        answer = _combined(query.layers, gram.shape[:1], lambda layer: gram[:, layer.first, layer.second])
    else:
        raise TypeError(f"A query must be a MomentQuery, a RowQuery or a CellQuery. Got {type(query).__name__} instead.")
    if not np.isfinite(answer).all():
        raise ValueError(f"The contributions to the query {query.name!r} must be finite numbers.")
    return read_only(answer)


def contributions(query: Query, rows: Rows, run: int) -> Array:
    """Return what each row adds to the exact answer: (rows, size)."""
    if isinstance(query, RowQuery):
        return row_contributions(query, rows, run)
    if isinstance(query, CellQuery):
        parts = np.zeros((rows.n, query.cells, len(query.columns)))
        parts[np.arange(rows.n), query.cell_of(query.partition.locate(rows), run)] = query.values(rows)
        return parts.reshape(rows.n, query.size)
    if not isinstance(query, MomentQuery):
        raise TypeError(f"A query must be a MomentQuery, a RowQuery or a CellQuery. Got {type(query).__name__} instead.")
    parts = _combined(query.layers, (rows.n,), lambda layer: rows.z[:, layer.first] * rows.z[:, layer.second])
    return _row_weights(query, rows, run)[:, None] * parts if query.weighted else parts


def stream_name(query: Query) -> str:
    """Return the name of a query's noise streams: for a core query its name, for any other its class and its name.

    A plugin's queries therefore never share noise with those of the core or of another plugin, whatever they are called.
    """
    cls, name = type(query), query.name
    if not (isinstance(name, str) and name.isprintable() and name):
        raise ValueError(f"A query's name must be a text that can be printed. Got {name!r} instead.")
    # printable names cannot contain the separator
    return name if is_core_class(cls) else "\x1e".join((cls.__module__, cls.__qualname__, name))


def _combined(layers: tuple[Layer, ...], shape: tuple[int, ...], moments: Callable[[Layer], Array]) -> Array:
    """Return the sum of the layers: (…, size)."""
    total = np.zeros((*shape, max(layer.start + len(layer.factor) for layer in layers)))
    for layer in layers:
        total[..., layer.start : layer.start + len(layer.factor)] += layer.factor * moments(layer)
    return total


def _only_row(layers: tuple[Layer, ...]) -> int | None:
    """Return the row of the matrix of moments that holds all of a query's, or None if it takes several."""
    rows = np.unique(np.concatenate([layer.first for layer in layers]))
    return int(rows[0]) if len(rows) == 1 else None


def _weighted_gram(query: MomentQuery, sample: Sample, run: int, only: int | None) -> Array:
    """Return Z'SZ, or one row of it and zeros, by products of a constant number of rows: every engine gets the same bits."""
    width = sample.geometry.features + 2
    total = np.zeros((width, width))
    for chunk in sample.chunks(run):
        weights = _row_weights(query, chunk, run)
        if only is None:
            total += chunk.z.T @ (chunk.z * weights[:, None])
        else:
            total[only] += (weights * chunk.z[:, only]) @ chunk.z
    return total


def _cell_sums(query: CellQuery, sample: Sample, run: int) -> Array:
    """Return the sums of one run's rows in each cell, cell by cell: (size,)."""
    cell, values = query.cell_of(sample.bins(query.partition, run), run), query.values(sample.rows(run))
    sums = [np.bincount(cell, weights=column, minlength=query.cells) for column in values.T]
    return np.stack(sums, axis=1).ravel()


def _row_weights(query: MomentQuery, rows: Rows, run: int) -> Array:
    weights = np.asarray(query.weights(rows, run), dtype=float)
    if weights.shape != (rows.n,):
        raise ValueError(f"The weights of the query {query.name!r} must be one number per row, {rows.n}. Got {weights.shape}.")
    return weights
