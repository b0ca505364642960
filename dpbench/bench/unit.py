"""A work unit: the cells that share rows and splits, on one block of repeats. A pure function: unit in, results out."""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import scipy.linalg  # noqa: F401  loads SciPy's BLAS, so that the limit below reaches it

from dpbench.attack import Attack, Target
from dpbench.bench.cell import Cell, digest
from dpbench.bench.sources import Source, source_of
from dpbench.data.statistics import Block, WholeSample
from dpbench.fit import Fit
from dpbench.mechanism import Mechanism
from dpbench.model import Problem
from dpbench.privacy.curator import Curator, Draws
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.registry import registry


@dataclass(frozen=True)
class Unit:
    """Cells that share their rows, their model and their splits, on one block of repeats."""

    cells: tuple[Cell, ...]
    repeats: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.cells[0].shared[:8]}:{self.repeats[0]}"


@dataclass(frozen=True)
class Part:
    """One cell on one block of repeats: per-run numbers, the ledger, and no row."""

    key: str
    repeats: tuple[int, ...]
    runs: dict[str, np.ndarray] = field(default_factory=dict)
    """Columns with one value a run: ``repeat``, ``fold``, ``n_train``, ``status``, ``weights`` and every metric."""
    health: dict[str, np.ndarray] = field(default_factory=dict)
    coefficients: tuple[str, ...] = ()
    ledger: Ledger | None = None
    fit_seconds: float | None = None
    seconds: float = 0.0
    error: str = ""


def run_unit(unit: Unit) -> list[Part]:
    """Every cell of the unit; a cell that fails says why and leaves the others alone."""
    with one_thread():
        runner = _Runner(unit)
        return [runner.part(cell) for cell in unit.cells]


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread: two of them change the last bits of some products."""
    with _controller().limit(limits=1):
        yield


@cache
def _controller():  # type: ignore[no-untyped-def]
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Runner:
    """What the cells of a unit share: sums, draws, the references."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.source: Source = source_of(unit.cells[0])
        self.block: Block = self.source.block(unit.repeats)
        self.draws = Draws(self.source.seed, self.source.identity, self.block.runs)
        preparing = Curator(self.block.train, self.draws, Budget(), self.source.scaled(unit.repeats[0]).leaks)
        self.problem: Problem = self.source.model.prepare(preparing)
        self.prepared = preparing.ledger
        self._shared: dict[str, np.ndarray] | None = None
        self._fit: tuple[str, Fit, Ledger, float | None] | None = None

    def part(self, cell: Cell) -> Part:
        start = time.perf_counter()
        try:
            fit, ledger, fit_seconds = self.fit(cell)
            runs = {**self.shared(), **self.utility(cell, fit), **self.attacked(cell, fit, ledger)}
            runs["status"] = fit.status
            runs["weights"] = fit.weights
            names = self.block.geometry.names
            seconds = time.perf_counter() - start
            return Part(cell.key, self.unit.repeats, runs, dict(fit.health), names, ledger, fit_seconds, seconds)
        except Exception as error:  # noqa: BLE001  a plugin may raise anything: the cell is recorded as failed, the others go on
            return Part(cell.key, self.unit.repeats, error=_explained(error), seconds=time.perf_counter() - start)

    def shared(self) -> dict[str, np.ndarray]:
        """The columns that do not depend on the mechanism: who the runs are, and the two references."""
        if self._shared is None:
            block = self.block
            repeats, folds = np.array(block.runs).T
            exact = self.problem.score(self.problem.exact(block.train).weights, block.test)
            constant = self.problem.reference(block.train, block.test)
            self._shared = {
                "repeat": repeats,
                "fold": folds,
                "seed": np.full(len(repeats), self.source.seed),
                "n_train": block.train.n.astype(int),
                "n_test": block.test.n.astype(int),
                **{f"reference/no_privacy/{name}": values for name, values in exact.items()},
                **{f"reference/mean_predictor/{name}": values for name, values in constant.items()},
            }
        return self._shared

    def curator(self, budget: Budget) -> Curator:
        """A curator whose ledger begins with what preparing the model leaked and cost."""
        return Curator(self.block.train, self.draws, budget, self.prepared.leaks, self.prepared.entries)

    def fit(self, cell: Cell) -> tuple[Fit, Ledger, float | None]:
        """The cell's fit; cells that differ by the attack only share it."""
        settings = cell.settings
        key = digest([cell.mechanism.as_config(), settings.epsilon, settings.delta, settings.budget])
        if self._fit is None or self._fit[0] != key:
            mechanism: Mechanism = registry().get("mechanism", cell.mechanism.name).build(cell.mechanism.options)
            budget = Budget(settings.epsilon, settings.delta, mechanism.currency)
            curator = self.curator(budget)
            fit = mechanism.fit(curator, self.problem, budget)
            size = (len(self.block.runs), self.block.geometry.dimension)
            if fit.weights.shape != size:
                raise ValueError(f"{mechanism.name} must return weights of shape {size}. Got {fit.weights.shape} instead.")
            timed = self.seconds_of_one_fit(mechanism, budget) if 0 in self.unit.repeats else None
            self._fit = key, fit, curator.ledger, timed
        return self._fit[1:]

    def seconds_of_one_fit(self, mechanism: Mechanism, budget: Budget) -> float:
        """One fit from rows, cold, on one thread: the median of three, or one that takes long."""
        rows = self.block.train.rows(0)
        times: list[float] = []
        while len(times) < 3 and sum(times) < 0.5:
            start = time.perf_counter()
            curator = Curator(WholeSample(rows), self.draws.one(0), budget)
            mechanism.fit(curator, self.source.model.prepare(curator), budget)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def utility(self, cell: Cell, fit: Fit) -> dict[str, np.ndarray]:
        """Scores, and the paired differences to the non-private fit."""
        finite = np.isfinite(fit.weights).all(axis=1)
        scores = self.problem.score(np.where(finite[:, None], fit.weights, 0.0), self.block.test)
        scores = {name: np.where(finite, values, np.nan) for name, values in scores.items()}
        exact = self.shared()
        excess = {f"excess_{name}": values - exact[f"reference/no_privacy/{name}"] for name, values in scores.items()}
        return {f"utility/{name}": values for name, values in {**scores, **excess}.items()}

    def attacked(self, cell: Cell, fit: Fit, ledger: Ledger) -> dict[str, np.ndarray]:
        attack: Attack = registry().get("attack", cell.attack.name).build(cell.attack.options)
        target = Target(self.problem, fit.weights, self.block.train, self.block.test, ledger.total.epsilon)
        return {f"attack/{name}": values for name, values in attack.run(target).items()}


def _explained(error: Exception) -> str:
    """What failed and where, without the frames' values."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
    return f"{type(error).__name__}: {error} ({where} in {last.name})"
