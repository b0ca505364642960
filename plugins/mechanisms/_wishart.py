"""One step of Park and Welling's algorithm as published: Laplace or Gaussian noise on A = X'Sy, Wishart noise on B = X'SX."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpbench.accounting.costs import Cost, Pure, Zcdp
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise, gaussian, laplace
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.weighted_moments import WeightedMoments

Distribution = Literal["gaussian", "laplace"]
Composition = Literal["cdp", "conventional", "advanced"]

WHY_UNPROVEN = (
    "Wishart noise is positive definite, so a neighbour's answer can be impossible: the published density ratio (Park and "
    "Welling 2016, equations 8 to 11) holds on the intersection of the supports only, and δ ≥ 1 - exp(-ε') a release"
)


def published_step(
    curator: Curator, moments: WeightedMoments, distribution: Distribution, composition: Composition, budget: Budget, steps: int
) -> Quadratic:
    """Return the noisy objective w'B~w - 2A~'w of each run."""
    epsilon = epsilon_per_release(composition, distribution, budget, steps)
    a = curator.release(moments.vector, noise_on_a(moments, distribution, epsilon, budget.delta / (2 * steps)))
    claimed: Cost = Pure(epsilon) if composition == "conventional" else Zcdp(epsilon**2 / 2)  # ε'-DP is ε'²/2-zCDP
    j, k = moments.objective.pairs
    size = curator.geometry.dimension
    scale = math.sqrt(moments.largest * curator.geometry.squared_norm / (2 * epsilon))  # equation 6, N times

    def wishart(exact: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        b = np.zeros((size, size))
        b[j, k] = exact
        b[k, j] = exact
        z = scale * generator.standard_normal((size, size + 1))
        return np.asarray(b + z @ z.T)

    b = curator.unproven(moments.matrix, wishart, claimed, WHY_UNPROVEN)
    public = moments.quadratic(np.zeros((curator.runs, moments.size)), curator.n).matrix
    return Quadratic(b + public, -2 * a)


def noise_on_a(moments: WeightedMoments, distribution: Distribution, epsilon: float, delta: float) -> Noise:
    """Return the noise of equation 4 (L1 bound 2κ√d) or 5 (L2 bound 2κ) for ‖x‖₂ ≤ 1; in the box, ‖x‖₁ ≤ M and ‖x‖₂ ≤ √M."""
    geometry = moments.objective.geometry
    squared = geometry.squared_norm
    if distribution == "laplace":
        norm = squared if geometry.scaling == "box" else math.sqrt(geometry.dimension)
        return laplace(2 * moments.largest * norm, epsilon, "twice a row's largest L1 norm (Park and Welling 2016, equation 3)")
    factor = math.sqrt(2 * math.log(1.25 / delta))
    return gaussian(2 * moments.largest * math.sqrt(squared), epsilon / factor, "twice a row's largest L2 norm")


def epsilon_per_release(composition: Composition, distribution: Distribution, budget: Budget, steps: int) -> float:
    """Return the ε' of each of the 2J releases.

    ``cdp``: √(ε/J), their section 3; ``conventional``: ε/(2J); ``advanced``: ε = √(4J log 1/δ) ε' + 2J ε'(e^ε' - 1) (Dwork and
    Roth 2014, Theorem 3.20). Gaussian noise needs a δ for each A, which the note does not print; half of δ is used for this.
    """
    releases = 2 * steps
    if composition == "cdp":
        return math.sqrt(budget.epsilon / steps)
    if composition == "conventional":
        return budget.epsilon / releases
    from scipy.optimize import brentq

    delta = budget.delta / 2 if distribution == "gaussian" else budget.delta
    spread = math.sqrt(2 * releases * math.log(1 / delta))
    # each of the two terms alone bounds ε' from above
    high = min(budget.epsilon / spread, max(1.0, math.log1p(budget.epsilon / releases)))
    return float(brentq(lambda e: spread * e + releases * e * math.expm1(e) - budget.epsilon, 0.0, high, rtol=1e-14))
