"""Measure the overhead of the framework, as ratios to the bare work.

    python scripts/benchmark.py            print the ratios
    python scripts/benchmark.py --check    also fail if a ratio exceeds its limit

(a) 1,500 FM fits and scores (50 x 5-fold, 6 values of ε) on a 370,000 x 13 Gaussian table, compared with 50 Gram matrices.
(b) A sweep of 600 trivial cells (100 rows, fm) with artifacts, compared with an MLflow loop that writes the same metrics,
    parameters and tags.

(c) The replay of each mechanism that a sweep does by default, on the census table, linear and logistic, in seconds of CPU time.

(d) What sweeps cost beyond their fits (sweep_benchmarks.py): recording, resuming 5,000 cells, memory, engines.

Start-up (imports, the migrations of a new store, drawing the table) is excluded on both sides.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sweep_benchmarks import measure_sweeps

MAX_FITS_RATIO = 6.0
MAX_SWEEP_RATIO = 1.6
MAX_AUDIT_SECONDS = 5.0
DEFAULT_ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a ratio exceeds its limit")
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="number of repetitions; the median ratio counts")
    parser.add_argument("--cells", type=int, default=600, help="number of cells of the trivial sweep")
    arguments = parser.parse_args()
    benchmarks: list[tuple[str, float, Callable[[], tuple[float, float]]]] = [
        ("1,500 FM fits and scores / 50 Gram matrices", MAX_FITS_RATIO, time_fits),
        (f"sweep of {arguments.cells} trivial cells / MLflow loop", MAX_SWEEP_RATIO, lambda: time_sweep(arguments.cells)),
    ]
    exceeded = False
    for name, limit, measure in benchmarks:
        pairs = [measure() for _ in range(arguments.rounds)]
        ratio = statistics.median(ours / bare for ours, bare in pairs)
        ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
        verdict = "ok" if ratio <= limit else "TOO SLOW"
        ratios = ", ".join(f"{mine / theirs:.2f}" for mine, theirs in pairs)
        print(f"{name}: {ours:.3f} s / {bare:.3f} s = {ratio:.2f} (limit {limit:g}; rounds {ratios}) {verdict}", flush=True)
        exceeded |= ratio > limit
    for name, audit_seconds in time_audits():
        verdict = "ok" if audit_seconds <= MAX_AUDIT_SECONDS else "TOO SLOW"
        print(f"replay of {name}: {audit_seconds:.2f} s (limit {MAX_AUDIT_SECONDS:g}) {verdict}", flush=True)
        exceeded |= audit_seconds > MAX_AUDIT_SECONDS
    for measurement in measure_sweeps():
        print(measurement.line, flush=True)
        exceeded |= not measurement.ok
    return int(exceeded and arguments.check)


def time_fits() -> tuple[float, float]:
    """Return the seconds of all work units of a sweep, and of 50 Gram matrices of its table."""
    from dpbench.base.one_thread import one_thread
    from dpbench.cells.loading import rows_of
    from dpbench.cells.unit_runner import run_unit
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    # 12 features and the target: 13 columns
    grid = ["dataset=gaussian", "dataset.n=370000", "dataset.d=12", "mechanism=fm", "model.intercept=false"]
    planned = plan(grid_points([*grid, "epsilon=0.1,0.2,0.4,0.8,1.6,3.2"]))
    units = planned.units()
    z = np.ascontiguousarray(rows_of(units[0].cells[0]).scaled(0).rows.z[:, 1:])
    assert z.shape == (370_000, 13)

    def bare() -> None:
        with one_thread():
            for _ in range(50):
                z.T @ z

    def ours() -> None:
        runs = sum(len(part.runs["utility/rmse"]) for unit in units for part in run_unit(unit))
        assert runs == 1_500

    bare_seconds = _seconds(bare)
    return _seconds(ours), bare_seconds


def time_sweep(cells: int) -> tuple[float, float]:
    """Return the seconds of a recorded sweep, and of an MLflow loop that writes the same numbers."""
    import pandas  # noqa: F401  imported here so that its import is not measured
    from mlflow.entities import Metric, Param

    from dpbench.sweeps.execution import execute
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan
    from dpbench.tracking.store import open_store

    epsilons = ",".join(f"{0.01 * (index + 1):.2f}" for index in range(cells))
    grid = ["dataset=gaussian", "dataset.n=100", "dataset.d=3", "mechanism=fm", "audit.level=none", f"epsilon={epsilons}"]
    with tempfile.TemporaryDirectory() as name:
        uri = f"sqlite:///{Path(name) / 'ours.db'}"
        points = grid_points([*grid, "engine=serial", f"tracking.uri={uri}"])
        open_store(uri).close()
        outcome: Any = None

        def ours() -> None:
            nonlocal outcome
            outcome = execute(plan(points), points[0].config, sweep=True, command=[], overrides=())

        seconds = _seconds(ours)
        assert len(outcome.cells) == cells
        with open_store(f"sqlite:///{Path(name) / 'bare.db'}") as store:

            def bare() -> None:
                for record in outcome.cells:
                    now = time.time_ns() // 1_000_000
                    metrics = [Metric(key, value, now, 0) for key, value in record.metrics.items()]
                    metrics += [
                        Metric(key, value, now, step)
                        for key, values in record.history.items()
                        for step, value in enumerate(values)
                    ]
                    params = [Param(key, value) for key, value in record.params.items()]
                    run = store.client.create_run(store.experiment_id, tags=dict(record.tags))
                    store.client.log_batch(run.info.run_id, metrics=metrics, params=params)
                    store.client.set_terminated(run.info.run_id)

            return seconds, _seconds(bare)


def time_audits() -> Iterator[tuple[str, float]]:
    """Yield each mechanism and model with the CPU time of its audit in a sweep."""
    from dpbench.cells.audit_unit import run_audit
    from dpbench.sweeps.auditing import Audits
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    grid = ["mechanism=glob(*)", "model=linear,logistic", "dataset=census", "splits.repeats=1", "audit.level=replay"]
    units = Audits(plan(grid_points(grid)), {}).units
    run_audit(units[0])  # imports what all of them need
    for unit in units:
        result = run_audit(unit)
        if result.passed is not None:
            yield f"{unit.cell.mechanism.name} on {unit.cell.model.name}", result.seconds


def _seconds(work: Callable[[], None]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
