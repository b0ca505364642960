"""A released model to write in other forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from release_factory import make_release

from dpbench.base.version import __version__
from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column
from dpbench.releases.release_file import Release
from dpbench.releases.released_intervals import ReleasedIntervals

TOWNS = ("north", "south", "the west")
LEDGER_ENTRY = {
    "query": "second_moments",
    "norm": "L2",
    "sensitivity": None,
    "bound": 0.2,
    "noise": "gaussian",
    "scale": 8.0,
    "cost": {"kind": "gdp", "mu": 0.2},
    "sound": True,
    "proof": "a supremum",
}


@pytest.fixture(scope="session")
def wages() -> Callable[..., Release]:
    """A linear model of wages by age and town, with these fields instead of its own."""

    def released(**changes: Any) -> Release:
        columns = (
            Column("age", 18, 70, "year", meaning="completed years"),
            *(Column(f"town={town}", 0, 1, group="town") for town in TOWNS),
        )
        privacy = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace_one", "rows": 6000, "noise": "secure"}
        ledger = {"neighbours": "replace_one", "entries": [LEDGER_ENTRY], "total": {"epsilon": 1.0, "delta": 1e-6}, "leaks": []}
        fields: dict[str, Any] = {
            "mechanism": {"name": "ssp", "weight": 0.75},
            "dataset": {"name": "table", "synthetic": False, "licence": "yours", "citation": ""},
            "columns": columns,
            "target": Column("wage", 0, 3000, "€"),
            "formats": {"age": ColumnFormat(), "town": ColumnFormat(TOWNS)},
            "privacy": {**privacy, "budget": "matched", "accounting": "closed", "ledger": ledger, "vouched_by": {}},
            "statement": "This model was fitted once on 6,000 rows with differential privacy, ε = 1 and δ = 1e-06.",
            "made_by": f"dpbench {__version__}, OpenDP 0.16.0",
            **changes,
        }
        names = ["intercept"] * fields.get("intercept", True) + [column.name for column in fields["columns"]]
        fields.setdefault("weights", {name: 0.3 - 0.17 * index for index, name in enumerate(names)})
        return make_release(**fields)

    return released


@pytest.fixture(scope="session")
def intervals_of() -> Callable[[Release], ReleasedIntervals]:
    """Intervals for every coefficient of a release."""

    def section(release: Release) -> ReleasedIntervals:
        rows = {
            name: {"estimate": weight, "standard_error": 0.1, "low": weight - 0.2, "high": weight + 0.2}
            for name, weight in release.weights.items()
        }
        size = len(rows)
        covariance = tuple(tuple(0.01 * (row == column) for column in range(size)) for row in range(size))
        return ReleasedIntervals("delta", "population", 0.95, rows, True, 5000, covariance, 0.02, 0.001, False, (), "A sentence.")

    return section
