"""A new plugin of every kind is written, installed, checked, tested and swept, by the commands that were printed.

dpbench is installed from its wheel, in an environment that all kinds share, and everything starts in an empty folder.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from plugin_home import PluginHome, build_wheel, make_home

from dpbench.contracts.hooks import KINDS, OFFERS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SOURCES = ("dpbench", "plugins", "conf", "pyproject.toml", "setup.py", "README.md", "LICENSE")
LEADERBOARD = ("tables=concrete", "epsilon=1", "model=linear")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> PluginHome:
    made = make_home(tmp_path_factory.mktemp("home"))
    wheel = build_wheel(ROOT, tmp_path_factory.mktemp("build"), SOURCES)
    made.pip("install", "--no-deps", "--no-index", str(wheel))
    return made


def commands_after(home: PluginHome, *arguments: str) -> list[list[str]]:
    """Write a new plugin, and return the commands that are printed as the next ones."""
    written = home.run("new", *arguments)
    assert written.returncode == 0, written.stderr
    return [shlex.split(line) for line in written.stdout.splitlines() if line.startswith("    ")]


def succeed(home: PluginHome, *arguments: str) -> str:
    """Run a command of dpbench that must succeed, and return what it printed."""
    result = home.run(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_dpbench_is_the_wheel(home: PluginHome) -> None:
    program = "import dpbench, dpbench.plugins; print(dpbench.__file__, dpbench.plugins.__file__)"
    result = home.run_code(program)
    assert result.returncode == 0, result.stderr
    assert all(Path(path).is_relative_to(home.python.parents[1]) for path in result.stdout.split())


@pytest.mark.parametrize("kind", OFFERS)
def test_a_new_plugin_works_at_once(kind: str, home: PluginHome) -> None:
    install, sweep, check = commands_after(home, kind, f"my_{kind}")
    folder = home.folder / install[-1]
    home.pip("install", "--no-deps", "--no-index", "--no-build-isolation", str(folder))
    try:
        assert {entry["health"] for entry in home.plugins().values() if entry["distribution"] == folder.name} == {"ok"}
        for command in (check, sweep):
            succeed(home, *command[3:])
        assert home.run_module("pytest", "-q", "-p", "no:cacheprovider", str(folder / "tests")).returncode == 0
        if kind == "mechanism":  # the leaderboard has a row for each mechanism, and for nothing else
            assert f"* my_{kind}" in succeed(home, "leaderboard", f"mechanism=my_{kind}", *LEADERBOARD)
    finally:
        home.pip("uninstall", "--yes", folder.name)


def test_single_files_work_where_they_lie(home: PluginHome) -> None:
    for kind in OFFERS.keys() - {"paper"}:
        _, check = commands_after(home, kind, f"alone_{kind}", "--single-file")
        succeed(home, *check[3:])
    components = [f"{kind}=alone_{kind}" for kind in KINDS]
    printed = succeed(home, "--plugins-dir", ".", *components, "epsilon=1", "splits.repeats=2")
    assert "alone_model on alone_dataset" in printed
    board = succeed(home, "--plugins-dir", ".", "leaderboard", "mechanism=alone_mechanism", *LEADERBOARD)
    assert "* alone_mechanism" in board
