"""What the records of a table's cells say about scaling it: what was clipped, and what hardly varies on the grid."""

from collections.abc import Iterable
from dataclasses import dataclass

from dpbench.cells.loading import DatasetRows
from dpbench.data.geometry import Geometry

MIN_SPREAD_STEPS = 100
"""A feature with a smaller standard deviation, in steps of the grid, loses digits when it is truncated: the record says so."""


@dataclass(frozen=True)
class TableHealth:
    """Shares of clipped values, and the smallest spread of a feature: private, as the rows are."""

    target_clipped: float
    features_clipped: dict[str, float]
    """By the names of the numeric features."""
    least_spread: float
    """The smallest standard deviation of a numeric feature, in steps of the grid."""

    @property
    def notes(self) -> dict[str, float]:
        """What is recorded of it; a spread only where it is small."""
        notes = {"target_clipped": self.target_clipped, "features_clipped": max(self.features_clipped.values(), default=0.0)}
        return notes if self.least_spread >= MIN_SPREAD_STEPS else {**notes, "least_spread": self.least_spread}


def table_health(source: DatasetRows, repeat: int) -> TableHealth:
    """Return how the table of a repeat was scaled."""
    geometry = source.facts(repeat).geometry
    target, features = source.clipped(repeat)
    spreads = _of_numeric_features(source.spreads(repeat), geometry)
    return TableHealth(target, _of_numeric_features(features, geometry), min(spreads.values(), default=MIN_SPREAD_STEPS))


def _of_numeric_features(values: Iterable[float], geometry: Geometry) -> dict[str, float]:
    """Return the value of each numeric feature; one-hot columns are neither clipped nor truncated."""
    one_hot = {index for group in geometry.groups for index in group}
    pairs = zip(geometry.columns, values, strict=True)
    return {name: float(value) for index, (name, value) in enumerate(pairs) if index not in one_hot}
