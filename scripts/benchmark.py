"""Measure what the framework costs beside the bare work, in one run, as ratios.

    python scripts/benchmark.py            print the figures
    python scripts/benchmark.py --check    and fail where one falls short

(a) 1,500 FM fits and scores (50 x 5-fold, 6 values of ε) on a 370,000 x 13 Gaussian table, against 50 bare Gram matrices.
(b) a sweep of 600 trivial cells (100 rows, no_privacy), artifacts included, against a bare MLflow loop with the same metrics,
    parameters and tags.

Start-up (imports, the new store's migrations, making the table) is excluded on both sides.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LIMIT_FITS = 6.0
LIMIT_SWEEP = 1.6
ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a ratio is above its limit")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="repetitions; the median ratio counts")
    parser.add_argument("--cells", type=int, default=600, help="cells of the trivial sweep")
    arguments = parser.parse_args()
    results = [
        ("1,500 FM fits and scores / 50 bare Gram matrices", LIMIT_FITS, fits, arguments.rounds),
        (
            f"sweep of {arguments.cells} trivial cells / bare MLflow loop",
            LIMIT_SWEEP,
            lambda: sweep(arguments.cells),
            arguments.rounds,
        ),
    ]
    short = False
    for name, limit, measure, rounds in results:
        pairs = [measure() for _ in range(rounds)]
        ratio = statistics.median(ours / bare for ours, bare in pairs)
        ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
        verdict = "ok" if ratio <= limit else "TOO SLOW"
        each = ", ".join(f"{mine / theirs:.2f}" for mine, theirs in pairs)
        print(f"{name}: {ours:.3f} s / {bare:.3f} s = {ratio:.2f} (limit {limit:g}; rounds {each}) {verdict}", flush=True)
        short |= ratio > limit
    return int(short and arguments.check)


def fits() -> tuple[float, float]:
    """Seconds of one whole work unit set, and of 50 bare products of its table."""
    from dpbench.base.one_thread import one_thread
    from dpbench.cells.loading import rows_of
    from dpbench.cells.unit_runner import run_unit
    from dpbench.sweeps.grid import loaded
    from dpbench.sweeps.plan import plan

    # 12 features and the target: 13 columns
    grid = ["dataset=gaussian", "dataset.n=370000", "dataset.d=12", "mechanism=fm", "model.intercept=false"]
    planned = plan(loaded([*grid, "epsilon=0.1,0.2,0.4,0.8,1.6,3.2"]))
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


def sweep(cells: int) -> tuple[float, float]:
    """Seconds of a recorded sweep, and of the bare calls that write the same numbers."""
    import pandas  # noqa: F401  start-up
    from mlflow.entities import Metric, Param

    from dpbench.sweeps.execution import execute
    from dpbench.sweeps.grid import loaded
    from dpbench.sweeps.plan import plan
    from dpbench.tracking.store import open_store

    epsilons = ",".join(f"{0.01 * (index + 1):.2f}" for index in range(cells))
    grid = ["dataset=gaussian", "dataset.n=100", "dataset.d=3", "mechanism=no_privacy", f"epsilon={epsilons}"]
    with tempfile.TemporaryDirectory() as name:
        uri = f"sqlite:///{Path(name) / 'ours.db'}"
        points = loaded([*grid, "engine=serial", f"tracking.uri={uri}"])
        open_store(uri).close()
        outcome: Any = None

        def ours() -> None:
            nonlocal outcome
            outcome = execute(plan(points), points[0].config, sweep=True, command=[])

        seconds = _seconds(ours)
        assert len(outcome.records) == cells
        with open_store(f"sqlite:///{Path(name) / 'bare.db'}") as store:

            def bare() -> None:
                for record in outcome.records:
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


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
