"""A new plugin of every kind is written, installed, checked, tested and swept, by the commands that were printed."""

from __future__ import annotations

import shlex

import pytest
from plugin_home import PluginHome, make_home

from dpbench.contracts.hooks import OFFERS

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> PluginHome:
    return make_home(tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("kind", OFFERS)
def test_a_new_plugin_works_at_once(kind: str, home: PluginHome) -> None:
    written = home.run("new", kind, f"my_{kind}")
    assert written.returncode == 0, written.stderr
    install, sweep, check = (shlex.split(line) for line in written.stdout.splitlines() if line.startswith("    "))
    folder = home.folder / install[-1]
    home.pip("install", "--no-deps", "--no-index", "--no-build-isolation", str(folder))
    try:
        assert {entry["health"] for entry in home.plugins().values() if entry["distribution"] == folder.name} == {"ok"}
        for command in (check, sweep):
            result = home.run(*command[3:])
            assert result.returncode == 0, result.stdout + result.stderr
        assert home.run_module("pytest", "-q", "-p", "no:cacheprovider", str(folder / "tests")).returncode == 0
        if kind == "mechanism":
            row = home.run("leaderboard", f"mechanism=my_{kind}", "tables=concrete", "epsilon=1", "model=linear")
            assert row.returncode == 0, row.stdout + row.stderr
            assert f"* my_{kind}" in row.stdout
    finally:
        home.pip("uninstall", "--yes", folder.name)


def test_a_single_file_works_where_it_lies(home: PluginHome) -> None:
    written = home.run("new", "mechanism", "alone", "--single-file")
    sweep, check = (shlex.split(line) for line in written.stdout.splitlines() if line.startswith("    "))
    for command in (check, sweep):
        result = home.run(*command[3:])
        assert result.returncode == 0, result.stdout + result.stderr
