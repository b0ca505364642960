"""What sweeps cost beyond their fits: recording a cell, finding it again, memory, engines. Run by scripts/benchmark.py."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord

RECORDED_CELLS = 5_000
NEW_CELLS = 25
WRITTEN_CELLS = 300
UNITS = 300
TABLE = ("dataset=gaussian", "dataset.n=1000", "dataset.d=5", "mechanism=fm", "audit.level=none")


@dataclass(frozen=True)
class Measurement:
    """A measured number, and how large or small it may be; without a limit it is only shown."""

    name: str
    value: float | None
    """None where it could not be measured."""
    unit: str
    limit: float | None = None
    """The largest allowed value."""
    least: float | None = None
    """The smallest allowed value."""
    not_checked: str = ""
    """Why it could not be measured."""

    @property
    def ok(self) -> bool:
        """Whether it is within its limits, or could not be measured."""
        if self.value is None:
            return True
        return (self.limit is None or self.value <= self.limit) and (self.least is None or self.value >= self.least)

    @property
    def line(self) -> str:
        """What is printed."""
        if self.value is None:
            return f"{self.name}: NOT CHECKED. {self.not_checked}"
        limits = [f"limit {self.limit:g}"] if self.limit is not None else []
        limits += [f"at least {self.least:g}"] if self.least is not None else []
        return " ".join(filter(None, [f"{self.name}: {self.value:.3g}", self.unit, _bracketed(limits), self._verdict]))

    @property
    def _verdict(self) -> str:
        if self.ok:
            return ""
        return "TOO LITTLE" if self.least is not None and self.value is not None and self.value < self.least else "TOO MUCH"


def _bracketed(words: list[str]) -> str:
    return f"({', '.join(words)})" if words else ""


def measure_sweeps() -> Iterator[Measurement]:
    """Yield every measurement. The store of 5,000 cells is made once, from copies of one record with 250 runs."""
    record = _record_of_250_runs()
    yield from measure_recording(record)
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        epsilons = [f"{0.001 * (index + 1):.3f}" for index in range(RECORDED_CELLS + NEW_CELLS)]
        grid = [*TABLE, "splits.repeats=50"]
        known, new = (f"epsilon={','.join(part)}" for part in (epsilons[:RECORDED_CELLS], epsilons[RECORDED_CELLS:]))
        store = f"tracking.uri=sqlite:///{folder}/mlflow.db"
        empty = _cpu_seconds("plan", "-m", *grid, new, f"tracking.uri=sqlite:///{folder}/nothing.db")
        yield Measurement("plan of 25 cells without a store", empty, "s of CPU")
        yield _growth(record, [*grid, known, store])
        planning = _cpu_seconds("plan", "-m", *grid, new, store)
        yield Measurement("plan of 25 new cells in a store of 5,000", planning, "s of CPU", 2.5)
        _cpu_seconds("-m", *grid, known, store)  # gathers the cells below a sweep, and writes its report
        resuming = _cpu_seconds("-m", *grid, known, store)
        yield Measurement("resuming 5,000 recorded cells", resuming, "s of CPU", 5.0)
    yield from measure_engines()


def measure_recording(record: CellRecord) -> Iterator[Measurement]:
    """Yield what it takes to record a cell of 250 runs, and the bare MLflow calls with the same numbers."""
    from mlflow.entities import Metric, Param

    from dpbench.tracking.browsed_metrics import browsed_metrics
    from dpbench.tracking.run_writer import Writer
    from dpbench.tracking.store import open_store

    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        with open_store(f"sqlite:///{folder}/ours.db") as store, Writer(store) as writer:
            parent = writer.open_sweep("key", "a sweep", SweepRecord((), "command"), "")
            tags = dict(store.client.get_run(writer.write(record, parent).run_id).data.tags)
            store.close()
            before, start = Path(folder, "ours.db").stat().st_size, time.process_time()
            for index in range(WRITTEN_CELLS):
                writer.write(replace(record, key=f"{index:032d}"), parent)
            ours = time.process_time() - start
        size = (Path(folder, "ours.db").stat().st_size - before) / WRITTEN_CELLS
        metrics = browsed_metrics(record)
        with open_store(f"sqlite:///{folder}/bare.db") as store:
            start = time.process_time()
            for _ in range(WRITTEN_CELLS):
                now = time.time_ns() // 1_000_000
                run = store.client.create_run(store.experiment_id, tags=tags)
                entries = [Metric(name, value, now, 0) for name, value in metrics.items()]
                params = [Param(name, value) for name, value in record.params.items()]
                store.client.log_batch(run.info.run_id, metrics=entries, params=params)
                store.client.set_terminated(run.info.run_id)
            bare = time.process_time() - start
        start = time.process_time()
        from dpbench.tracking.cell_files import write_cell_files

        for index in range(WRITTEN_CELLS):
            write_cell_files(record, Path(folder, "files", str(index)))
        files = time.process_time() - start
    yield Measurement("metrics of a cell in MLflow", len(metrics), "metrics", 30)
    yield Measurement("recording a cell of 250 runs", 1e3 * ours / WRITTEN_CELLS, "ms of CPU", 15)
    yield Measurement("of which its own files", 1e3 * files / WRITTEN_CELLS, "ms of CPU")
    yield Measurement("the store grows by", size / 1e3, "kB a cell", 20)
    yield Measurement("recording without files / bare MLflow calls", (ours - files) / bare, "", 1.25)


def _record_of_250_runs() -> CellRecord:
    from dpbench.sweeps.execution import run_unrecorded
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    points = grid_points([*TABLE, "splits.repeats=50", "engine=serial"])
    with redirect_stderr(StringIO()):
        (record,) = run_unrecorded(plan(points), points[0].config)
    return record


def _growth(record: CellRecord, grid: list[str]) -> Measurement:
    """Fill a store with the cells of a grid, keeping their records as a sweep does, and return how much memory each takes."""
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan
    from dpbench.tracking.run_writer import Writer
    from dpbench.tracking.store import open_store

    points = grid_points(grid)
    planned = plan(points)
    finished: dict[str, CellRecord] = {}
    with open_store(points[0].config["tracking"]["uri"]) as store, Writer(store) as writer:
        for index, cell in enumerate(planned.cells):
            if index == RECORDED_CELLS // 10:
                before = _memory()
            metrics = dict(record.metrics.items())  # a record of its own, as each cell has
            finished[cell.cell.key] = writer.write(replace(record, key=cell.cell.key, params=cell.params, metrics=metrics), None)
        grown = (_memory() - before) / (0.9 * RECORDED_CELLS)
    return Measurement("memory of the parent process", grown / 1e3, "kB a cell", 20)


def measure_engines() -> Iterator[Measurement]:
    """Yield what each engine that is installed takes to start, and for a unit that does nothing."""
    from dpbench.base.errors import PackageMissing
    from dpbench.sweeps.engines.choice import engine_from
    from dpbench.sweeps.engines.loop import run

    for name in ("serial", "local", "dask", "ray"):
        section: dict[str, Any] = {"name": name, "workers": None if name == "serial" else 2}
        section |= dict.fromkeys(("timeout", "scheduler", "address", "folder"))
        start = time.perf_counter()
        try:
            results = run(engine_from(section, 0.0), _nothing, range(UNITS))
            next(results)
        except PackageMissing:
            continue
        first = time.perf_counter() - start
        rest = sum(1 for _ in results)
        each = (time.perf_counter() - start - first) / rest
        yield Measurement(f"engine={name}, until the first result", first, "s")
        yield Measurement(f"engine={name}, a unit that does nothing", 1e3 * each, "ms")


_nothing: Callable[[Any], Any] = abs
"""Workers import it by its name."""


def _cpu_seconds(*arguments: str) -> float:
    """Return the CPU seconds of a command and of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run([sys.executable, "-m", "dpbench", *arguments], capture_output=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
