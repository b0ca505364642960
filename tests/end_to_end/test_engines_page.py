"""Every command and every recipe on the page about engines can be typed as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench.__main__ import _is_for_hydra
from dpbench.cli import main as cli
from dpbench.sweeps.engines.choice import KEYS, MAX_WORKERS
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.hydra.flags import split

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = sorted(set(re.findall(r"python -m dpbench ([^`#>\"|&\n]+)", PAGE)))


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


@pytest.fixture(autouse=True)
def _elsewhere(alone: None) -> None:
    """Nothing from outside, and nothing for the tests that follow."""


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_accepted(line: str) -> None:
    arguments = shlex.split(line)
    if _is_for_hydra(arguments):
        _, overrides = split(arguments)
        for point in grid_points(overrides):
            section = point.config["engine"]
            assert [key for key in section if section[key] is not None and key not in ("name", *KEYS[section["name"]])] == []
    else:
        command = cli.subcommands()
        assert arguments[0] in command
        group = cli._command
        subcommand = group.get_command(group.make_context("dpbench", ["--"], resilient_parsing=True), arguments[0])
        assert subcommand.make_context(arguments[0], arguments[1:]).params


def test_every_engine_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)) == set(KEYS)


@pytest.mark.parametrize("script", blocks("bash") + blocks("sh"))
def test_every_script_is_one(script: str) -> None:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("program", blocks("python"))
def test_every_program_compiles_and_imports_what_there_is(program: str) -> None:
    compile(program, "docs/engines.md", "exec")
    for module, name in re.findall(r"^from (dpbench\S*) import (\w+)$", program, re.MULTILINE):
        assert hasattr(__import__(module, fromlist=[name]), name)


def test_the_numbers_of_workers_are_allowed() -> None:
    assert all(int(number) <= MAX_WORKERS for number in re.findall(r"engine\.workers\W+(\d+)", PAGE))


def test_the_kubernetes_job_runs_a_command_of_ours() -> None:
    (job,) = map(yaml.safe_load, blocks("yaml"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][:4] == ["python", "-m", "dpbench", "work"]


def test_every_recipe_says_what_was_tried() -> None:
    recipes: list[Any] = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    assert all("*Tried here:*" in recipe and "*Not tried:*" in recipe for recipe in recipes)
