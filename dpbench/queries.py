"""The queries of mechanisms: sums over rows that the curator answers with noise. Import them from here in a plugin."""

from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.privacy.queries.polynomial import Convention, Loss, Polynomial, Sensitivity, SensitivityKey
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import CellQuery, Layer, MomentQuery, Query, RowQuery
from dpbench.privacy.queries.second_moments import Gram, SecondMoments
from dpbench.privacy.queries.weighted_moments import WeightedMoments

__all__ = [
    "CellQuery",
    "Convention",
    "Gram",
    "Histogram",
    "Layer",
    "Loss",
    "MomentQuery",
    "NoisyMoments",
    "Polynomial",
    "Quadratic",
    "Query",
    "RowQuery",
    "SecondMoments",
    "Sensitivity",
    "SensitivityKey",
    "WeightedMoments",
]
