"""The data of the settings that Lin et al. 2026 compare on, and the numbers that they and a re-run printed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

Array = np.ndarray

MU, DELTA = 1.0, 1e-6
"""The privacy that all of their fits are called by."""


@dataclass(frozen=True)
class Setting:
    """One row of their Table 2: the data, and the numbers that others got on it."""

    key: str
    name: str
    x: Array
    y: Array
    facts: dict[str, Any]

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.x.shape[1])

    def error(self, weights: Array) -> float:
        """Return Σ(Xb - y)² / Σy²."""
        return float(np.sum((self.x @ weights - self.y) ** 2) / np.sum(self.y**2))


@cache
def table2() -> dict[str, Any]:
    """Return the published numbers, those of an independent re-run, and the settings."""
    text = resources.files("dpbench.plugins.papers.lin2026").joinpath("data", "table2.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def load(key: str) -> Setting:
    """Return the data of one setting, with the columns in the order that table2.yaml gives."""
    facts = table2()["datasets"][key]
    columns: dict[str, Array] = {}
    files = {
        "D2": ["lin2026/bupa"],
        "D4": ["open/abalone"],
        "D5": ["lin2026/parkinsons_extra", "open/parkinsons"],
        "D6": ["open/wine_quality"],
        "D7": ["lin2026/air_quality_raw"],
        "D8": ["open/appliances", "lin2026/appliances_extra"],
    }
    for file in files[key]:
        columns |= _read(*file.split("/"))
    if key == "D4":
        sex = columns.pop("Sex")
        columns = {**{f"Sex={level}": (sex == level).astype(float) for level in "FIM"}, **columns}
    if key == "D5":  # the source's order, in which the re-run reads them
        first = ("subject", "age", "sex", "test_time", "motor_UPDRS")
        columns = {**{name: columns[name] for name in first}, **columns}
    if key == "D6":
        columns["type"] = (columns.pop("type") == "white").astype(float)
    y = columns.pop(facts["target"])
    return Setting(key, facts["name"], np.column_stack(list(columns.values())).astype(float), y.astype(float), facts)


def _read(folder: str, name: str) -> dict[str, Array]:
    from pyarrow import parquet

    package = {"open": "dpbench.plugins.datasets", "lin2026": "dpbench.plugins.papers.lin2026"}[folder]
    parts = ("data", "open") if folder == "open" else ("data",)
    with resources.as_file(resources.files(package).joinpath(*parts, f"{name}.parquet")) as path:
        table = parquet.read_table(path)
    return {column: table[column].to_numpy() for column in table.column_names}
