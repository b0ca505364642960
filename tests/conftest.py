"""Small helpers that several test modules share: components by name, tables, rows, curators."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Omissions
from dpbench.contracts.metric import ConstantPredictions, Metric, Predictions, evaluate
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.data.table import Column, Table
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.queries.query import Query, RowQuery, contributions
from dpbench.privacy.replay import ReplayCurator
from dpbench.records.cell_record import CellRecord
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

# tests are imported by their paths, so modules that they share are loaded under names of their own
for name in (
    "cell_factory",
    "extract_factory",
    "faulty_mechanisms",
    "download_servers",
    "plugin_home",
    "release_factory",
    "script_loader",
    "store_servers",
):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


os.environ.setdefault("DPBENCH_TEST_USERS_CACHE", os.environ.get("DPBENCH_CACHE", ""))  # workers inherit it
os.environ["DPBENCH_CACHE"] = str(Path(tempfile.gettempdir()) / "dpbench-tests")  # no test depends on what a user has installed

SLOW = (
    *("end_to_end", "guard", "browser", "laws", "scripts", "sweeps", "tracking", "audit", "report/figures"),
    *("plugins/datasets", "plugins/attacks", "plugins/papers", "plugins/test_matrix.py", "plugins/models/test_lasso.py"),
    *("cli/test_report.py", "cli/test_data.py", "cli/test_audit.py", "cli/test_claims.py", "cli/test_plan.py"),
    *("cli/test_compare.py", "cli/test_reproduce.py", "cli/test_failures.py"),
    *("cli/test_leaderboard.py", "report/leaderboard/test_diagrams.py", "plugins/studies"),
    *("records/test_names.py", "contracts/test_metric.py", "experiments/test_presets.py"),
    *("plugins/mechanisms/test_diffprivlib", "plugins/mechanisms/test_opendp"),  # a process for each fit, where installed
    *("privacy/test_secure_noise.py", "privacy/queries/test_sparse_histogram.py"),
)
"""Folders and files whose tests run sweeps, servers or thousands of fits: they carry the marker ``slow``."""


LONG = (
    *("guard", "browser", "sweeps/test_auditing.py", "sweeps/engines", "sweeps/test_same_bits.py"),
    *("sweeps/test_running.py", "sweeps/test_folder_delivery.py", "plugins/test_conformance.py"),
    "testing/test_wrong_plugins.py",
    *("audit/test_false_alarms.py", "audit/test_procedure.py", "report/statistics/test_medians.py"),
    *("tracking/test_postgresql.py", "tracking/test_ui_server.py", "end_to_end/test_commands.py", "end_to_end/test_docs.py"),
    *("end_to_end/test_odd_command_lines.py", "end_to_end/test_outages.py", "end_to_end/test_repeated_commands.py"),
    *("end_to_end/test_engines_page.py", "end_to_end/test_read_only_store.py"),
    *("end_to_end/test_private_sentinel.py", "end_to_end/test_strangers_plugin.py", "scripts/test_kill_sweeps.py"),
)
"""Folders and files that start engines, servers or programs again and again, or audit with statistics: ``long`` and ``slow``."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Leave out long tests unless paths or markers are named, and keep absl from closing pytest's capture file.

    absl, which dp-accounting logs with, has a handler that remembers the error stream of the moment it is imported, and Hydra
    closes all handlers when it sets up logging.
    """
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = "not long"  # workers get it from here
    if importlib.util.find_spec("absl"):
        from absl import logging

        logging.get_absl_handler().python_handler.stream = sys.__stderr__


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = str(item.path.relative_to(Path(__file__).parent))
        for marker, paths in (("slow", SLOW + LONG), ("long", LONG)):
            if path.startswith(paths):
                item.add_marker(marker)
        if item.get_closest_marker("long"):  # of a single test
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def _digest_key(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Digests of private rows in tests have a key of their own, also in subprocesses: no test touches the user's."""
    file = tmp_path_factory.mktemp("key") / "digest_key"
    file.write_text("0123456789abcdef" * 4)
    os.environ.update({"DPBENCH_KEY_FILE": str(file), "XDG_CONFIG_HOME": str(file.parent)})


@pytest.fixture(scope="session", autouse=True)
def _no_audits() -> None:
    """Sweeps of tests audit nothing unless they ask for it, also in subprocesses: their cells are claimed, and say so."""
    os.environ["DPBENCH_AUDIT_LEVEL"] = "none"


@pytest.fixture
def planted() -> None:
    """The test plants an error in a report, which has to survive it as it does for users."""


@pytest.fixture(autouse=True)
def _whole_reports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a part of a report fails every other test of this process, instead of becoming a sentence."""
    if "planted" not in request.fixturenames:
        monkeypatch.setattr(Omissions, "attempt", lambda self, part, make: make())


@pytest.fixture(scope="session")
def make_cell() -> Callable[..., CellRecord]:
    """The record of a cell with this mechanism and error; see cell_factory.py."""
    factory: Callable[..., CellRecord] = sys.modules["cell_factory"].make_cell
    return factory


@pytest.fixture
def extracts(tmp_path: Path) -> Any:
    """Writes extracts of IPUMS International into the temporary folder; see extract_factory.py."""
    return sys.modules["extract_factory"].Extracts(tmp_path)


@pytest.fixture
def cps(tmp_path: Path) -> Any:
    """Writes extracts of IPUMS CPS into the temporary folder."""
    factory = sys.modules["extract_factory"]
    return factory.Extracts(tmp_path, factory.CPS, project="cps")


@pytest.fixture
def service(extracts: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A server in the place of IPUMS with an extract of 12 persons, a key, and an empty cache folder; see download_servers.py."""
    servers = sys.modules["download_servers"]
    copy = servers.Service()
    for path in (extracts.write(extracts.rows(12), "ipumsi_00007"), tmp_path / "ipumsi_00007.dat.gz"):
        copy.files[path.name] = path.read_bytes()
        path.unlink()
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IPUMS_API_KEY", servers.KEY)
    with copy.serve() as address:
        monkeypatch.setenv("DPBENCH_IPUMS_URL", address)
        yield copy


@pytest.fixture
def bureau(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A server in the place of the Census Bureau, and an empty cache folder; see download_servers.py."""
    there = sys.modules["download_servers"].Bureau()
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    with there.serve() as address:
        monkeypatch.setenv("DPBENCH_ACS_URL", address)
        yield there


@pytest.fixture
def fresh() -> Iterator[None]:
    """Components are found anew, and none that this test brought is known to those that follow."""
    registry.cache_clear()
    register.cache_clear()
    yield
    registry.cache_clear()
    register.cache_clear()


@pytest.fixture
def drop_in(fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts the source of a plugin into the folder that plugins are looked for in."""

    def put(source: str) -> None:
        (tmp_path / "dropped_in.py").write_text(textwrap.dedent(source))
        monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path))

    return put


@pytest.fixture
def users_cache(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Components may use what the user has in the cache, such as outside packages."""
    monkeypatch.setenv("DPBENCH_CACHE", os.environ["DPBENCH_TEST_USERS_CACHE"])


@pytest.fixture
def broken_paper(drop_in: Callable[[str], None], tmp_path: Path) -> None:
    """A paper in the drop-in folder, called ``mine``, whose only preset is not YAML."""
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "fig1.yaml").write_text("preset: [")
    drop_in(
        """
        from pathlib import Path
        from dpbench import Paper, hookimpl

        @hookimpl
        def dpbench_papers():
            return [Paper("mine", "Mine 2020", Path(__file__).parent)]
        """
    )


@pytest.fixture
def alone(fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, no plugins, stores or settings from outside, and reports whose PDFs are empty.

    Embedding fonts in PDFs takes twice the time of a small sweep; tests of figures make real ones.
    """
    from dpbench.report.figures import style

    whole = style.save

    def save(figure: Any, stem: Path, kinds: tuple[str, ...] = ("png", "pdf")) -> None:
        whole(figure, stem, tuple(kind for kind in kinds if kind != "pdf"))
        if "pdf" in kinds:
            stem.with_name(f"{stem.name}.pdf").write_bytes(b"%PDF-1.4 empty")

    monkeypatch.setattr(style, "save", save)
    # what other tests measured must not decide how this one's units are cut
    monkeypatch.setattr("dpbench.sweeps.costs.times_file", lambda: tmp_path.with_name(f"{tmp_path.name}-times.jsonl"))
    for name in ("DPBENCH_PLUGINS_DIR", "DPBENCH_DISABLE_PLUGINS", "MLFLOW_TRACKING_URI", "HYDRA_FULL_ERROR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def make() -> Callable[..., Any]:
    """A component by kind, name and options, through the door that users use."""

    def component(kind: str, name: str, **options: Any) -> Any:
        return registry().get(kind, name).build(options)

    return component


@pytest.fixture(scope="session")
def geometry() -> Callable[..., Geometry]:
    """A geometry of so many numeric columns and one-hot groups of these sizes."""

    def built(
        numeric: int,
        groups: tuple[int, ...] = (),
        intercept: bool = False,
        scaling: Any = "box",
        target: Any = "real",
        constant: float = 1.0,
    ) -> Geometry:
        starts = np.cumsum([numeric, *groups])
        members = tuple(tuple(range(start, start + size)) for start, size in zip(starts, groups, strict=False))
        columns = tuple(f"x{index}" for index in range(numeric + sum(groups)))
        return Geometry(columns, members, intercept, scaling, target, constant)

    return built


@pytest.fixture(scope="session")
def rows() -> Callable[..., Rows]:
    """Rows from a geometry, features and a target, as they are: neither clipped nor scaled."""

    def built(geometry: Geometry, x: Any, y: Any) -> Rows:
        features, target = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(y, dtype=float))
        return Rows(np.column_stack([np.ones(len(target)), features, target]), geometry)

    return built


@pytest.fixture(scope="session")
def table() -> Callable[..., Table]:
    """A table of features in [-1, 1] (and one-hot groups of these sizes, last) with a target in [-1, 1]."""

    def built(features: np.ndarray, response: np.ndarray, groups: tuple[int, ...] = (), **more: Any) -> Table:
        numeric = features.shape[1] - sum(groups)
        columns = [Column(f"x{index}", -1, 1) for index in range(numeric)]
        columns += [
            Column(f"g{number}_{level}", 0, 1, group=f"g{number}") for number, size in enumerate(groups) for level in range(size)
        ]
        return Table(tuple(columns), Column("y", -1, 1), features, response, **more)

    return built


@dataclass(frozen=True)
class RowByRow(RowQuery):
    """The contributions of another query, which the core has to add up."""

    query: Query
    name: str = "row by row"

    @property
    def size(self) -> int:
        return self.query.size

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        return contributions(self.query, rows, run)


@pytest.fixture(scope="session")
def row_by_row() -> Callable[[Query], RowQuery]:
    """A query for the same answers as another one, formed by adding up what each row contributes."""
    return RowByRow


@pytest.fixture(scope="session")
def repeated() -> Callable[[Rows, int], Sample]:
    """A sample whose runs all hold the same rows."""
    return lambda rows, runs: WholeSample(*[rows] * runs)


@pytest.fixture(scope="session")
def curate() -> Callable[..., Curator]:
    """A curator of a sample (or of rows, in one run) that keeps a tape."""

    def built(
        sample: Sample | Rows,
        epsilon: float = 1.0,
        *,
        delta: float = 1e-6,
        currency: Any = "pure",
        seed: int = 0,
        runs: list[tuple[int, int]] | None = None,
    ) -> Curator:
        seen = WholeSample(sample) if isinstance(sample, Rows) else sample
        draws = Draws(seed, "test", runs or [(run, 0) for run in range(seen.runs)])
        curator = Curator(seen, draws, Budget(epsilon, delta, currency))
        curator.tape = []
        return curator

    return built


@pytest.fixture(scope="session")
def score() -> Callable[..., dict[str, np.ndarray]]:
    """The metrics of a model (its name, or the model itself) for weights (runs, D) on a sample."""

    def metrics(model: Any, weights: np.ndarray, sample: Sample) -> dict[str, np.ndarray]:
        return evaluate(_metrics_of(model), Predictions(weights, sample))

    return metrics


@pytest.fixture(scope="session")
def score_mean() -> Callable[..., dict[str, np.ndarray]]:
    """The metrics of the mean predictor of one sample on another."""

    def metrics(model: Any, train: Sample, test: Sample) -> dict[str, np.ndarray]:
        return evaluate(_metrics_of(model), ConstantPredictions(train, test))

    return metrics


def _metrics_of(model: Any) -> list[Metric]:
    return registry().metrics_of(registry().get("model", model) if isinstance(model, str) else model)


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], str]:
    """Runs code in a fresh interpreter, in an empty folder, and returns what it printed."""

    def run(code: str) -> str:
        result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture(scope="session")
def replay_of() -> Callable[[Curator, Rows], ReplayCurator]:
    """A replay of what a curator of one run has on its tape, on a neighbouring table."""

    def built(curator: Curator, neighbour: Rows) -> ReplayCurator:
        draws, tape = Draws(0, "test", [(0, 0)]), curator.tape or []
        replay = ReplayCurator(WholeSample(neighbour), draws, curator.ledger.budget, tape)
        replay.tape = []
        return replay

    return built


@pytest.fixture(scope="session")
def replayed(make: Callable[..., Any], curate: Callable[..., Curator], replay_of: Any) -> Callable[..., Any]:
    """A mechanism on some rows, then on their neighbour with the first answers: both fits and the replay, which is over."""

    def both(mechanism: Any, rows: Rows, neighbour: Rows, model: str = "linear", epsilon: float = 1.3) -> Any:
        curator = curate(rows, epsilon=epsilon, currency=mechanism.counted())
        budget, fitted = curator.ledger.budget, make("model", model, intercept=rows.geometry.intercept)
        first = mechanism.fit(curator, fitted.prepare(curator), budget)
        replay = replay_of(curator, neighbour)
        second = mechanism.fit(replay, fitted.prepare(replay), budget)
        replay.finish()
        return first, second, replay

    return both
