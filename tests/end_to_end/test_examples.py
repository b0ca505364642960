"""The example distributions are built, installed from their wheels, checked, tested and swept, as their READMEs say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from plugin_home import PluginHome, build_wheel, make_home

pytestmark = pytest.mark.long
EXAMPLES = Path(__file__).parents[2] / "examples"
DISTRIBUTIONS = sorted(path.parent for path in EXAMPLES.glob("*/pyproject.toml"))
KINDS = {"dpbench-bills": ["attack", "dataset", "mechanism", "metric", "model"], "dpbench-huber-chunks": ["mechanism"]}


@dataclass(frozen=True)
class Example:
    """A distribution of examples/, installed from its wheel."""

    source: Path
    wheel: Path
    home: PluginHome

    def command(self, word: str) -> list[str]:
        """The arguments of the README's command that begins with a word."""
        block = re.search(
            r"^```sh\n(.*?)^```$", (self.source / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        assert block is not None
        commands = [shlex.split(line)[3:] for line in block[1].splitlines() if line.startswith("python -m dpbench ")]
        (arguments,) = [arguments for arguments in commands if arguments[0] == word]
        return arguments


@pytest.fixture(scope="module", params=DISTRIBUTIONS, ids=lambda path: path.name)
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    home = make_home(tmp_path_factory.mktemp("home"))
    wheel = build_wheel(request.param, tmp_path_factory.mktemp("build"))
    home.pip("install", "--no-deps", "--no-index", str(wheel))
    return Example(request.param, wheel, home)


def test_there_is_one_of_each_kind_of_distribution() -> None:
    assert {path.name: KINDS[path.name] for path in DISTRIBUTIONS} == KINDS


def test_its_wheel_has_every_module_and_nothing_else(example: Example) -> None:
    names = {name for name in zipfile.ZipFile(example.wheel).namelist() if ".dist-info/" not in name}
    assert names == {path.relative_to(example.source).as_posix() for path in example.source.glob("dpbench_*/*.py")}


def test_it_is_listed_with_everything_that_it_brings(example: Example) -> None:
    entries = json.loads(example.home.run("plugins", "--json").stdout)
    brought = [entry for entry in entries if entry["distribution"] == example.source.name]
    assert sorted(entry["kind"] for entry in brought) == KINDS[example.source.name]
    assert {entry["health"] for entry in brought} == {"ok"}


def test_all_that_it_brings_passes_every_check(example: Example) -> None:
    result = example.home.run(*example.command("check"), "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    findings = json.loads(result.stdout)
    assert sorted(found["kind"] for found in findings) == KINDS[example.source.name]
    assert all(found["passed"] for found in findings)


def test_its_own_tests_pass(example: Example) -> None:
    tests = shutil.copytree(example.source / "tests", example.home.folder / "tests")  # away from dpbench's own settings of pytest
    # `check` has just tried the replay, which takes most of the time
    result = example.home.run_module("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "not replay", str(tests))
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout


def test_one_sweep_uses_everything_that_it_brings(example: Example) -> None:
    result = example.home.run(*example.command("-m"))
    assert result.returncode == 0, result.stdout + result.stderr
    database = sqlite3.connect(example.home.folder / "mlflow.db")
    try:
        recorded = {value for (value,) in database.execute("SELECT DISTINCT value FROM params")}
        recorded |= {key.removeprefix("utility/") for (key,) in database.execute("SELECT DISTINCT key FROM metrics")}
    finally:
        database.close()
    entries = json.loads(example.home.run("plugins", "--json").stdout)
    brought = {entry["name"] for entry in entries if entry["distribution"] == example.source.name}
    assert brought <= recorded | {key.removesuffix("_median") for key in recorded}


def test_what_it_claims_is_judged_by_a_replay_or_named_unproven(example: Example) -> None:
    """Reads the store of the sweep before; the audits that it kept are those that `plugins` shows."""
    entries = json.loads(example.home.run("plugins", "--json").stdout)
    (audit,) = [entry["audit"] for entry in entries if entry["distribution"] == example.source.name and entry["audit"]]
    assert audit["verdict"] == ("passed" if example.source.name == "dpbench-bills" else "undecided"), audit["reason"]
