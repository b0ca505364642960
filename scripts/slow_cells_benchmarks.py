"""What a cell of each of the slowest kinds costs: exact logistic fits, noisy histograms, lasso and elastic net.

    python scripts/slow_cells_benchmarks.py      print the CPU seconds of each

The tables are drawn and the modules imported beforehand. Cells of logistic models include the non-private fits that all cells on
the same splits share. To compare with an earlier version, run this file with PYTHONPATH set to a checkout of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from sweep_benchmarks import Measurement

from dpbench.cells.work_unit import Unit

CENSUS = ("dataset=census", "dataset.attributes=11", "dataset.scaling=corner", "model.intercept=false", "epsilon=0.8")
WINE = ("mechanism=fm", "dataset=wine", "model.penalty=cv")
CELLS: tuple[tuple[str, float | None, tuple[str, ...]], ...] = (
    ("no_privacy, logistic, census (250 runs)", 5.5, ("mechanism=no_privacy", "model=logistic", *CENSUS)),
    ("dpme, linear, census (250 runs)", None, ("mechanism=dpme", "model=linear", *CENSUS)),
    ("dpme, logistic, census (250 runs)", 8.3, ("mechanism=dpme", "model=logistic", *CENSUS)),
    ("fp, linear, census (250 runs)", None, ("mechanism=fp", "model=linear", *CENSUS)),
    ("fp, logistic, census (250 runs)", 7.6, ("mechanism=fp", "model=logistic", *CENSUS)),
    ("fm, lasso, wine, λ by cross-validation (250 runs)", 1.0, ("model=lasso", *WINE)),
    ("fm, elastic_net, wine, λ by cross-validation (250 runs)", 1.0, ("model=elastic_net", *WINE)),
)
"""The name of each cell, how many seconds it may take, a fifth of what it once took, and its options."""


def measure_slow_cells() -> Iterator[Measurement]:
    """Yield the CPU seconds of each cell, on one thread of this process and without its audit."""
    from dpbench.cells.loading import rows_of
    from dpbench.cells.unit_runner import run_unit
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    def units(options: tuple[str, ...]) -> list[Unit]:
        return list(plan(grid_points([*options, "audit.level=none"])).units())

    for _, _, options in CELLS:
        run_unit(units((*options, "splits.repeats=1"))[0])  # imports what the cell needs
    for name, limit, options in CELLS:
        cell = units(options)
        rows_of(cell[0].cells[0]).scaled(0)
        start = time.process_time()
        for unit in cell:
            (result,) = run_unit(unit)
            assert not result.error, result.error
        yield Measurement(name, time.process_time() - start, "s of CPU", limit)


if __name__ == "__main__":
    for measurement in measure_slow_cells():
        print(measurement.line, flush=True)
