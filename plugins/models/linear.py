"""Linear regression by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.fitting.least_squares import LeastSquares
from dpbench.privacy.curator import Curator


@dataclass(frozen=True)
class Linear(Model):
    """Ordinary least squares on the scaled target.

    It minimises the sum of (y - x'w)². Metrics: mse, rmse and r2 on the scaled target; rmse_raw in the target's own unit; and
    log_likelihood, the mean log density of the test rows under normal errors (Park and Welling 2016, figure 1; larger is better).
    Their note does not state the variance of those errors. This model uses the variance that makes the test rows most likely,
    which is the mse.

    Reference: Park and Welling 2016, "A note on privacy preserving iteratively reweighted least squares", for the likelihood.
    """

    name: ClassVar[str] = "linear"
    moments_alone: ClassVar[bool] = True
    provides: ClassVar[frozenset[Capability]] = frozenset(
        {"polynomial", "gradient", "smoothness", "weighted", "likelihood", "reweighted"}
    )

    def prepare(self, curator: Curator) -> Problem:
        return LeastSquares(curator.geometry, curator.n)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Linear]
