"""Intervals from a covariance matrix that a mechanism's author has derived."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.uncertainty import IntervalRequest, Intervals, Method, Uncertainty
from dpbench.inference.quantiles import two_sided


@dataclass(frozen=True)
class KnownCovariance(Uncertainty):
    """The covariance of the weights: of the noise of privacy, and of sampling where the mechanism can estimate it."""

    methods: ClassVar[tuple[Method, ...]] = ("covariance",)

    privacy: np.ndarray | None
    """What the noise adds around the fit without it: (runs, D, D)."""
    sampling: np.ndarray | None = None
    """What another table from the same population would add. Without it only ``inference.covers=table`` has intervals."""
    centre: np.ndarray | None = None
    """The estimates that it belongs to, if they are not the weights: (runs, D)."""
    remarks: tuple[str, ...] = ()

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        if request.covers == "population" and self.sampling is None:
            return "its release tells the noise of privacy alone: inference.covers=table has intervals"
        if self.privacy is None and request.covers == "table":
            return "its weights have no noise, so nothing is uncertain about the fit to this table"
        parts = [self.privacy, self.sampling if request.covers == "population" else None]
        covariance = np.sum([part for part in parts if part is not None], axis=0)
        centre = request.weights if self.centre is None else self.centre
        errors = np.sqrt(np.einsum("rii->ri", covariance))
        reach = errors * two_sided(request.level, request.n - centre.shape[1], np.zeros_like(errors))
        return Intervals("covariance", centre, errors, centre - reach, centre + reach, covariance, remarks=self.remarks)
