"""From noisy coefficients to weights: the ridge, the repair and the minimiser that FM and its family share.

All of it is post-processing of a private answer, so none of it costs budget (Dandekar et al. 2018 doubt this of making M
symmetric, of trimming and of solving a non-convex objective; the proof does not care).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpbench.fit import DIVERGED, OK, REPAIRED, Fit
from dpbench.model import Problem
from dpbench.privacy.noise import Noise
from dpbench.privacy.polynomial import Polynomial
from dpbench.quadratic import Quadratic

Repair = Literal["trim", "floor", "none"]


def minimise(
    problem: Problem, objective: Polynomial, coefficients: np.ndarray, noise: Noise, ridge: float, repair: Repair
) -> Fit:
    """The weights of each run's noisy objective.

    ``ridge``: multiples of the noise's standard deviation on M's coefficients, added to M's diagonal (Zhang et al. 2012,
    section 6.1). ``repair``: ``trim`` drops directions whose eigenvalue is not positive (section 6.2), ``floor`` raises
    eigenvalues to what noise alone makes of them, 2 std sqrt(D), ``none`` takes the stationary point and calls it diverged
    where the objective has no minimum.
    """
    noisy = problem.regularised(objective.quadratic(coefficients, problem.n))
    definite = noisy.positive_definite
    ridged = noisy.ridged(ridge * quadratic_std(objective, noise)) if ridge else noisy
    repaired, changed = _REPAIRS[repair](ridged, objective, noise)
    status = np.where(changed, DIVERGED if repair == "none" else REPAIRED, OK)
    return Fit(problem.minimise(repaired), status, {"not_positive_definite": ~definite})


def quadratic_std(objective: Polynomial, noise: Noise) -> np.ndarray:
    """The standard deviation of the noise on M's coefficients, the largest of each run: (1 | runs,)."""
    variance = np.broadcast_to(noise.law.variance(noise.scale), (len(noise.scale), objective.size))
    return np.asarray(np.sqrt(variance[:, : objective.quadratic_size].max(axis=1)))


def _trim(quadratic: Quadratic, objective: Polynomial, noise: Noise) -> tuple[Quadratic, np.ndarray]:
    return quadratic.trimmed(), ~quadratic.positive_definite


def _floor(quadratic: Quadratic, objective: Polynomial, noise: Noise) -> tuple[Quadratic, np.ndarray]:
    # the operator norm of a symmetric noise matrix is about 2 std_off sqrt(D) (ALGORITHMS 6.1)
    floor = 2 * objective.off_diagonal_std(noise) * np.sqrt(objective.geometry.dimension)
    return quadratic.floored(floor), quadratic.spectrum[0][..., 0] < floor


def _none(quadratic: Quadratic, objective: Polynomial, noise: Noise) -> tuple[Quadratic, np.ndarray]:
    return quadratic, ~quadratic.positive_definite


_REPAIRS = {"trim": _trim, "floor": _floor, "none": _none}
