"""The coefficients of a release with their intervals, as numbers and as the text that ``release`` prints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.data.table import Column
from dpbench.releases.released_intervals import ReleasedIntervals

Numbers = Mapping[str, float]
Units = Mapping[str, tuple[float, float]]
"""By coefficient: what is added in the columns' own units, and what one scaled unit is worth."""

SCALED = "scaled"


@dataclass(frozen=True)
class CoefficientTable:
    """The coefficients by name, each with ``estimate``, ``standard_error``, ``low`` and ``high``.

    A coefficient is one number here, the estimate that its interval belongs to. The weights, which predictions use, may differ:
    ``Release.weights`` has them.
    """

    scaled: Mapping[str, Numbers]
    """On the scaled columns, as the model uses them."""
    own_units: Mapping[str, Numbers]
    """What one unit of a column adds to the target in its unit (to the log odds of a binary target); for a one-hot column, what
    its level adds. The intercept is the prediction where every numeric column is in the middle of its bounds. Coefficients
    of transformed columns have no own unit, and none has one if the target is transformed or rows have a declared norm."""
    level: float
    sentence: str
    """Which uncertainty the intervals cover, and what limits them."""

    @classmethod
    def of(cls, section: ReleasedIntervals, weights: Numbers, units: Units) -> "CoefficientTable":
        """Return the table of released intervals; a coefficient whose interval is infinite is its weight."""
        scaled = {
            name: row if math.isfinite(row["high"]) else {**row, "estimate": weights[name]} for name, row in section.rows.items()
        }
        own_units = {
            name: {what: value * unit + (0.0 if what == "standard_error" else offset) for what, value in scaled[name].items()}
            for name, (offset, unit) in units.items()
        }
        return cls(scaled, own_units, section.level, section.sentence)

    def lines(self, columns: Sequence[Column], target: Column, binary: bool) -> list[str]:
        """Return the table as text, in the columns' own units where there are some."""
        numbers = {"estimate": "estimate", "standard error": "standard_error"}
        of_target = "log odds" if binary else target.unit or target.name
        units = {column.name: of_target if column.group else f"{of_target} per {column.unit or 'unit'}" for column in columns}
        units["intercept"] = f"{of_target}, with numeric columns in the middle of their bounds"
        rows = [["coefficient", *numbers, f"{100 * self.level:g} % interval", "unit"]]
        for name, scaled in self.scaled.items():
            row = self.own_units.get(name, scaled)
            interval = f"{row['low']:.4g} to {row['high']:.4g}" if math.isfinite(row["high"]) else "none"
            unit = units[name] if name in self.own_units else SCALED
            rows.append([name, *(f"{row[what]:.4g}" for what in numbers.values()), interval, unit])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
