"""The cells of a preset, as configurations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from dpbench.experiments.presets import experiments, values_of
from dpbench.sweeps.grid import GridPoint
from dpbench.sweeps.hydra.composition import grid_points


@cache
def points(name: str) -> list[GridPoint]:
    return grid_points([f"experiment={name}"])


@pytest.fixture(scope="session")
def cells() -> Callable[..., list[str]]:
    """The configurations of a preset's cells, without what a cell's key leaves out; some components may be fixed."""

    def of(name: str, **components: Any) -> list[str]:
        configs = [{key: value for key, value in point.config.items() if key != "preset"} for point in points(name)]
        return [repr(config) for config in configs if all(config[key]["name"] == value for key, value in components.items())]

    return of


@pytest.fixture(scope="session")
def grid() -> Callable[[str, dict[str, str]], dict[str, str]]:
    """The part of a preset's grid that has these keys, with blanks between the values."""

    def of(name: str, keys: dict[str, str]) -> dict[str, str]:
        known = experiments()[name].grid
        return {key: " ".join(values_of(known[key])) for key in keys}

    return of
