"""`python -m dpbench experiments` lists the presets, and shows one in full."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.experiments.presets import experiments

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(alone: None, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run `experiments` with these arguments in an empty folder: the exit code, and what was printed."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["experiments", *arguments])
        return (code, *capsys.readouterr())

    return run


def rows_of(out: str) -> list[list[str]]:
    """The cells of the printed table, without frames and continuation lines."""
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]
    return [row for row in rows if row[0]]


def test_the_list_names_every_preset_with_its_cells_and_runs(say: Say) -> None:
    code, out, _ = say()
    known = experiments()
    assert code == 0
    assert [(row[0], row[2], row[3]) for row in rows_of(out)] == [(x.name, str(x.cells), str(x.runs)) for x in known.values()]
    assert list(Path.cwd().iterdir()) == []


def test_a_paper_names_its_figures(say: Say) -> None:
    names = [row[0] for row in rows_of(say("fang2019")[1])]
    assert names == [name for name in experiments() if name.startswith("fang2019/")]
    assert {f"fang2019/fig{number}" for number in range(3, 10)} <= set(names)


def test_a_preset_is_shown_with_its_choices_its_grid_and_its_command(say: Say) -> None:
    out = say("zhang2012/fig5")[1]
    chosen = " ".join(out.partition("Chosen: ")[2].partition("\n\n")[0].split())
    preset = experiments()["zhang2012/fig5"].preset
    assert preset is not None
    assert chosen == preset.chosen
    assert "python -m dpbench -m experiment=zhang2012/fig5" in out.splitlines()[-1]
    grid = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  dataset"))
    assert grid["dataset.sample_rate"] == "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"


def test_the_plain_list_has_all_of_it(say: Say) -> None:
    listed = json.loads(say("--json")[1])
    assert [item["name"] for item in listed] == list(experiments())
    assert {"title", "shows", "chosen", "minutes", "cells", "runs", "grid", "command"} < set(listed[0])


def test_a_typo_names_what_is_near(say: Say) -> None:
    code, out, err = say("zhang2012/fgi6")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Did you mean zhang2012/fig6" in err


def test_a_broken_paper_is_named_on_the_other_stream(say: Say, broken_paper: None) -> None:
    code, out, err = say()
    assert (code, "mine" in out) == (0, False)
    assert err.startswith("The paper 'mine' cannot be used: The file fig1.yaml is not YAML")


def test_the_list_needs_neither_hydra_nor_a_store() -> None:
    code = "import sys; from dpbench.__main__ import main; main(['experiments']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    modules = eval(done.stderr)
    assert not {"hydra", "omegaconf", "mlflow", "pandas", "matplotlib"} & set(modules)
