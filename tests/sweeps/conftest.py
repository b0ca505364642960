"""An empty folder with a store in it, the command in this process, and plugins written on the spot."""

from __future__ import annotations

import io
import shutil
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from dpbench.__main__ import main
from dpbench.registry.lookup import registry
from dpbench.report import terminal_answer
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import print_table
from dpbench.sweeps.hydra.config_groups import register
from dpbench.tracking.store import open_store


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """MLflow's tables use what SQLAlchemy 2.1 has deprecated: not ours to fix, and not an error."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"))


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str
    summary: SweepSummary | None = field(default=None, repr=False)
    """Of the sweep whose decision was printed."""

    @property
    def table(self) -> list[list[str]]:
        """The rows of the table of cells, without frames: a sweep prints its decision instead."""
        text = self.out
        if self.summary is not None:
            out = io.StringIO()
            print_table(self.summary, out)
            text = out.getvalue()
        return [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]

    @property
    def counted(self) -> str:
        return next(line for line in self.out.splitlines() if line.startswith("Cells: "))

    def refused(self, *words: str) -> bool:
        """One sentence, with these words in it, and nothing else."""
        assert self.code == 2, (self.out, self.err)
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err, self.err
        return True


@dataclass
class Home:
    """A working folder, and the command in it."""

    folder: Path
    capture: pytest.CaptureFixture[str] = field(repr=False)

    def run(self, *arguments: str) -> Answer:
        self.capture.readouterr()
        with patch.object(terminal_answer, "print_answer", wraps=terminal_answer.print_answer) as printing:
            code = main(list(arguments))
        out, err = self.capture.readouterr()
        return Answer(code, out, err, printing.call_args.args[0] if printing.called else None)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def runs(self, kind: str = "cell", **tags: str) -> list[Run]:
        """The recorded runs of a kind, oldest first."""
        client = MlflowClient(f"sqlite:///{self.folder / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("dpbench")
        assert experiment is not None
        wanted = {"dpbench.kind": kind, **{f"dpbench.{name}": value for name, value in tags.items()}}
        query = " and ".join(f"tags.`{name}` = '{value}'" for name, value in wanted.items())
        return list(client.search_runs([experiment.experiment_id], query, order_by=["attributes.start_time ASC"]))


@pytest.fixture(autouse=True)
def _undone(alone: None) -> None:
    """Nothing from outside, and nothing for the tests that follow."""


@pytest.fixture(scope="session")
def store_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with tables and nothing in it: making one takes a second, copying it none."""
    path = tmp_path_factory.mktemp("template") / "mlflow.db"
    open_store(f"sqlite:///{path}", "elsewhere").close()
    return path


@pytest.fixture
def empty(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Home:
    """A working folder with nothing in it."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Home(folder, capsys)


@pytest.fixture
def home(empty: Home, store_file: Path) -> Home:
    """A working folder with a store that holds no run."""
    shutil.copy(store_file, empty.folder / "mlflow.db")
    return empty


@pytest.fixture
def drop_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Write a file into the drop-in folder; what it offers can be asked for at once."""
    folder = tmp_path / "plugins"
    folder.mkdir()

    def write(name: str, text: str) -> Path:
        path = folder / f"{name}.py"
        path.write_text(textwrap.dedent(text))
        monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(folder))
        registry.cache_clear()
        register.cache_clear()
        return path

    return write


@pytest.fixture
def planned() -> Callable[..., Any]:
    """The plan of some overrides, on wine where they name no dataset."""
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    def make(*overrides: str) -> Any:
        own = any(override.startswith("dataset=") for override in overrides)
        return plan(grid_points([*([] if own else ["dataset=wine"]), *overrides]))

    return make
