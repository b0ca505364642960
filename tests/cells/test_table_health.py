"""A record says what was clipped, and a spread only where it is small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.cells.table_health import MIN_SPREAD_STEPS, TableHealth, table_health


@dataclass
class Source:
    """A table of two numeric features and a group of two columns, whose spreads are given."""

    geometry: Any
    numeric_spreads: tuple[float, float]

    def facts(self, repeat: int) -> Source:
        return self

    def clipped(self, repeat: int) -> tuple[float, tuple[float, ...]]:
        return 0.25, (0.1, 0.3, 0.9, 0.9)

    def spreads(self, repeat: int) -> np.ndarray:
        return np.array([*self.numeric_spreads, 1.0, 1.0])


def test_one_hot_columns_do_not_count(geometry: Any) -> None:
    health = table_health(Source(geometry(2, (2,)), (500.0, 300.0)), 0)
    assert list(health.features_clipped.values()) == [0.1, 0.3]
    assert health.least_spread == 300.0


def test_a_small_spread_is_noted_and_a_large_one_is_not(geometry: Any) -> None:
    small = table_health(Source(geometry(2, (2,)), (500.0, 12.5)), 0).notes
    assert small == {"target_clipped": 0.25, "features_clipped": 0.3, "least_spread": 12.5}
    assert "least_spread" not in TableHealth(0.0, {}, MIN_SPREAD_STEPS).notes
