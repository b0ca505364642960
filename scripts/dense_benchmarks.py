"""What many fits of a dense table cost, compared with its Gram matrices, with least squares and with diffprivlib.

Run by scripts/benchmark.py. Both sides of every ratio are seconds of CPU time on one thread, measured in the same round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from sweep_benchmarks import Measurement

from dpbench.base.errors import PackageMissing
from dpbench.base.one_thread import one_thread
from dpbench.cells.loading import rows_of
from dpbench.cells.unit_runner import last_runner, run_unit
from dpbench.cells.work_unit import Unit
from dpbench.data.scaling import Rows
from dpbench.plugins.mechanisms.diffprivlib import package
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

TABLE = ("dataset=gaussian", "dataset.n=370000", "dataset.d=12", "model.intercept=false")
"""12 features and the target: 13 columns."""
EPSILONS = "epsilon=0.1,0.2,0.4,0.8,1.6,3.2"
REPEATS = 50
FITS = 1_500
FEW_FITS = 4
"""Fits of others are timed this often, and counted as if there were 1,500 of them."""

MAX_GRAMS = 3.3
MAX_FURTHER_SHARE = 0.03
MAX_FURTHER_SHARE_WITH_ROWS = 0.12
LEAST_SQUARES_FACTOR = 5.0
DIFFPRIVLIB_FACTOR = 30.0

DIFFPRIVLIB_PROGRAM = Path(__file__).with_name("_diffprivlib_seconds.py")


def measure_dense(rounds: int) -> Iterator[Measurement]:
    """Yield the cost of 1,500 FM fits and scores (50 x 5-fold, six values of ε), and of further cells on the same splits."""
    units = _units("mechanism=fm", EPSILONS)
    rows = rows_of(units[0].cells[0]).scaled(0).rows
    z = np.ascontiguousarray(rows.z[:, 1:])
    assert z.shape == (370_000, 13)
    _run(units[:1])  # imports what all of them need
    grams = [(_cpu_seconds(lambda: _run(units)), _cpu_seconds(lambda: _bare_grams(z))) for _ in range(rounds)]
    ours, bare = (median(column) for column in zip(*grams, strict=True))
    yield Measurement("1,500 FM fits and scores", ours, "s of CPU")
    yield Measurement("50 Gram matrices of the table", bare, "s of CPU")
    yield Measurement("fits and scores / Gram matrices", median(mine / theirs for mine, theirs in grams), "", MAX_GRAMS)
    training = rows_of(units[0].cells[0]).block([0]).train.rows(0)
    yield _least_squares(training, ours)
    yield _diffprivlib(training, ours)
    yield from _further_cells(rounds, ours)


def _least_squares(training: Rows, ours: float) -> Measurement:
    with one_thread():
        seconds = _cpu_seconds(lambda: [np.linalg.lstsq(training.x, training.y) for _ in range(FEW_FITS)]) * FITS / FEW_FITS
    name = f"1,500 numpy.linalg.lstsq of the training rows ({FEW_FITS} were timed) / fits and scores"
    return Measurement(name, seconds / ours, "", least=LEAST_SQUARES_FACTOR)


def _diffprivlib(training: Rows, ours: float) -> Measurement:
    name = f"1,500 fits of diffprivlib 0.6.6 ({FEW_FITS} were timed) / fits and scores"
    try:
        arrays = {"features": training.x, "target": training.y}
        each = package().run(DIFFPRIVLIB_PROGRAM, arrays, fits=FEW_FITS, epsilon=1.0)["seconds"]
    except PackageMissing as error:
        return Measurement(name, None, "", least=DIFFPRIVLIB_FACTOR, not_checked=str(error))
    return Measurement(name, FITS * float(median(each)) / ours, "", least=DIFFPRIVLIB_FACTOR)


def _further_cells(rounds: int, ours: float) -> Iterator[Measurement]:
    """Yield what one more cell costs on splits that already have one, as a share of the 1,500 fits and scores."""
    for suffix, limit, *options in (
        ("", MAX_FURTHER_SHARE),
        (", with a metric of the rows", MAX_FURTHER_SHARE_WITH_ROWS, "clipped=true"),
    ):
        units = _units("mechanism=fm,ssp", EPSILONS, *options)
        seconds = np.array([_seconds_of_further_cells(units) for _ in range(rounds)])
        for name, each in zip(("a further ε", "a further mechanism, ssp"), np.median(seconds, axis=0), strict=True):
            yield Measurement(f"{name}{suffix} / the 1,500 fits and scores", 100 * float(each) / ours, "%", 100 * limit)


def _seconds_of_further_cells(units: list[Unit]) -> tuple[float, float]:
    """Return what one more cell of fm, and one of ssp, adds to the seconds of a unit whose sums are there already.

    It is the difference between a unit of several cells and one of a single cell: metrics of the rows are computed for all fits
    of a unit in one pass over the rows, which the single cell pays for, too.
    """
    last_runner.clear()
    added = np.zeros(2)
    for unit in units:
        first, *fm = (cell for cell in unit.cells if cell.mechanism.name == "fm")
        ssp = [cell for cell in unit.cells if cell.mechanism.name == "ssp"]
        _run([Unit((first,), unit.repeats)])
        for position, (one, *more) in enumerate((fm, ssp)):
            single, several = (partial(_run, [Unit(tuple(cells), unit.repeats)]) for cells in ((one,), more))
            added[position] += (-_cpu_seconds(single) + _cpu_seconds(several)) / (len(more) - 1)
    return float(added[0]), float(added[1])


def _units(*grid: str) -> list[Unit]:
    return plan(grid_points([*TABLE, *grid])).units()


def _run(units: list[Unit]) -> None:
    """Run the units, which must all succeed."""
    for unit in units:
        for part in run_unit(unit):
            assert not part.error, part.error


def _bare_grams(z: np.ndarray) -> None:
    with one_thread():
        for _ in range(REPEATS):
            z.T @ z


def _cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor's seconds of this process, which other work on the machine changes less than the clock's."""
    start = time.process_time()
    work()
    return time.process_time() - start
