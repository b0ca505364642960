"""Measure what the framework costs, mostly as ratios to the bare work.

    python scripts/benchmark.py                      print every figure but those of the part grids
    python scripts/benchmark.py --check              also fail if one exceeds its limit
    python scripts/benchmark.py --only dense audits  measure these parts alone
    python scripts/benchmark.py --json FILE          also write the figures to a file

The parts:

dense      1,500 FM fits and scores (50 x 5-fold, 6 values of ε) on a 370,000 x 13 Gaussian table, compared with 50 Gram matrices,
           1,500 calls of numpy.linalg.lstsq and 1,500 fits of diffprivlib; what further cells on the same splits cost.
recording  A sweep of 600 trivial cells (100 rows, fm) with artifacts, compared with an MLflow loop that writes the same metrics,
           parameters and tags.
audits     The replay of each mechanism that a sweep does by default, on the census table, linear and logistic.
sweeps     What sweeps cost beyond their fits (sweep_benchmarks.py): recording, resuming 5,000 cells, memory, engines.
slow       The slowest kinds of cell (slow_cells_benchmarks.py): exact logistic fits, histograms of a million bins, lasso.
streaming  A table larger than memory, compared with a bare scan (streaming_benchmarks.py): 50 million rows, 5.6 GB of disk.
growth     How time grows with rows and columns (growth_benchmarks.py).
agreement  Fits without noise, compared with an independent solver (agreement_benchmarks.py): relative errors of weights.
startup    Whole commands (startup_benchmarks.py).
grids      The 19 figures of the papers in full size (grid_benchmarks.py): 12 minutes, so only if --only names it.

Except for whole commands, start-up (imports, the migrations of a new store, drawing the table) is excluded on both sides.
Seconds are those of the processor unless a line says otherwise.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from agreement_benchmarks import measure_agreement
from dense_benchmarks import measure_dense
from grid_benchmarks import measure_grids
from growth_benchmarks import measure_growth
from slow_cells_benchmarks import measure_slow_cells
from startup_benchmarks import measure_startup
from streaming_benchmarks import measure_streaming
from sweep_benchmarks import Measurement, measure_sweeps

MAX_SWEEP_RATIO = 1.6
MAX_AUDIT_SECONDS = 5.0
DEFAULT_ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a figure exceeds its limit")
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="number of repetitions; the median ratio counts")
    parser.add_argument("--cells", type=int, default=600, help="number of cells of the trivial sweep")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")
    parts: dict[str, Callable[[], Iterator[Measurement]]] = {
        "dense": lambda: measure_dense(arguments.rounds),
        "recording": lambda: measure_sweep(arguments.cells, arguments.rounds),
        "audits": measure_audits,
        "sweeps": measure_sweeps,
        "slow": measure_slow_cells,
        "streaming": measure_streaming,
        "growth": measure_growth,
        "agreement": measure_agreement,
        "startup": measure_startup,
        "grids": measure_grids,
    }
    by_default = [part for part in parts if part != "grids"]
    parser.add_argument("--only", nargs="+", choices=parts, default=by_default, metavar="PART", help="the parts to measure")
    arguments = parser.parse_args()
    measurements = []
    for part in arguments.only:
        for measurement in parts[part]():
            print(measurement.line, flush=True)
            measurements.append(measurement)
    if arguments.json:
        arguments.json.write_text(json.dumps(_as_dict(measurements), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(arguments.check and not all(measurement.ok for measurement in measurements))


def _as_dict(measurements: list[Measurement]) -> dict[str, Any]:
    """Return the figures, and what they depend on."""
    figures = [{**asdict(measurement), "ok": measurement.ok} for measurement in measurements]
    return {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine(), "figures": figures}


def measure_sweep(cells: int, rounds: int) -> Iterator[Measurement]:
    """Yield what a sweep of trivial cells costs, relative to the bare calls of MLflow."""
    ratio = statistics.median(ours / bare for ours, bare in (time_sweep(cells) for _ in range(rounds)))
    yield Measurement(f"sweep of {cells} trivial cells / MLflow loop", ratio, "", MAX_SWEEP_RATIO)


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
                    params = [Param(key, value) for key, value in record.params.items()]
                    run = store.client.create_run(store.experiment_id, tags=dict(record.tags))
                    store.client.log_batch(run.info.run_id, metrics=metrics, params=params)
                    store.client.set_terminated(run.info.run_id)

            return seconds, _seconds(bare)


def measure_audits() -> Iterator[Measurement]:
    """Yield the seconds of each mechanism's and model's audit in a sweep."""
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
            name = f"replay of {unit.cell.mechanism.name} on {unit.cell.model.name}"
            yield Measurement(name, result.seconds, "s of CPU", MAX_AUDIT_SECONDS)


def _seconds(work: Callable[[], None]) -> float:
    """Return the processor's seconds of the work, which happens in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
