"""The non-private fit as a mechanism: the baseline of every comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Problem
from dpbench.data.samples import Sample
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget


@dataclass(frozen=True)
class NoPrivacy(Mechanism):
    """Release the exact fit: the best result of the model, without any protection.

    Formula: the minimiser of the model's own objective.

    Guarantee: none. The weights are a function of the private rows. The ledger says so, and rankings exclude it.

    Public: nothing is protected.

    Cost: that of the model's exact fit.

    Reference: none; it is the baseline of all papers named here.
    """

    name: ClassVar[str] = "no_privacy"
    guarantee: ClassVar[str] = "none"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    depends_on_budget: ClassVar[bool] = False
    expected_failures: ClassVar[Mapping[str, str]] = {
        "ledger within budget": "the baseline releases the exact fit",
    }

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        return curator.reveal("exact fit", lambda sample: _with_errors(problem, sample), "the baseline releases the exact fit")


def _with_errors(problem: Problem, sample: Sample) -> Fit:
    """Return the exact fit with its textbook standard errors, where the model has them."""
    fit = problem.exact(sample)
    errors = problem.standard_errors(sample, fit.weights)
    if not np.isfinite(errors).any():
        return fit.knowing("the model has no standard errors here")
    return fit.knowing(KnownCovariance(privacy=None, sampling=np.square(errors)[:, :, None] * np.eye(errors.shape[1])))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [NoPrivacy]
