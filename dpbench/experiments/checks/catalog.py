"""The checks that a claim can name."""

from collections.abc import Mapping

from dpbench.experiments.checks import comparisons, curve_shapes
from dpbench.experiments.checks.check import Check, name_of

CHECKS: Mapping[str, type[Check]] = {name_of(check): check for check in (*comparisons.CHECKS, *curve_shapes.CHECKS)}
