"""End sweeps by signals at many moments, and check that the same command finishes each of them as if nothing had happened.

python scripts/kill_sweeps.py                    20 moments for each engine and signal: some hours on two cores
python scripts/kill_sweeps.py --moments 3 --engines files ray --signals SIGKILL
python scripts/kill_sweeps.py --cells 24         smaller sweeps

The moments are numbers of recorded cells. With engine=files three workers run the units, and one of them is killed as well.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet

CELLS = 200
MECHANISMS, ROWS = ("fm", "dpba"), (500, 600, 700, 800)
OPTIONS = ("dataset=gaussian", "dataset.d=3", "splits.repeats=4", "splits.folds=2")
UNITS = "units"
ENGINES = {
    "serial": ("engine=serial",),
    "local": ("engine=local", "engine.workers=2"),
    "dask": ("engine=dask", "engine.workers=2"),
    "ray": ("engine=ray", "engine.workers=2"),
    "files": ("engine=files", f"engine.folder={UNITS}"),
}
FILE_WORKERS = 3
SIGNALS = {name: getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
PATIENCE_SECONDS = 300.0
"""A sweep that does not end within this time hangs."""
GRACE_SECONDS = 10.0
"""Processes that still run this long after their sweep are left behind."""

Results = dict[tuple[str, ...], str]
"""A digest of each cell's runs, by the cell's parameters."""


def heed_hangups() -> None:
    """Undo what nohup does to a process that is about to start: a sweep that ignores a signal is not ended by it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def grid(cells: int) -> list[str]:
    """Return the overrides of a sweep of this many cells: a multiple of 8."""
    budgets = [f"{number / 10:.1f}" for number in range(1, cells // (len(MECHANISMS) * len(ROWS)) + 1)]
    lists = {"mechanism": MECHANISMS, "epsilon": budgets, "dataset.n": map(str, ROWS)}
    return [*(f"{key}={','.join(values)}" for key, values in lists.items()), *OPTIONS]


class Folder:
    """A working folder, and what the store in it holds, read without MLflow."""

    def __init__(self, path: Path, cells: int = CELLS) -> None:
        self.path = path
        self.cells = cells

    def start(self, engine: str) -> subprocess.Popen[str]:
        """Start the sweep."""
        self._earlier_leases = self._unit_leases()
        return self._start("-m", *grid(self.cells), *ENGINES[engine])

    def start_workers(self, sweep: subprocess.Popen[str]) -> list[subprocess.Popen[str]]:
        """Start workers as soon as the sweep holds the folder of its units: they end where no sweep lives."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._unit_leases() <= self._earlier_leases and sweep.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        return [self._start("work", UNITS) for _ in range(FILE_WORKERS)]

    def _unit_leases(self) -> set[str]:
        """Return the names of the leases of sweeps in the folder of units."""
        return {path.name for path in (self.path / UNITS / "parents").glob("[!.]*")}

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command in a session of its own, as a terminal does, without settings from outside."""
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("MLFLOW_", "HYDRA_"))}
        environment |= {"DPBENCH_AUDIT_LEVEL": "none", "OPENBLAS_NUM_THREADS": "1"}
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(
            [sys.executable, "-m", "dpbench", *arguments],
            cwd=self.path,
            env=environment,
            start_new_session=True,
            preexec_fn=heed_hangups,
            **streams,
        )

    @property
    def recorded(self) -> int:
        """The number of cells whose records are complete; -1 before the sweep is there."""
        try:
            return self.statuses("cell")["FINISHED"] if self.statuses("sweep") else -1
        except sqlite3.Error:  # the store is not created yet
            return -1

    def statuses(self, kind: str) -> Counter[str]:
        return Counter(status for (status,) in self._ask("SELECT status FROM active WHERE value = ?", kind))

    @property
    def cells_by_parent(self) -> Counter[str]:
        """How many cells each sweep has, by the status of the sweep."""
        return Counter(
            f"{parent}, {status}"
            for parent, status in self._ask(
                "SELECT parents.value, runs.status FROM active JOIN tags AS parents ON parents.run_uuid = active.run_uuid "
                "JOIN runs ON runs.run_uuid = parents.value WHERE active.value = 'cell' AND parents.key = 'mlflow.parentRunId'"
            )
        )

    @property
    def leases(self) -> int:
        return len(
            self._ask("SELECT 1 FROM active JOIN tags ON tags.run_uuid = active.run_uuid WHERE tags.key = 'dpbench.lease'")
        )

    @property
    def results(self) -> Results:
        """The digests of the runs of all cells, without times, by their parameters."""
        results = {}
        for run_id, uri in self._ask(
            "SELECT active.run_uuid, artifact_uri FROM active JOIN runs ON runs.run_uuid = active.run_uuid WHERE value = 'cell'"
        ):
            params = self._ask("SELECT key, value FROM params WHERE run_uuid = ? ORDER BY key", run_id)
            results[tuple(map("=".join, params))] = digest_of(Path(unquote(urlsplit(uri).path)) / "runs.parquet")
        return results

    def _ask(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        active = (
            "WITH active AS (SELECT runs.run_uuid, status, value FROM runs JOIN tags ON tags.run_uuid = runs.run_uuid "
            "WHERE key = 'dpbench.kind' AND lifecycle_stage = 'active') "
        )
        with closing(sqlite3.connect(f"file:{self.path / 'mlflow.db'}?mode=ro", uri=True)) as database:
            return database.execute(active + question, values).fetchall()


def digest_of(path: Path) -> str:
    """Return a digest of a table's bits, without the columns that clocks decide; empty if there is no such table."""
    if not path.exists():
        return ""
    table = pyarrow.parquet.read_table(path)
    digest = hashlib.sha256()
    for name in sorted(table.column_names):
        if not name.startswith("time/"):
            digest.update(repr((name, table[name].type)).encode())
            digest.update(repr(table[name].to_pylist()).encode())
    return digest.hexdigest()


def undisturbed(path: Path, cells: int = CELLS) -> Results:
    """Return the results of a sweep that no signal reached."""
    folder = Folder(path, cells)
    _, errors = folder.start("serial").communicate(timeout=PATIENCE_SECONDS)
    if folder.recorded != cells or len(folder.results) != cells:
        raise SystemExit(f"The sweep itself does not work: {errors}")
    return folder.results


def faults(path: Path, engine: str, name: str, moment: int, expected: Results) -> Iterator[str]:
    """Send a signal to a sweep when this many cells are recorded, run the command again, and yield what is not right."""
    folder = Folder(path, len(expected))
    process = folder.start(engine)
    workers = folder.start_workers(process) if engine == "files" else []
    end = time.monotonic() + PATIENCE_SECONDS
    killed_at = moment // 2
    while folder.recorded < moment and process.poll() is None and time.monotonic() < end:
        if workers and folder.recorded >= killed_at:
            workers[0].kill()
        time.sleep(0.002)
    # a terminal that closes sends SIGHUP to all its processes
    (os.killpg if name == "SIGHUP" else os.kill)(process.pid, SIGNALS[name])
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    yield from _left_behind(process.pid)
    if name == "SIGKILL":
        if process.returncode != -SIGNALS[name]:
            yield f"it ended before it was killed, with exit code {process.returncode}: {errors}"
    else:
        if process.returncode != 130 or not errors.endswith("Interrupted.\n") or "Traceback" in errors:
            yield f"it ended with exit code {process.returncode}: {errors}"
        if folder.statuses("sweep") != {"KILLED": 1}:
            yield f"after the signal the sweep is {dict(folder.statuses('sweep'))}"
    yield from _ended(workers[1:])
    for worker in workers[:1]:
        worker.kill()
        worker.communicate()
    again = folder.start(engine)
    workers = folder.start_workers(again) if engine == "files" else []
    _, errors = again.communicate(timeout=PATIENCE_SECONDS)
    yield from _left_behind(again.pid)
    yield from _ended(workers)
    if again.returncode != 0:
        yield f"the same command ended with exit code {again.returncode}: {errors}"
    if folder.statuses("cell") != {"FINISHED": folder.cells}:
        yield f"the cells are {dict(folder.statuses('cell'))}"
    if folder.statuses("sweep") != {"KILLED": 1, "FINISHED": 1}:
        yield f"the sweeps are {dict(folder.statuses('sweep'))}"
    if len(folder.cells_by_parent) != 1 or "KILLED" in str(folder.cells_by_parent):
        yield f"the cells are not below the sweep that finished: {dict(folder.cells_by_parent)}"
    if folder.leases:
        yield f"{folder.leases} leases are left"
    if folder.results != expected:
        yield "the results differ from those of an undisturbed sweep"


def _ended(workers: Sequence[subprocess.Popen[str]]) -> Iterator[str]:
    """Yield a sentence for each worker that does not end by itself and well."""
    for worker in workers:
        try:
            _, errors = worker.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            yield "a worker waits although no sweep runs"
        else:
            if worker.returncode != 0:
                yield f"a worker ended with exit code {worker.returncode}: {errors}"


def _left_behind(session: int) -> Iterator[str]:
    """Yield a sentence if processes of a session still run after a while."""
    end = time.monotonic() + GRACE_SECONDS
    while (left := _processes(session)) and time.monotonic() < end:
        time.sleep(0.02)
    if left:
        yield f"processes are left behind: {', '.join(left)}"


def _processes(session: int) -> list[str]:
    """Return the ids of a session's processes that run."""
    ids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        if int(its_session) == session and state != "Z":
            ids.append(path.parent.name)
    return ids


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=20, help="how many moments for each engine and signal")
    parser.add_argument("--cells", type=int, default=CELLS, help="how many cells each sweep has: a multiple of 8")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--signals", nargs="+", default=list(SIGNALS), choices=SIGNALS)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dpbench-") as home:
        (reference := Path(home, "undisturbed")).mkdir()
        expected = undisturbed(reference, arguments.cells)
        for engine in arguments.engines:
            for name in arguments.signals:
                wrong = 0
                for trial in range(arguments.moments):
                    moment = trial * (arguments.cells - 4) // arguments.moments
                    (path := Path(home, f"{engine}-{name}-{trial}")).mkdir()
                    for fault in faults(path, engine, name, moment, expected):
                        wrong += 1
                        print(f"{engine}, {name} after {moment} cells: {fault}", flush=True)
                    shutil.rmtree(path)
                failed += wrong
                print(f"{engine}, {name}: {arguments.moments} moments, {wrong} faults", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
