"""The checks that a claim can name."""

from __future__ import annotations

from collections.abc import Mapping

from dpbench.experiments.checks import comparisons as comparing
from dpbench.experiments.checks import curve_shapes as trends
from dpbench.experiments.checks.check import Check, name_of

CHECKS: Mapping[str, type[Check]] = {
    name_of(kind): kind
    for kind in (
        *(comparing.Below, comparing.Above, comparing.Between, comparing.Within, comparing.Near, comparing.Faster),
        *(comparing.Wider, comparing.Skewed),
        *(trends.Falls, trends.Rises, trends.Approaches, trends.Stable, trends.Settles, trends.Unsettled, trends.UShape),
        *(trends.NeedsLess, trends.Widens),
    )
}
