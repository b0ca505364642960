"""The command that a sweep records runs the same cells again, in a fresh process that has none of the environment variables."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SETTINGS = ("MLFLOW_", "DPBENCH_", "HYDRA_")
PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from dpbench import Fit, Mechanism, hookimpl


@dataclass(frozen=True)
class Zero(Mechanism):
    """Weights of zero."""

    name: ClassVar[str] = "zero"
    guarantee: ClassVar[str] = "none"
    depends_on_budget: ClassVar[bool] = False

    def fit(self, curator, problem, budget):
        shape = curator.runs, curator.geometry.dimension
        return curator.reveal("zeros", lambda sample: Fit.good(np.zeros(shape)), "they need no rows")


@hookimpl
def dpbench_mechanisms():
    return [Zero]
'''
PRESET = """# @package _global_
hydra:
  sweeper:
    params: {mechanism: "fm,zero", model: "linear,ridge", epsilon: "0.1,1", dataset: wine, skip: {mechanism: fm, model: ridge}}
"""
SCRIPT = """
import dpbench

dpbench.sweep(
    {
        "dataset.path": "my data (1).csv",
        "dataset.target": "the target",
        "dataset.bounds": "data",
        "dataset.attributes": [("a (b)", "it's c"), ("it's c",)],
        "splits.repeats": 2,
        "mechanism.convention": "matrix",
    },
    dataset="table",
    mechanism=["fm", "no_privacy"],
    epsilon=[0.1, 1.0],
    seed=[1, 2],
    zip=["epsilon", "seed"],
    skip={"mechanism": "no_privacy", "seed": 2},
    engine="serial",
    clipped=True,
)
"""
FRAME = """
import dpbench
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
table = pd.DataFrame({"x": rng.uniform(0, 1, 60), "y": rng.uniform(0, 1, 60)})
dpbench.sweep({"dataset.path": table, "dataset.target": "y", "dataset.bounds": "data", "splits.repeats": 1}, dataset="table")
"""


def run(folder: Path, command: list[str], **variables: str) -> str:
    """Run a command with these variables and no others of dpbench, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)} | variables
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def request(folder: Path) -> dict[str, object]:
    """Return what the only sweep of the folder's store has recorded about itself."""
    (file,) = folder.glob("mlartifacts/*/artifacts/sweep.json")
    return dict(json.loads(file.read_text()))


def repeated(folder: Path) -> str:
    """Run the recorded command in a fresh shell, and return the line that counts cells."""
    words = shlex.split(str(request(folder)["command"]))
    assert words[:3] == ["python", "-m", "dpbench"]
    out = run(folder, ["sh", "-c", shlex.join([sys.executable, *words[1:]])])
    return next(line for line in out.splitlines() if line.startswith("Cells: "))


def test_a_command_that_rests_on_folders_and_environment_variables_is_repeated_without_them(tmp_path: Path) -> None:
    (tmp_path / "my plugins").mkdir()
    (tmp_path / "my plugins" / "zero.py").write_text(PLUGIN)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "own.yaml").write_text(PRESET)
    variables = {"DPBENCH_PLUGINS_DIR": "my plugins", "DPBENCH_AUDIT_LEVEL": "component"}
    variables["MLFLOW_TRACKING_URI"] = "sqlite:///my, 'own' runs.db"
    command = [
        sys.executable,
        "-m",
        "dpbench",
        "-m",
        "--config-dir",
        "mine",
        "experiment=own",
        "dataset.attributes=[alcohol,'ph']",
    ]
    assert "Cells: 4 run." in run(tmp_path, [*command, "splits.repeats=2", "engine=serial"], **variables)
    assert str(tmp_path) not in str(request(tmp_path)["command"]), "another checkout has another path"
    assert repeated(tmp_path) == "Cells: 0 run, 4 already recorded (rerun=true runs them again)."


def test_a_sweep_from_python_is_repeated_on_the_command_line(tmp_path: Path) -> None:
    rows = [f"{index / 60},{index % 7},{index % 11}" for index in range(60)]
    (tmp_path / "my data (1).csv").write_text("\n".join(["a (b),it's c,the target", *rows]))
    run(tmp_path, [sys.executable, "-c", SCRIPT])
    assert request(tmp_path)["notes"] == ["skip leaves out 2 of 8 combinations."]
    assert repeated(tmp_path) == "Cells: 0 run, 6 already recorded (rerun=true runs them again)."


def test_a_table_from_python_cannot_be_repeated_and_a_note_says_so(tmp_path: Path) -> None:
    run(tmp_path, [sys.executable, "-c", FRAME])
    (note,) = request(tmp_path)["notes"]  # type: ignore[misc]
    assert "its table was passed from Python" in str(note)
