"""A plugin that somebody else wrote, built as its own wheel, comes and goes through the door that strangers use."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugin_home import PluginHome, build_wheel, make_home

STRANGER = Path(__file__).parent / "stranger"
SWEEP = ("mechanism=stranger", "dataset=wine", "epsilon=1", "splits.repeats=2")


def recorded(home: PluginHome, param: str) -> list[str]:
    """The values of a parameter in the store, which is taken away."""
    store = home.folder / "mlflow.db"
    database = sqlite3.connect(store)
    try:
        rows = database.execute("SELECT value FROM params WHERE key = ? ORDER BY value", (param,)).fetchall()
    finally:
        database.close()
    store.unlink()
    return [value for (value,) in rows]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(STRANGER, tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> PluginHome:
    return make_home(tmp_path_factory.mktemp("home"))


@pytest.fixture
def stranger(home: PluginHome, wheel: Path) -> Iterator[PluginHome]:
    home.pip("install", "--no-deps", "--no-index", str(wheel))
    yield home
    home.pip("uninstall", "--yes", "dpbench-stranger")


def test_it_is_listed_with_its_distribution_and_its_option(stranger: PluginHome) -> None:
    entry = stranger.plugins()["shrunken"]
    assert (entry["kind"], entry["name"], entry["health"]) == ("mechanism", "stranger", "ok")
    assert (entry["distribution"], entry["version"]) == ("dpbench-stranger", "0.7.0")
    assert entry["summary"] == "The minimiser of a noisy objective, moved towards zero."
    assert entry["guarantee"] == "ε-DP"
    (shrink,) = entry["options"]
    assert (shrink["name"], shrink["allowed"], shrink["default"]) == ("shrink", "a float in the range [0, 1]", 0.5)


def test_a_module_that_raises_on_import_is_named_and_leaves_the_rest_working(stranger: PluginHome) -> None:
    entries = stranger.plugins()
    assert entries["careless"]["health"] == "broken"
    assert entries["careless"]["distribution"] == "dpbench-stranger"
    assert entries["careless"]["reason"] == "RuntimeError: the stranger forgot a file"
    assert {entry["health"] for name, entry in entries.items() if name != "careless"} <= {"ok", "missing"}
    assert len(entries) > 8


def test_strict_mode_raises_on_it(stranger: PluginHome) -> None:
    result = stranger.run("plugins", DPBENCH_STRICT_PLUGINS="1")
    assert result.returncode != 0
    assert "RuntimeError: the stranger forgot a file" in result.stderr


def test_it_sweeps_with_its_own_typed_option(stranger: PluginHome) -> None:
    result = stranger.run("-m", *SWEEP, "mechanism.shrink=0.1,0.9", "engine=local")
    assert result.returncode == 0, result.stdout + result.stderr
    assert recorded(stranger, "mechanism.shrink") == ["0.1", "0.9"]


def test_its_module_alone_works_from_a_drop_in_folder(home: PluginHome, tmp_path: Path) -> None:
    shutil.copy(STRANGER / "stranger_plugin" / "shrunken.py", tmp_path / "mine.py")
    result = home.run("--plugins-dir", str(tmp_path), "-m", *SWEEP, "mechanism.shrink=0.2,0.8", "engine=local")
    assert result.returncode == 0, result.stdout + result.stderr
    assert recorded(home, "mechanism.shrink") == ["0.2", "0.8"]


def test_its_row_stands_on_the_shipped_leaderboard_with_the_audits_verdict(stranger: PluginHome) -> None:
    result = stranger.run("leaderboard", "mechanism=stranger", "tables=concrete,airfoil", "epsilon=1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Linear regression: 2 cells on 2 tables" in result.stdout
    (row,) = (line for line in result.stdout.splitlines() if "* stranger" in line)
    assert "sound, pure ε" in row
    assert "cdp_irls" in result.stdout
    assert "made with other rows" not in result.stdout, "the same rows and splits as the shipped scores"
    assert recorded(stranger, "mechanism") == ["stranger"] * 2


def test_its_paper_is_listed_run_and_judged(stranger: PluginHome) -> None:
    entry = stranger.plugins()["stranger2024"]
    assert (entry["kind"], entry["name"], entry["health"]) == ("paper", "stranger2024", "ok")
    assert entry["summary"] == "A Stranger 2024: Shrinking"
    (listed,) = json.loads(stranger.run("experiments", "stranger2024", "--json").stdout)
    assert (listed["name"], listed["cells"], listed["runs"]) == ("stranger2024/fig1", 3, 12)
    assert listed["chosen"] == "The paper does not say how often it splits; here twice."
    result = stranger.run("-m", "experiment=stranger2024/fig1")
    assert result.returncode == 0, result.stdout + result.stderr
    judged = stranger.run("claims", "stranger2024")
    assert recorded(stranger, "mechanism.shrink") == ["0.1", "0.9"]
    assert "A Stranger 2024: Shrinking" in judged.stdout
    assert "holds (2 of 2)" in judged.stdout


def test_its_paper_alone_works_from_a_drop_in_folder(home: PluginHome, tmp_path: Path) -> None:
    shutil.copytree(STRANGER / "stranger_plugin" / "study", tmp_path / "study")
    result = home.run("--plugins-dir", str(tmp_path), "plan", "-m", "experiment=stranger2024/fig1", "mechanism=fm")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "fm" in result.stdout


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("mechanism.shrink=big", "The 'shrink' option of stranger must be a float in the range [0, 1]. Got 'big' instead."),
        ("mechanism.shrink=1.5", "The 'shrink' option of stranger must be a float in the range [0, 1]. Got 1.5 instead."),
        ("mechanism.shrnk=0.5", "There is no option of stranger named 'shrnk'. Did you mean shrink?"),
    ],
)
def test_a_wrong_value_of_its_option_is_refused_in_one_sentence(stranger: PluginHome, override: str, sentence: str) -> None:
    before = set(stranger.folder.iterdir())
    result = stranger.run("-m", *SWEEP, override)
    assert result.returncode == 2, result.stdout + result.stderr
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert set(stranger.folder.iterdir()) == before


def test_after_uninstalling_it_is_gone(stranger: PluginHome) -> None:
    assert "shrunken" in stranger.plugins()
    stranger.pip("uninstall", "--yes", "dpbench-stranger")
    assert "shrunken" not in stranger.plugins()
    result = stranger.run(*SWEEP)
    assert result.returncode == 2
    assert "There is no mechanism named 'stranger'." in result.stderr
