"""A grid point becomes a cell."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.resolution import QUICK_REPEATS, resolve


def test_params_name_the_components_and_what_the_sweep_varies() -> None:
    grid = ["dataset=wine", "mechanism=fm,no_privacy", "mechanism.ridge=2,4", "seed=1,2", "splits.repeats=3"]
    points = grid_points(grid)
    swept = ["mechanism", "mechanism.ridge", "seed"]
    params = [dict(resolve(point, swept).params) for point in points]
    assert params[0] == {
        "mechanism": "fm",
        "model": "linear",
        "dataset": "wine",
        "attack": "none",
        "epsilon": "1",
        "delta": "1e-06",
        "splits": params[0]["splits"],
        "mechanism.ridge": "2",
        "seed": "1",
    }
    assert all("mechanism.ridge" not in named for named in params if named["mechanism"] == "no_privacy")


def test_versions_say_whose_code_and_which_data_a_cell_uses() -> None:
    (point,) = grid_points(["dataset=wine"])
    versions = resolve(point, []).cell.versions
    assert set(versions) == {"mechanism", "model", "dataset", "attack", "dpbench", "data", "metrics"}
    assert all(versions.values())


def test_a_quick_sweep_has_few_repeats() -> None:
    (quick,) = grid_points(["dataset=wine", "quick=true"])
    assert resolve(quick, []).cell.splits.repeats == QUICK_REPEATS
    (fewer,) = grid_points(["dataset=wine", "quick=true", "splits.repeats=1"])
    assert resolve(fewer, []).cell.splits.repeats == 1
    (wrong,) = grid_points(["dataset=wine", "quick=maybe"])
    with pytest.raises(Refused, match="'quick' must be true or false"):
        resolve(wrong, [])
