"""The commands of the README, as a person types them: what is printed, what is recorded, what is left behind."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.image
import pandas
import pyarrow.parquet
import pytest
import yaml

from dpbench.records import names
from dpbench.records.names import Name

ROOT = Path(__file__).parents[2]
SETTINGS = ("MLFLOW_", "DPBENCH_", "HYDRA_")
COMMAND = ("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8,3.2")
CELLS = [(mechanism, epsilon) for mechanism in ("fm", "dpba") for epsilon in ("0.1", "0.8", "3.2")]


@dataclass(frozen=True)
class Folder:
    """A working folder, and what a store in it holds, read without MLflow."""

    path: Path

    def dpbench(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        command = [sys.executable, "-m", "dpbench", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.path, env=environment, stdout=pipe, stderr=pipe, text=True, **more)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.dpbench(*arguments)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())

    def ask(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path / 'mlflow.db'}?mode=ro", uri=True)) as database:
            return database.execute(question, values).fetchall()

    def ids(self, kind: str) -> list[str]:
        """The runs of a kind; cells in the order of their mechanism and ε."""
        question = "SELECT run_uuid FROM tags WHERE key = 'dpbench.kind' AND value = ?"
        found = [run_id for (run_id,) in self.ask(question, kind)]
        return sorted(found, key=lambda run_id: [self.named("params", run_id).get(key, "") for key in ("mechanism", "epsilon")])

    def named(self, table: str, run_id: str) -> dict[str, Any]:
        return dict(self.ask(f"SELECT key, value FROM {table} WHERE run_uuid = ?", run_id))

    def metrics(self, run_id: str) -> dict[str, float]:
        """All metrics of a cell: MLflow has only some of them."""
        metrics: dict[str, float] = json.loads((self.artifacts(run_id) / "cell.json").read_text())["metrics"]
        return metrics

    def status(self, run_id: str) -> str:
        return str(self.ask("SELECT status FROM runs WHERE run_uuid = ?", run_id)[0][0])

    def artifacts(self, run_id: str) -> Path:
        return self.path / "mlartifacts" / run_id / "artifacts"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, subprocess.CompletedProcess[str]]:
    """The first command of the README, run once, its output piped."""
    folder = Folder(tmp_path_factory.mktemp("swept"))
    result = folder.run(*COMMAND)
    assert result.returncode == 0, result.stderr
    return folder, result


@pytest.fixture
def folder(swept: tuple[Folder, subprocess.CompletedProcess[str]]) -> Folder:
    return swept[0]


@pytest.fixture
def printed(swept: tuple[Folder, subprocess.CompletedProcess[str]]) -> str:
    return swept[1].stdout


def test_nothing_is_left_but_the_store(folder: Folder) -> None:
    assert folder.files == ["mlartifacts", "mlflow.audits.jsonl", "mlflow.db"]


def test_the_table_can_be_read_in_a_pipe(folder: Folder, printed: str) -> None:
    assert "\x1b" not in printed, "no colours in a pipe"
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[0].startswith("linear on census, SYNTHETIC data: median rmse")
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert [row[1] for row in rows] == ["0.1", "0.8", "3.2"], "one row for each ε"
    numbers = [folder.metrics(run_id) for run_id in folder.ids("cell")]
    for row in rows:
        same = [metrics for metrics in numbers if metrics["privacy/epsilon_accounted"] == float(row[1])]
        best = min(same, key=lambda metrics: metrics["utility/rmse_median"])
        assert row[2] == "practically the same: dpba and fm"
        assert float(row[3].replace(",", "")) == float(f"{best['utility/rmse_raw_median']:.4g}")
        assert float(row[4]) == float(f"{best['utility/rmse_median']:.4g}")


def test_it_says_where_the_report_and_the_figures_are_and_how_to_release_the_pick(folder: Folder, printed: str) -> None:
    lines = [line.partition(": ") for line in printed.splitlines()]
    paths = [folder.path / text for name, _, text in lines if name in ("Report", "Figure")]
    assert len(paths) > 2
    assert all(path.is_file() for path in paths)
    (command,) = (text for name, _, text in lines if name == "Release it")
    release = folder.run(*shlex.split(command)[3:])
    assert release.returncode == 0, release.stderr
    written = folder.path / "model.json"
    assert json.loads(written.read_text())["privacy"]["epsilon"] == pytest.approx(0.8)
    written.unlink()


def test_it_ends_with_how_many_cells_ran_and_how_to_see_them(printed: str) -> None:
    assert printed.splitlines()[-2:] == ["Cells: 6 run.", "Open the runs: python -m dpbench ui"]


def test_the_progress_is_on_the_other_stream(swept: tuple[Folder, subprocess.CompletedProcess[str]]) -> None:
    errors = swept[1].stderr
    assert "6/6" in errors
    assert "Warning" not in errors
    assert errors.count("\n") <= 2, errors


def test_every_cell_is_a_finished_child_of_the_sweep(folder: Folder) -> None:
    (parent,) = folder.ids("sweep")
    cells = folder.ids("cell")
    assert [folder.status(run_id) for run_id in (parent, *cells)] == ["FINISHED"] * 7
    assert {folder.named("tags", run_id)["mlflow.parentRunId"] for run_id in cells} == {parent}
    assert len({folder.named("tags", run_id)["dpbench.key"] for run_id in cells}) == 6


def test_the_sweep_keeps_its_plan_its_records_and_its_report(folder: Folder) -> None:
    home = folder.artifacts(folder.ids("sweep")[0])
    files = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
    figures = ["report/error_vs_epsilon.png"]
    tables = [f"report/{name}.{form}" for name in ("comparisons", "leaderboard", "ledger") for form in ("csv", "tex")]
    records = ["plan.csv", "records.parquet", "sweep.json", "comparisons.json", "note.svg"]
    needed = [*records, *figures, *tables, "report/report.html", "report/summary.csv"]
    assert not set(needed) - set(files)
    assert all(path.startswith("report/") and path.endswith((".png", ".csv", ".tex")) for path in set(files) - set(needed))
    plan = csv.DictReader((home / "plan.csv").read_text().splitlines())
    assert [(row["state"], row["why"], row["mechanism"], row["epsilon"]) for row in plan] == [
        ("run", "", *cell) for cell in CELLS
    ]
    records, summary = pandas.read_parquet(home / "records.parquet"), pandas.read_csv(home / "report" / "summary.csv")
    assert list(records) == list(summary)
    assert records["utility/rmse_median"].tolist() == pytest.approx(summary["utility/rmse_median"].tolist(), rel=1e-12)
    expected = [folder.named("latest_metrics", run_id)["utility/rmse_median"] for run_id in folder.ids("cell")]
    assert records.sort_values(["mechanism", "epsilon"])["utility/rmse_median"].tolist() == expected
    image = matplotlib.image.imread(home / "report" / "error_vs_epsilon.png")
    assert min(image.shape[:2]) > 300
    assert image[..., :3].std() > 0.02


def test_the_note_answers_and_shows_the_figure(folder: Folder) -> None:
    (parent,) = folder.ids("sweep")
    note = folder.named("tags", parent)["mlflow.note.content"]
    for epsilon in ("0.1", "0.8", "3.2"):
        assert f"linear on census at ε = {epsilon}: " in note
    assert f"get-artifact?path=note.svg&run_uuid={parent}" in note
    assert "python -m dpbench -m mechanism=fm,dpba epsilon=0.1,0.8,3.2" in note
    assert note.count("| sound&emsp;|") == 6


def test_a_cell_keeps_its_configuration_its_ledger_and_its_runs(folder: Folder) -> None:
    run_id = folder.ids("cell")[3]
    home = folder.artifacts(run_id)
    assert sorted(path.name for path in home.iterdir()) == [
        *("cell.json", "clipped.json", "config.yaml", "intervals.json", "ledger.json", "runs.parquet")
    ]
    config = yaml.safe_load((home / "config.yaml").read_text())
    assert (config["mechanism"]["name"], config["epsilon"], config["splits"]["repeats"]) == ("fm", 0.1, 50)
    ledger = json.loads((home / "ledger.json").read_text())
    assert ledger["total"] == {"epsilon": pytest.approx(0.1), "delta": 0.0}
    assert sum(entry["cost"]["epsilon"] for entry in ledger["entries"]) == pytest.approx(0.1)
    runs = pandas.read_parquet(home / "runs.parquet")
    assert len(runs) == 250
    assert runs[["repeat", "fold"]].values.tolist() == [[repeat, fold] for repeat in range(50) for fold in range(5)]
    assert (runs["n_train"] + runs["n_test"] == 370_000).all()
    metrics = folder.named("latest_metrics", run_id)
    assert runs["utility/rmse"].median() == pytest.approx(metrics["utility/rmse_median"], rel=1e-12)
    assert runs["utility/rmse"].std() == pytest.approx(metrics["utility/rmse_std"], rel=1e-9)


def texts(declared: Iterable[Name]) -> set[str]:
    return {name.text for name in declared}


def fits(text: str, declared: set[str]) -> bool:
    """Whether a text is a declared name, or fits one that has a part in angle brackets."""
    patterns = [re.sub(r"<[^>]+>", "\0", name) for name in declared]
    return any(re.fullmatch(re.escape(pattern).replace("\0", ".+"), text) for pattern in patterns)


def test_a_cell_has_the_declared_parameters(folder: Folder) -> None:
    optional = {"<group>.<option>", "mechanism.sensitivity", "seed", "budget", "accounting", "noise", "clipped", "exact_weights"}
    for run_id in folder.ids("cell"):
        assert set(folder.named("params", run_id)) == texts(names.declared("cell_parameters")) - optional


def test_a_cell_and_a_sweep_have_the_declared_tags(folder: Folder) -> None:
    only_of_some_cells = {names.ERROR, names.ROWS_DROPPED, names.REMARKS, names.TARGET_TRANSFORM}
    only_of_some_cells |= {names.GUARANTEE_WHY, names.REPLAYED_N, names.DIGEST_KEY, names.ROWS_BEYOND_LIMIT, names.LEASE}
    only_of_some_cells |= {names.LEAKS_WHY, names.DUPLICATE_OF}
    assert set(folder.named("tags", folder.ids("cell")[0])) == texts(names.declared("cell_tags")) - only_of_some_cells
    assert set(folder.named("tags", folder.ids("sweep")[0])) == texts(names.declared("sweep_tags")) - {
        names.PRESET,
        names.REPEATED,
        names.LEASE,
    }


def test_a_metric_that_varies_across_runs_has_every_suffix(folder: Folder) -> None:
    suffixes = texts(names.declared("suffixes"))
    assert suffixes == {"_median", "_mean", "_std", "_p20", "_p80", "_ci_low", "_ci_high"}
    single, charted = texts(names.declared("cell_metrics")), texts(names.declared("chart_metrics"))
    for run_id in folder.ids("cell"):
        recorded = set(folder.metrics(run_id))
        browsed = set(folder.named("latest_metrics", run_id))
        assert {name for name in browsed if not fits(name, charted)} < recorded
        assert len(browsed) <= 30
        summarised = {name.removesuffix("_median") for name in recorded if name.endswith("_median")}
        assert {"utility/mse", "utility/rmse", "utility/r2", "utility/excess_rmse", "reference/no_privacy/rmse"} <= summarised
        assert {name + suffix for name in summarised for suffix in suffixes} == recorded - single
        assert {"privacy/epsilon_accounted", "health/diverged", "time/fit_seconds", "time/cell_seconds"} <= recorded
    assert folder.ask("SELECT max(step) FROM metrics") == [(0,)], "MLflow's pages would read every step of every run"


def test_a_cells_files_have_the_declared_columns_and_keys(folder: Folder) -> None:
    home = folder.artifacts(folder.ids("cell")[0])
    columns = set(pyarrow.parquet.read_schema(home / "runs.parquet").names)
    assert [name for name in columns if not fits(name, texts(names.declared("run_columns")))] == []
    assert {"repeat", "fold", "seed", "n_train", "n_test", "status", "weight/intercept", "weight/education"} <= columns
    ledger = json.loads((home / "ledger.json").read_text())
    keys = {*ledger, *(f"entries.{name}" for name in ledger["entries"][0])}
    assert keys == texts(names.declared("ledger_keys"))
    assert {path.name for path in home.iterdir()} <= texts(names.declared("cell_files"))


def test_a_sweeps_files_have_declared_names(folder: Folder) -> None:
    home = folder.artifacts(folder.ids("sweep")[0])
    files = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    assert [name for name in files if not fits(name, texts(names.declared("sweep_files")))] == []
    stems = {path.stem for path in (home / "report").iterdir() if path.suffix in (".png", ".tex")}
    assert stems <= texts(names.declared("figures")) | texts(names.declared("tables"))


def test_the_subcommands_print_and_write_nothing(tmp_path: Path) -> None:
    """And the pages of a pipe are those of a screen: nothing but text."""
    folder = Folder(tmp_path)
    result = folder.run("plan", *COMMAND)
    assert result.returncode == 0, result.stderr
    assert "6 cells to run, 0 already recorded, 0 pruned." in result.stdout
    assert folder.files == []


def test_a_refusal_is_one_line_on_the_other_stream_and_nothing_is_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    result = folder.run("-m", "mechanism=fm", "dataset=wine", "epsilon=0.1,-1")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "The 'epsilon' option of the command must be a float in the range (0, inf). Got -1 instead.\n"
    assert folder.files == []


LONG = ("dataset=gaussian", "dataset.n=20000", "dataset.d=9", "splits.repeats=150", "mechanism=fm,dpba")
MANY = ",".join(f"{index / 10}" for index in range(1, 31))


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Callable[..., tuple[Folder, subprocess.Popen[str]]]]:
    """A sweep in a process group of its own, as a terminal gives it, that has finished two cells."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> tuple[Folder, subprocess.Popen[str]]:
        folder = Folder(tmp_path)
        process = folder.dpbench(*arguments, start_new_session=True)
        started.append(process)
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            try:
                done = folder.ask("SELECT count(*) FROM tags WHERE key = 'dpbench.status'")[0][0]
            except sqlite3.Error:  # not made yet
                done = 0
            if done >= 2:
                return folder, process
            time.sleep(0.02)
        raise AssertionError(f"it ended, or hung, before it could be interrupted: {process.returncode}")

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def group(leader: int) -> list[str]:
    """The processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        if int(its_group) == leader and state != "Z":
            found.append(path.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("engine", [["engine=local", "engine.workers=2"], ["engine=serial"]], ids=["local", "serial"])
def test_an_interruption_stops_everything_and_keeps_what_is_done(
    begun: Callable[..., tuple[Folder, subprocess.Popen[str]]], engine: list[str]
) -> None:
    folder, process = begun("-m", *LONG, f"epsilon={MANY}", *engine)
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 20
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert err.splitlines()[-1] == "Interrupted."
    end = time.monotonic() + 10
    while group(process.pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert group(process.pid) == []
    assert folder.files == ["mlartifacts", "mlflow.audits.jsonl", "mlflow.db"]
    (parent,) = folder.ids("sweep")
    assert folder.status(parent) == "KILLED"
    cells = folder.ids("cell")
    assert 2 <= len(cells) < 60
    assert {folder.status(run_id) for run_id in cells} <= {"FINISHED", "KILLED"}
    done = [folder.named("params", run_id) for run_id in cells if folder.status(run_id) == "FINISHED"]
    mechanism = done[0]["mechanism"]
    epsilons = [params["epsilon"] for params in done if params["mechanism"] == mechanism][:2]
    again = folder.run("-m", *LONG[:-1], f"mechanism={mechanism}", f"epsilon={','.join(epsilons)}")
    assert f"Cells: 0 run, {len(epsilons)} already recorded" in again.stdout
