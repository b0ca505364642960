"""Configurations are composed outside a Hydra application, and leave one that runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import initialize
from hydra.core.global_hydra import GlobalHydra

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra import composition
from dpbench.sweeps.hydra.composition import HydraComposer, grid_points


def test_each_choice_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    composed = []
    original = HydraComposer.compose
    monkeypatch.setattr(HydraComposer, "compose", lambda self, overrides: composed.append(overrides) or original(self, overrides))
    points = grid_points(["mechanism=fm,dpba,dpc", "epsilon=1,2,3,4", "model=linear,ridge"])
    assert len(points) == 24
    assert len(composed) == 1 + 2 + 1, "the first of each, then every other choice"


def test_an_application_of_the_callers_is_put_back() -> None:
    with initialize(version_base="1.3", config_path=None):
        running = GlobalHydra.instance().hydra
        assert len(grid_points(["epsilon=1,2"])) == 2
        assert GlobalHydra.instance().hydra is running
    assert not GlobalHydra.instance().is_initialized()


def test_an_application_is_put_back_after_a_refusal_too() -> None:
    with initialize(version_base="1.3", config_path=None):
        running = GlobalHydra.instance().hydra
        with pytest.raises(Refused):
            grid_points(["mechanism=fmm"])
        assert GlobalHydra.instance().hydra is running


def test_a_folder_of_ones_own_adds_choices(tmp_path: Path) -> None:
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "seven.yaml").write_text("scheme: kfold\nrepeats: 2\nfolds: 7\n")
    (point,) = grid_points(["splits=seven"], str(tmp_path))
    assert point.config["splits"]["folds"] == 7
    with pytest.raises(Refused, match="must be a folder"):
        grid_points([], str(tmp_path / "nowhere"))


def test_a_preset_of_ones_own_may_set_null(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\nhydra:\n  sweeper:\n    params: {dataset: wine, dataset.sample_n: null, epsilon: '1,2'}\n"
    )
    points = composition.grid_points(["experiment=mine"], str(tmp_path))
    assert [point.axes for point in points] == [{"epsilon": 1}, {"epsilon": 2}]
    assert points[0].config["dataset"]["sample_n"] is None
