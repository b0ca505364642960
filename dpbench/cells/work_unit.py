"""A work unit: the cells that share rows and splits, on one block of repeats. A pure function: unit in, results out."""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg  # noqa: F401  loads SciPy's BLAS, so that the limit below reaches it

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.cells.budgets import budget_of
from dpbench.cells.cell import Cell
from dpbench.cells.loading import DatasetRows, source_of
from dpbench.contracts.attack import Attack, AttackTarget
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.metric import ConstantPredictions, Predictions, evaluate
from dpbench.contracts.model import Problem
from dpbench.data.blocks import Block
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator, Draws
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.secure_noise import SecureCurator
from dpbench.registry.lookup import registry

if TYPE_CHECKING:
    from dpbench.audit.procedure import Audit


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
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    """Metrics that are curves: (runs, points)."""
    health: dict[str, np.ndarray] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)
    coefficients: tuple[str, ...] = ()
    ledger: Ledger | None = None
    fit_seconds: float | None = None
    seconds: float = 0.0
    error: str = ""
    audited: Audit | None = None
    """In the part of the first repeat, where an audit was asked for and something is claimed."""


def run_unit(unit: Unit) -> list[Part]:
    """Every cell of the unit; a cell that fails says why and leaves the others alone."""
    with one_thread():
        try:
            runner = _runner(unit)
        except (Exception, SystemExit) as error:  # noqa: BLE001  a plugin may raise anything: it costs this unit's cells only
            return [Part(cell.key, unit.repeats, error=_explained(error, cell)) for cell in unit.cells]
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


_kept: dict[tuple[str, tuple[int, ...]], _Runner] = {}


def _runner(unit: Unit) -> _Runner:
    """The last runner is kept: units that cut one block's cells into pieces share its sums and references."""
    key = (unit.cells[0].shared, unit.repeats)
    if key not in _kept:
        _kept.clear()
        _kept[key] = _Runner(unit)
    return _kept[key]


@dataclass(frozen=True)
class _Fitted:
    """The last fit, for cells that differ by the attack only."""

    key: str
    mechanism: Mechanism
    budget: Budget
    fit: Fit
    ledger: Ledger
    seconds: float | None


class _Runner:
    """What the cells of a block share: sums, draws, the references, what attacks prepare."""

    def __init__(self, unit: Unit) -> None:
        self.repeats = unit.repeats
        self.source: DatasetRows = source_of(unit.cells[0])
        self.block: Block = self.source.block(unit.repeats)
        self.draws = Draws(self.source.seed, self.source.identity, self.block.runs)
        self.clipped = self.source.scaled(0).rows.clipped
        preparing = Curator(self.block.train, self.draws, Budget(), self.source.scaled(unit.repeats[0]).leaks)
        self.problem: Problem = self.source.model.prepare(preparing)
        self.prepared = preparing.ledger
        self.metrics = registry().metrics_of(self.source.model)
        self._shared: dict[str, np.ndarray] | None = None
        self._fitted: _Fitted | None = None
        self._known: dict[Hashable, Any] = {}

    def part(self, cell: Cell) -> Part:
        start = time.perf_counter()
        try:
            fitted = self.fit(cell)
            fit = fitted.fit
            found = {**self.shared(), **self.utility(cell, fit), **self.attacked(cell, fitted)}
            runs = {name: values for name, values in found.items() if values.ndim == 1}
            curves = {name: values for name, values in found.items() if values.ndim > 1}
            runs["status"] = fit.status
            runs["weights"] = fit.weights
            names = self.block.geometry.names
            seconds = time.perf_counter() - start
            health, notes = dict(fit.health), {**fit.notes, "target_clipped": self.clipped}
            audited = self.audited(cell, fitted)
            return Part(
                cell.key,
                self.repeats,
                runs,
                curves,
                health,
                notes,
                names,
                fitted.ledger,
                fitted.seconds,
                seconds,
                audited=audited,
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001  the cell is recorded as failed, the others go on
            return Part(cell.key, self.repeats, error=_explained(error, cell), seconds=time.perf_counter() - start)

    def shared(self) -> dict[str, np.ndarray]:
        """The columns that do not depend on the mechanism: who the runs are, and the two references."""
        if self._shared is None:
            block = self.block
            repeats, folds = np.array(block.runs).T
            fit = self.problem.exact(block.train)
            if not isinstance(fit, Fit):
                what = type(self.problem).__name__
                raise TypeError(f"{what}.exact must return a dpbench.Fit. Got {type(fit).__name__} instead.")
            exact = evaluate(self.metrics, Predictions(fit.weights, block.test))
            constant = evaluate(self.metrics, ConstantPredictions(block.train, block.test))
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

    def curator(self, budget: Budget, noise: str) -> Curator:
        """A curator whose ledger begins with what preparing the model leaked and cost."""
        before = self.prepared.leaks, self.prepared.entries
        if noise == "secure":
            return SecureCurator(self.block.train, budget, *before)
        return Curator(self.block.train, self.draws, budget, *before)

    def fit(self, cell: Cell) -> _Fitted:
        """The cell's fit; cells that differ by the attack only share it."""
        settings = cell.settings
        if self._fitted is None or self._fitted.key != cell.fit:
            mechanism: Mechanism = registry().get("mechanism", cell.mechanism.name).build(cell.mechanism.options)
            n = int(self.block.train.n[0])
            budget = budget_of(settings, mechanism, self.source.model, self.block.geometry, n)
            curator = self.curator(budget, settings.noise)
            fit = mechanism.fit(curator, self.problem, budget)
            if not isinstance(fit, Fit):
                raise TypeError(f"{mechanism.name} must return a dpbench.Fit. Got {type(fit).__name__} instead.")
            size = (len(self.block.runs), self.block.geometry.dimension)
            if fit.weights.shape != size:
                raise ValueError(f"{mechanism.name} must return weights of shape {size}. Got {fit.weights.shape} instead.")
            timed = self.seconds_of_one_fit(mechanism, budget) if 0 in self.repeats else None
            self._fitted = _Fitted(cell.fit, mechanism, budget, fit, curator.ledger, timed)
        return self._fitted

    def seconds_of_one_fit(self, mechanism: Mechanism, budget: Budget) -> float:
        """One fit from rows, cold, on one thread: the median of three, or one that takes long."""
        rows = self.block.train.rows(0)
        times: list[float] = []
        while len(times) < 3 and sum(times) < 0.5:
            start = time.perf_counter()
            curator = Curator(WholeSample(rows), self.draws.for_run(0), budget)
            mechanism.fit(curator, self.source.model.prepare(curator), budget)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def utility(self, cell: Cell, fit: Fit) -> dict[str, np.ndarray]:
        """Scores, and the paired differences to the non-private fit."""
        finite = np.isfinite(fit.weights).all(axis=1)
        scores = evaluate(self.metrics, Predictions(np.where(finite[:, None], fit.weights, 0.0), self.block.test))
        scores = {name: np.where(_along(finite, values), values, np.nan) for name, values in scores.items()}
        exact = self.shared()
        excess = {
            f"excess_{name}": values - exact[f"reference/no_privacy/{name}"]
            for name, values in scores.items()
            if values.ndim == 1
        }
        return {f"utility/{name}": values for name, values in {**scores, **excess}.items()}

    def attacked(self, cell: Cell, fitted: _Fitted) -> dict[str, np.ndarray]:
        """What the attack finds; nothing of a run whose weights are not finite, but for what needs no weights."""
        attack: Attack = registry().get("attack", cell.attack.name).build(cell.attack.options)
        finite = np.isfinite(fitted.fit.weights).all(axis=1)
        block = self.block
        target = AttackTarget(
            self.problem,
            np.where(finite[:, None], fitted.fit.weights, 0.0),
            block.train,
            block.test,
            fitted.ledger.total.epsilon,
            block,
            lambda other: self.refitted(fitted, other),
            lambda *names: stream(self.source.seed, self.source.identity, "attack", *names),
            lambda weights, sample: evaluate(self.metrics, Predictions(weights, sample)),
            self.remembered,
        )
        found = attack.run(target).items()
        return {
            f"attack/{name}": values if name.startswith("control/") else np.where(finite, values, np.nan)
            for name, values in found
        }

    def audited(self, cell: Cell, fitted: _Fitted) -> Audit | None:
        """What an audit on made-up tables of the cell's geometry found."""
        if cell.audit.level == "none" or 0 not in self.repeats or not fitted.ledger.total.private:
            return None
        from dpbench.audit.procedure import audit

        return audit(fitted.mechanism, self.source.model, fitted.budget, self.block.geometry, cell.audit)

    def refitted(self, fitted: _Fitted, block: Block) -> np.ndarray:
        """The mechanism on other splits, in a curator of its own, with noise that no cell has met."""
        draws = Draws(self.source.seed, f"{self.source.identity} shadow", block.runs)
        self.clipped = self.source.scaled(0).rows.clipped
        preparing = Curator(block.train, draws, Budget())
        problem = self.remembered(("problem", block), lambda: self.source.model.prepare(preparing))
        return fitted.mechanism.fit(Curator(block.train, draws, fitted.budget), problem, fitted.budget).weights

    def remembered(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]


def _along(which: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A mask of the runs, for numbers or for curves."""
    return which.reshape(-1, *[1] * (values.ndim - 1))


def _explained(error: BaseException, cell: Cell) -> str:
    """What failed and where. What the exception says may quote a row, so that is left out where rows are private."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
    silent = "what it says is left out, since it may quote a private row"
    words = str(error) if isinstance(error, Refused) or _public(cell) else silent
    return f"{type(error).__name__}: {words} ({where} in {last.name})"


def _public(cell: Cell) -> bool:
    try:
        return bool(registry().get("dataset", cell.dataset.name).build(cell.dataset.options).public)
    except Exception:  # noqa: BLE001  a dataset that cannot even be made is not known to be public
        return False
