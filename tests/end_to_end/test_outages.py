"""Real stores go away while a sweep runs: nothing is lost, nothing is done twice, and one sentence says what happened."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

CELLS = 40
EPSILONS = ",".join(f"{number / 10}" for number in range(1, CELLS // 2 + 1))
GRID = ("-m", "mechanism=fm,dpba", f"epsilon={EPSILONS}", "dataset=gaussian", "dataset.n=2000", "dataset.d=4", "engine=serial")


@pytest.fixture(params=["Postgres", "MlflowServer"])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A real server with an empty store."""
    servers: Any = sys.modules["store_servers"]
    if request.param == "Postgres":
        pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
        if reason := servers.Postgres.why_not():
            pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        server = getattr(servers, request.param)(Path(folder))
        yield server
        server.stop()


def start(folder: Path, *more: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dpbench", *GRID, *more]
    environment = {**os.environ, "DPBENCH_CACHE": str(folder / "cache"), **environment}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def recorded(uri: str) -> tuple[Counter[tuple[str, str]], Counter[int]]:
    """Return how many runs there are of each kind and status, and how often cells are recorded."""
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("dpbench")
    runs = list(client.search_runs([experiment.experiment_id], max_results=1_000)) if experiment else []
    keys = Counter(run.data.tags["dpbench.key"] for run in runs if run.data.tags["dpbench.kind"] == "cell")
    return Counter((run.data.tags["dpbench.kind"], run.info.status) for run in runs), Counter(keys.values())


def sentences(errors: str) -> list[str]:
    """Return what a sweep said next to its progress."""
    return [line for line in errors.splitlines() if line.strip() and not line.lstrip().startswith("cells ")]


def test_a_store_that_is_restarted_costs_the_wait_and_a_sentence(server: Any, tmp_path: Path) -> None:
    process = start(tmp_path, f"tracking.uri={server.uri}")
    while recorded(server.uri)[0]["cell", "FINISHED"] < 3:
        assert process.poll() is None, process.communicate()
    server.stop()
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:  # its progress goes to the same stream
        said.append(line)
        if "does not answer" in line:
            break
    server.start()
    rest: list[str] = []
    reader = threading.Thread(target=lambda: rest.extend(process.stderr or ()))
    reader.start()
    assert process.stdout is not None
    out = process.stdout.read()
    reader.join()
    process.stdout.close()
    process.stderr.close()
    assert process.wait() == 0, "".join(said + rest)
    told = sentences("".join(said + rest))
    assert [text.split(" ", 3)[3].split("'")[-1].split("(")[0].strip() for text in told] == ["does not answer", "answers again."]
    assert f"Cells: {CELLS} run." in out
    assert recorded(server.uri) == ({("cell", "FINISHED"): CELLS, ("sweep", "FINISHED"): 1}, {1: CELLS})


def test_two_identical_sweeps_at_once_record_every_cell_once(server: Any, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    processes = [start(folder, f"tracking.uri={server.uri}") for folder in folders]
    said = [process.communicate(timeout=400) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert recorded(server.uri) == ({("cell", "FINISHED"): CELLS, ("sweep", "FINISHED"): 2}, {1: CELLS})


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of a few megabytes."""
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2500k", "tmpfs", folder], capture_output=True, check=False)
        if made.returncode:
            pytest.skip("file systems cannot be mounted here")
        yield Path(folder)
        subprocess.run(["umount", "--lazy", folder], check=True)  # MLflow's client of this process has the store open


def test_a_full_disk_keeps_finished_cells_elsewhere(small_disk: Path, tmp_path: Path) -> None:
    uri = f"sqlite:///{small_disk / 'mlflow.db'}"
    out, errors = (process := start(tmp_path, f"tracking.uri={uri}")).communicate(timeout=400)
    assert process.returncode == 1, errors
    assert len(sentences(errors)) == 1, errors
    assert "Finished cells are kept in" in errors
    assert "Traceback" not in out + errors
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    out, errors = (process := start(tmp_path, f"tracking.uri={uri}")).communicate(timeout=400)
    assert process.returncode == 0, errors
    assert f"Cells: 0 run, {CELLS} already recorded" in out
    assert recorded(uri) == ({("cell", "FINISHED"): CELLS, ("sweep", "FINISHED"): 1, ("sweep", "KILLED"): 1}, {1: CELLS})
    assert not list(tmp_path.rglob("cell.json"))


def test_a_folder_of_artifacts_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "mlartifacts").write_text("a file where a folder should be")
    out, errors = (process := start(tmp_path)).communicate(timeout=400)
    assert process.returncode == 1, errors
    assert len(sentences(errors)) == 1, errors
    assert "Traceback" not in out + errors
    (tmp_path / "mlartifacts").unlink()
    out, errors = (process := start(tmp_path)).communicate(timeout=400)
    assert process.returncode == 0, errors
    assert recorded(f"sqlite:///{tmp_path / 'mlflow.db'}")[1] == {1: CELLS}


def test_a_full_folder_of_temporary_files_costs_the_report_and_nothing_else(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "full").write_bytes(bytes(2_400_000))
    out, errors = (process := start(tmp_path, TMPDIR=str(small_disk))).communicate(timeout=400)
    assert process.returncode == 1, errors
    assert sentences(errors) == ["The report could not be written: No space left on device. The same command writes it again."]
    assert f"Cells: {CELLS} run." in out
    out, errors = (process := start(tmp_path)).communicate(timeout=400)
    assert process.returncode == 0, errors
    assert f"Cells: 0 run, {CELLS} already recorded" in out
    assert recorded(f"sqlite:///{tmp_path / 'mlflow.db'}")[0] == {
        ("cell", "FINISHED"): CELLS,
        ("sweep", "FINISHED"): 1,
        ("sweep", "KILLED"): 1,
    }
