"""End sweeps by signals at many moments, and check that the same command finishes each of them as if nothing had happened.

python scripts/kill_sweeps.py                    20 moments for each engine and signal: about half an hour on two cores
python scripts/kill_sweeps.py --moments 3
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

CELLS = 24
GRID = ("mechanism=fm,dpba", "epsilon=0.1,0.4,1.6,6.4", "dataset=gaussian", "dataset.n=500,600,700", "dataset.d=3")
COMMAND = (sys.executable, "-m", "dpbench", "-m", *GRID, "splits.repeats=4", "splits.folds=2")
ENGINES = {"serial": ("engine=serial",), "local": ("engine=local", "engine.workers=2")}
SIGNALS = {name: getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
PATIENCE_SECONDS = 300.0
"""A sweep that does not end within this time hangs."""
GRACE_SECONDS = 10.0
"""Processes that still run this long after their sweep are left behind."""

Results = dict[tuple[str, ...], dict[str, float]]


def heed_hangups() -> None:
    """Undo what nohup does to a process that is about to start: a sweep that ignores a signal is not ended by it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Folder:
    """A working folder, and what the store in it holds, read without MLflow."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def start(self, engine: str) -> subprocess.Popen[str]:
        """Start the sweep in a session of its own, as a terminal does, without settings from outside."""
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("MLFLOW_", "HYDRA_"))}
        environment |= {"DPBENCH_AUDIT_LEVEL": "none", "OPENBLAS_NUM_THREADS": "1"}
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(
            [*COMMAND, *ENGINES[engine]],
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
        """The metrics of all cells, without times, by their parameters."""
        results = {}
        for (run_id,) in self._ask("SELECT run_uuid FROM active WHERE value = 'cell'"):
            params = self._ask("SELECT key, value FROM params WHERE run_uuid = ? ORDER BY key", run_id)
            metrics = self._ask("SELECT key, value FROM latest_metrics WHERE run_uuid = ?", run_id)
            results[tuple(map("=".join, params))] = {name: value for name, value in metrics if not name.startswith("time/")}
        return results

    def _ask(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        active = (
            "WITH active AS (SELECT runs.run_uuid, status, value FROM runs JOIN tags ON tags.run_uuid = runs.run_uuid "
            "WHERE key = 'dpbench.kind' AND lifecycle_stage = 'active') "
        )
        with closing(sqlite3.connect(f"file:{self.path / 'mlflow.db'}?mode=ro", uri=True)) as database:
            return database.execute(active + question, values).fetchall()


def undisturbed(path: Path) -> Results:
    """Return the results of a sweep that no signal reached."""
    folder = Folder(path)
    _, errors = folder.start("serial").communicate(timeout=PATIENCE_SECONDS)
    if folder.recorded != CELLS:
        raise SystemExit(f"The sweep itself does not work: {errors}")
    return folder.results


def faults(path: Path, engine: str, name: str, moment: int, expected: Results) -> Iterator[str]:
    """Send a signal to a sweep when this many cells are recorded, run the command again, and yield what is not right."""
    folder = Folder(path)
    process = folder.start(engine)
    end = time.monotonic() + PATIENCE_SECONDS
    while folder.recorded < moment and process.poll() is None and time.monotonic() < end:
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
    again = folder.start(engine)
    _, errors = again.communicate(timeout=PATIENCE_SECONDS)
    yield from _left_behind(again.pid)
    if again.returncode != 0:
        yield f"the same command ended with exit code {again.returncode}: {errors}"
    if folder.statuses("cell") != {"FINISHED": CELLS}:
        yield f"the cells are {dict(folder.statuses('cell'))}"
    if folder.statuses("sweep") != {"KILLED": 1, "FINISHED": 1}:
        yield f"the sweeps are {dict(folder.statuses('sweep'))}"
    if len(folder.cells_by_parent) != 1 or "KILLED" in str(folder.cells_by_parent):
        yield f"the cells are not below the sweep that finished: {dict(folder.cells_by_parent)}"
    if folder.leases:
        yield f"{folder.leases} leases are left"
    if folder.results != expected:
        yield "the results differ from those of an undisturbed sweep"


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
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dpbench-") as home:
        (reference := Path(home, "undisturbed")).mkdir()
        expected = undisturbed(reference)
        for engine in arguments.engines:
            for name in SIGNALS:
                wrong = 0
                for trial in range(arguments.moments):
                    moment = trial * (CELLS - 4) // arguments.moments
                    (path := Path(home, f"{engine}-{name}-{trial}")).mkdir()
                    for fault in faults(path, engine, name, moment, expected):
                        wrong += 1
                        print(f"{engine}, {name} after {moment} cells: {fault}", flush=True)
                failed += wrong
                print(f"{engine}, {name}: {arguments.moments} moments, {wrong} faults", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
