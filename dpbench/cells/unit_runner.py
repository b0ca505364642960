"""Run a work unit on one worker. A pure function: unit in, one result per cell out."""

import time
from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np

from dpbench.audit.fit_check import check_fit, claims_privacy
from dpbench.audit.fresh_noise import check_fresh_noise
from dpbench.base.core_classes import is_core_class
from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.base.one_thread import one_thread
from dpbench.base.phases import phase
from dpbench.base.random_streams import stream
from dpbench.cells.budgets import budget_of
from dpbench.cells.cell import Cell
from dpbench.cells.cell_fit import CellFit, PreparedFit, prepared_fits, scored_together, worth_preparing
from dpbench.cells.failures import CAUGHT, explained, traceback_of
from dpbench.cells.fit_timing import FitTimer
from dpbench.cells.intervals import CellIntervals, Truth, intervals_of
from dpbench.cells.loading import rows_of
from dpbench.cells.scoring import References, finite_weights, references_of, run_columns, utility_columns, where_finite
from dpbench.cells.table_health import table_health
from dpbench.cells.time_limit import within
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.contracts.attack import Attack, AttackTarget
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.metric import Predictions, evaluate
from dpbench.contracts.model import Problem
from dpbench.data.blocks import Block
from dpbench.data.samples import Sample
from dpbench.inference.wording import absent
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation
from dpbench.privacy.secure_noise import SecureCurator
from dpbench.records.names import NONZERO, PENALTY
from dpbench.registry.lookup import registry


def run_unit(unit: Unit, timeout: float | None = None) -> list[BlockResult]:
    """Return the result of every cell of the unit; a cell that fails says why and leaves the others alone.

    ``timeout`` are the seconds that a cell may take on all of its repeats.
    """
    with one_thread():
        try:
            # units that hold other cells on the same block follow each other and share the runner
            key = unit.cells[0].shared, unit.repeats
            runner = within(timeout, lambda: last_runner.get(key, lambda: UnitRunner(unit)))
        except CAUGHT as error:
            return [_failed(error, cell, unit.repeats, timeout) for cell in unit.cells]
        return runner.results(unit.cells, timeout)


class UnitRunner:
    """Runs cells on one block and holds what they share: sums over rows, references, the last fit, what attacks prepare."""

    def __init__(self, unit: Unit) -> None:
        start = time.perf_counter()
        self.repeats = unit.repeats
        self.source = rows_of(unit.cells[0])
        if unit.sums is not None:
            self.source.take(unit.sums)
        first = self.source.facts(unit.repeats[0])  # before the block passes over the tables of the later repeats
        self.table_health = table_health(self.source, unit.repeats[0])
        self.block = self.source.block(unit.repeats)
        self.draws = Draws(self.source.seed, self.source.identity, self.block.runs)
        preparing = Curator(self.block.train, self.draws, Budget(), first.leaks)
        preparing.tape = []
        self.problem: Problem = self.source.model.prepare(closed(preparing))
        self.preparation, self.preparing_tape = preparing.ledger, preparing.tape
        self.metrics = registry().metrics_of(self.source.model, unit.cells[0].settings.flags)
        self._last_fit: OneEntryCache[CellFit] = OneEntryCache()
        self._prepared: dict[str, PreparedFit] = {}
        self._earlier_seconds = 0.0
        """What the last cell's fit took before the cell's turn."""
        self._check_seconds = 0.0
        """What checking the last cell's fit took: it is not the cell's own time."""
        self._remembered: dict[Hashable, Any] = {}
        self._shared_seconds = time.perf_counter() - start
        """What preparing the block took since the last result: it is no cell's own time."""

    def results(self, cells: Sequence[Cell], timeout: float | None = None) -> list[BlockResult]:
        """Return the result of every cell. Where a metric needs rows, these are read once for the fits of several cells."""
        results = []
        of_one_fit = [list(same) for _, same in groupby(cells, key=lambda cell: cell.fit)]
        together = scored_together(self.block.test)
        for start in range(0, len(of_one_fit), together):
            batch = of_one_fit[start : start + together]
            self._prepared = self._prepare([same[0] for same in batch], timeout)
            results += [self.result(cell, timeout) for same in batch for cell in same]
        self._prepared = {}
        return results

    def result(self, cell: Cell, timeout: float | None = None) -> BlockResult:
        """Return the cell's numbers on this block, or why it failed."""
        start, self._check_seconds, self._earlier_seconds = time.perf_counter(), 0.0, 0.0
        try:
            return within(self._limit(cell, timeout), lambda: self._numbers(cell, start))
        except CAUGHT as error:
            failed = _failed(error, cell, self.repeats, timeout)
            return replace(failed, seconds=time.perf_counter() - start + self._earlier_seconds)

    def _limit(self, cell: Cell, timeout: float | None) -> float | None:
        """Return the seconds that a cell may take on this block: its share of the time for all repeats."""
        return None if timeout is None else timeout * len(self.repeats) / cell.splits.repeats

    def _prepare(self, cells: Sequence[Cell], timeout: float | None) -> dict[str, PreparedFit]:
        """Make and score the fits of these cells together, if that saves passes over the rows."""
        if not worth_preparing(cells, self.metrics, self.block.test):
            return {}
        start = time.perf_counter()
        try:
            within(timeout, lambda: self.references)  # first, so that what all cells share is no cell's own time
        except CAUGHT:
            return {}  # each cell will meet it again, and say so
        self._shared_seconds += time.perf_counter() - start
        return prepared_fits(cells, self.fit, self.metrics, self.block.test, self._limit(cells[0], timeout))

    def _fitted(self, cell: Cell) -> CellFit:
        """Return the cell's fit: the prepared one, or a new one."""
        prepared = self._prepared.get(cell.fit)
        fitted = self.fit(cell) if prepared is None else prepared.fitted
        self._earlier_seconds = 0.0 if prepared is None else prepared.seconds
        if isinstance(fitted, BaseException):
            raise fitted
        self._check_seconds = fitted.check_seconds
        return fitted

    def _numbers(self, cell: Cell, start: float) -> BlockResult:
        references = self.references
        self._shared_seconds += time.perf_counter() - start
        start = time.perf_counter()
        fitted = self._last_fit.get(cell.fit, lambda: self._fitted(cell))
        fit = fitted.fit
        scores = self._prepared[cell.fit].scores if cell.fit in self._prepared else None
        with phase("score"):
            utility = utility_columns(self.metrics, fit, self.block, references, scores)
            intervals = self.intervals(cell, fit)
        columns = {
            **run_columns(self.block, self.source.seed),
            **references.columns,
            **utility,
            **self.attacked(cell, fitted),
            "status": fit.status,
            **self.model_numbers(fit),
            **intervals.metrics,
        }
        seconds = time.perf_counter() - start + self._earlier_seconds - self._check_seconds
        runs = {**{name: values for name, values in columns.items() if values.ndim == 1}, "weights": fit.weights}
        curves = {name: values for name, values in columns.items() if values.ndim > 1}
        notes, clipped = {**fit.notes, **self.table_health.notes}, self.table_health.features_clipped
        names, ledger = self.block.geometry.names, fitted.ledger
        health = {**fit.health, **intervals.health}
        numbers = BlockResult(cell.key, self.repeats, runs, curves, health, notes, names, ledger, intervals, clipped)
        shared, self._shared_seconds = self._shared_seconds, 0.0
        numbers = replace(numbers, seconds=seconds, check_seconds=self._check_seconds, shared_seconds=shared)
        return replace(numbers, fit_seconds=fitted.seconds, violation=fitted.violation)

    def model_numbers(self, fit: Fit) -> dict[str, np.ndarray]:
        """Return how many weights of each run are not zero, and the λ that was chosen for it, where the model has these."""
        numbers = {}
        if self.problem.sparse:
            finite, weights = finite_weights(fit)
            penalised = weights[:, int(self.block.geometry.intercept) :]
            numbers[NONZERO] = where_finite(finite, np.count_nonzero(penalised, axis=1).astype(float))
        if self.problem.chosen_penalty is not None:
            numbers[PENALTY] = self.problem.chosen_penalty
        return numbers

    def intervals(self, cell: Cell, fit: Fit) -> CellIntervals:
        """Return the intervals of a fit's coefficients, and how they compare."""

        def draws(run: int) -> np.random.Generator:
            return stream(self.source.seed, self.source.identity, "intervals", *self.block.runs[run])

        try:
            return intervals_of(fit, cell.inference, self.truth, draws)
        except Exception as error:  # noqa: BLE001  intervals come after the fit: their failure costs no other number
            return CellIntervals((absent(f"making them failed with {type(error).__name__}"),))

    @cached_property
    def truth(self) -> Truth:
        """What the intervals of this block's runs are compared with."""
        known, geometry = self.source.known_coefficients(self.block.runs), self.block.geometry
        exact = self.references.weights, self.references.standard_errors
        return Truth(self.block.train.n, *exact, known, self.source.dataset.resample, geometry.intercept, geometry.public_count)

    @cached_property
    @phase("score")
    def references(self) -> References:
        return references_of(self.metrics, self.problem, self.block)

    @phase("fit")
    def fit(self, cell: Cell) -> CellFit:
        """Fit the cell's mechanism to the block."""
        mechanism: Mechanism = cell.build("mechanism")
        budget = budget_of(cell.settings, mechanism, self.source.model, self.block.geometry, int(self.block.train.n[0]))
        checked = registry().runs_plugin(mechanism, self.source.model)
        # a plugin has draws of its own: what it does to them must not reach other cells
        draws = Draws(self.draws.seed, self.draws.identity, self.draws.runs) if checked else self.draws
        curator = self.curator(budget, cell.settings.noise, draws)
        curator.tape = list(self.preparing_tape) if checked else None
        start = time.perf_counter()
        fit = fit_closed(mechanism, self.problem, curator, budget)
        violation, check_seconds = "", 0.0
        if checked and claims_privacy(curator.ledger):
            simulated, elapsed = cell.settings.noise == "simulation", time.perf_counter() - start
            try:
                check_fit(mechanism, self.source.model, curator, self.block.train, fit, elapsed, draws if simulated else None)
                if simulated:
                    self._check_noise(mechanism, budget, fit)
            except Violation as error:
                violation = str(error)
            check_seconds = time.perf_counter() - start - elapsed
        timed = 0 in self.repeats and not self.source.streamed  # a fit from rows would be a pass over the file
        seconds = self._seconds_of_one_fit(mechanism, budget) if timed else None
        return CellFit(mechanism, budget, fit, curator.ledger, seconds, violation, check_seconds)

    def _check_noise(self, mechanism: Mechanism, budget: Budget, fit: Fit) -> None:
        def refit(draws: Draws) -> np.ndarray:
            return fit_closed(mechanism, self.problem, Curator(self.block.train, draws, budget), budget).weights

        check_fresh_noise(fit.weights, self.problem.exact(self.block.train).weights, self.block.runs, refit)

    def curator(self, budget: Budget, noise: str, draws: Draws) -> Curator:
        """Return a curator whose ledger begins with what preparing the model leaked and cost."""
        before = self.preparation.leaks, self.preparation.entries
        if noise == "secure":
            return SecureCurator(self.block.train, budget, *before)
        return Curator(self.block.train, draws, budget, *before)

    def _seconds_of_one_fit(self, mechanism: Mechanism, budget: Budget) -> float:
        """Time a fit of the first run from its rows."""

        def fit(sample: Sample) -> None:
            curator = Curator(sample, self.draws.for_run(0), budget)
            fit_closed(mechanism, self.source.model.prepare(closed(curator)), curator, budget)

        return self._timer.seconds(fit)

    @cached_property
    def _timer(self) -> FitTimer:
        return FitTimer(self.block.train.rows(0))

    @phase("attack")
    def attacked(self, cell: Cell, fitted: CellFit) -> dict[str, np.ndarray]:
        """Return the attack's metrics. Runs with non-finite weights get NaN, except in the controls, which use no weights."""
        finite, weights = finite_weights(fitted.fit)
        attack: Attack = cell.build("attack")
        target = AttackTarget(
            self.problem if is_core_class(type(attack)) else deepcopy(self.problem),
            weights,
            self.block.train,
            self.block.test,
            fitted.ledger.total.epsilon,
            self.block,
            lambda block: self.refitted(fitted, block),
            lambda *names: stream(self.source.seed, self.source.identity, "attack", *names),
            lambda weights, sample: evaluate(self.metrics, Predictions(weights, sample)),
            partial(self.remembered, type(attack)),
        )
        return {
            f"attack/{name}": values if name.startswith("control/") else where_finite(finite, values)
            for name, values in attack.run(target).items()
        }

    def refitted(self, fitted: CellFit, block: Block) -> np.ndarray:
        """Return the weights of the mechanism on other splits, with noise that no cell has seen."""
        draws = Draws(self.source.seed, f"{self.source.identity} shadow", block.runs)
        preparing = closed(Curator(block.train, draws, Budget()))
        problem = self.remembered(Block, block, lambda: self.source.model.prepare(preparing))
        return fit_closed(fitted.mechanism, problem, Curator(block.train, draws, fitted.budget), fitted.budget).weights

    def remembered(self, owner: type, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what an earlier cell computed under this key for the same class, or compute it."""
        entry = id(owner), key  # by identity, so that no class can pass for another one
        if entry not in self._remembered:
            self._remembered[entry] = compute()
        return self._remembered[entry]


def _failed(error: BaseException, cell: Cell, repeats: tuple[int, ...], timeout: float | None) -> BlockResult:
    sentence = explained(error, cell, timeout)
    return BlockResult(cell.key, repeats, error=sentence, traceback=traceback_of(error, sentence))


last_runner: OneEntryCache[UnitRunner] = OneEntryCache()
