"""Presets are listed with their cells and runs, and a user's own ones are found in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench.base.errors import Refused
from dpbench.experiments.presets import experiments, select, values_of
from dpbench.sweeps.hydra.composition import grid_points


def write(folder: Path, params: dict[str, Any], **preset: Any) -> Path:
    """Write a user's own preset, as the documentation says."""
    path = folder / "experiment" / "mine.yaml"
    path.parent.mkdir(exist_ok=True)
    config = {**({"preset": preset} if preset else {}), "hydra": {"sweeper": {"params": params}}}
    path.write_text("# @package _global_\n" + yaml.safe_dump(config))
    return folder


def test_a_preset_of_ones_own_is_listed_and_expands(tmp_path: Path) -> None:
    params = {"mechanism": "fm,dpba", "mechanism.alpha": "opt,paper", "dataset": "wine", "epsilon": "1,2", "splits.repeats": 4}
    write(tmp_path, params, title="Mine", shows="something")
    (found,) = select("mine", experiments(str(tmp_path)))
    assert (found.cells, found.runs, found.facts()["shows"]) == (6, 20, "something")
    assert len(grid_points(["experiment=mine"], str(tmp_path))) == 6


def test_a_preset_that_says_nothing_is_a_grid_too(tmp_path: Path) -> None:
    (found,) = select("mine", experiments(str(write(tmp_path, {"dataset.attributes": "[age,gender],[age]"}))))
    assert (found.preset, found.cells, found.runs) == (None, 2, 250)


def test_a_wrong_option_in_a_preset_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"mechanism": "fm,dpba", "mechanism.rigde": 4})
    with pytest.raises(Refused, match="ridge"):
        grid_points(["experiment=mine"], str(tmp_path))
    write(tmp_path, {"mechanism": "fm", "splitz.folds": 4})
    with pytest.raises(Refused, match="splitz"):
        grid_points(["experiment=mine"], str(tmp_path))


def test_a_preset_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "torn.yaml").write_text("preset: [")
    with pytest.raises(Refused, match=r"torn\.yaml is not YAML"):
        experiments(str(tmp_path))
    with pytest.raises(Refused, match="must be a folder"):
        experiments(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", ["1"]),
        ("0.1, 0.2", ["0.1", "0.2"]),
        ("[a,b],[c]", ["[a,b]", "[c]"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ("{a: [1,2], b: 3}", ["{a: [1,2], b: 3}"]),
    ],
)
def test_commas_separate_values_but_not_within_brackets_and_quotes(text: str, values: list[str]) -> None:
    assert values_of(text) == values


def test_a_users_preset_has_no_paper_whose_choices_it_could_name(tmp_path: Path) -> None:
    write(tmp_path, {"mechanism": "fm"}, title="Mine", choices=["rows"])
    with pytest.raises(Refused, match="no choice for the preset mine named 'rows'"):
        experiments(str(tmp_path))


def test_a_preset_of_a_broken_paper_is_refused_with_the_reason(broken_paper: None) -> None:
    for refuse in (lambda: select("mine/fig1", experiments()), lambda: grid_points(["experiment=mine/fig1"])):
        with pytest.raises(Refused, match=r"no experiment named 'mine/fig1'.*fig1\.yaml is not YAML"):
            refuse()
