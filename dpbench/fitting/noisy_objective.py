"""From noisy coefficients to weights: the ridge, the repair and the minimiser that FM and its family share.

All of it is post-processing of a private answer, so none of it costs budget. (Dandekar et al. 2018 doubt this for making M
symmetric, trimming, and solving a non-convex objective; but post-processing is free whatever it does.)
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from dpbench.contracts.fit import DIVERGED, OK, REPAIRED, Fit
from dpbench.contracts.model import Problem
from dpbench.privacy.noise import Noise
from dpbench.privacy.queries.polynomial import Polynomial
from dpbench.privacy.queries.quadratic import Quadratic

Repair = Literal["trim", "floor", "none", "stationary"]

RADIUS = 10.0
"""An objective without a minimum is minimised within this norm of the weights: a public constant."""
MULTIPLIER_TOLERANCE = 2.0**-30
"""The multiplier is known to within this share of its initial interval."""
RADIUS_TOLERANCE = 1e-9
"""A minimum as close to the radius as this, relatively, lies on the sphere."""
MIN_NORM = 1e-300
"""Stands for the norm of a minimum at 0, by which nothing can be divided."""
MAX_MINIMISATIONS = 60
"""The search for a multiplier ends after about 10 minimisations; bisection alone would need 30."""


def minimise(
    problem: Problem,
    objective: Polynomial,
    noisy: Quadratic,
    noise: Noise,
    ridge: float,
    repair: Repair,
    radius: float = RADIUS,
    columns: np.ndarray | None = None,
) -> Fit:
    """Return the minimiser of each run's noisy objective, which ``noisy`` is without the model's penalty.

    ``ridge``: multiples of the noise's standard deviation on M's coefficients, added to M's diagonal (Zhang et al. 2012,
    section 6.1). ``repair``: ``trim`` drops directions whose eigenvalue is not positive (section 6.2); ``floor`` raises
    eigenvalues to the largest that noise alone makes, 2 std sqrt(D); ``none`` leaves the objective unchanged, and if it has
    no minimum, reports the run as diverged and minimises it within ‖w‖ <= ``radius``; ``stationary`` leaves it unchanged too, and
    returns the stationary point -½ M⁻¹c, which the closed forms of Dandekar et al. 2018 (equations 3 and 5) give whether M is
    positive definite or not. Such a run counts as diverged as well. With an absolute penalty there is no closed form, and
    ``stationary`` does what ``none`` does. ``columns``: ridge and repair act on u, w_j = q_j u_j (one q for all runs, or one per
    run), for which noise of unequal scales is even.
    """
    noisy = problem.regularised(noisy)
    if columns is not None:
        noisy, noise = noisy.rescaled(columns), replace(noise, scale=noise.scale * objective.products(columns))
    definite = noisy.positive_definite  # before the ridge, which then only shifts this spectrum
    ridged = noisy.ridged(ridge * np.sqrt(objective.quadratic_variance(noise).max(axis=1))) if ridge else noisy
    repaired, changed = _REPAIRS[repair](ridged, objective, noise)
    unbounded = ~repaired.bounded
    status = np.where(unbounded, DIVERGED, np.where(changed, REPAIRED, OK))
    back = repaired if columns is None else repaired.rescaled(1 / columns)
    # without a run that counts as unbounded, every run gets its stationary point, which is the minimum if there is one
    confined = unbounded & (repair != "stationary" or not problem.closed_form)
    return Fit(minimum_within(problem, back, confined, radius), status, {"not_positive_definite": ~definite})


def minimum_within(problem: Problem, quadratic: Quadratic, unbounded: np.ndarray, radius: float = RADIUS) -> np.ndarray:
    """Return the minimisers, for unbounded runs those of f(w) + μ ‖w‖² with the least μ that keeps ‖w‖ <= radius: (runs, D).

    Whether f is convex or not, such a point of norm ``radius`` minimises f in the ball: everywhere else in it f is larger by at
    least μ (radius² - ‖w‖²) >= 0. The norm grows without bound as μ falls to -λ_min, unless the model has an absolute penalty:
    then the point may lie inside the ball, and is a minimum of the objective made just convex.
    """
    weights = problem.minimise(quadratic)
    for run in map(int, np.flatnonzero(unbounded)):
        weights[run] = _minimum_of_run(problem.for_run(run), quadratic.for_run(run), radius)
    return weights


def _minimum_of_run(problem: Problem, quadratic: Quadratic, radius: float) -> np.ndarray:
    """Return the minimum within the radius for one run: the interval of μ shrinks by secants of 1/‖w‖, which is nearly a line."""

    def minimum(multiplier: float) -> tuple[np.ndarray, float]:
        (weights,) = problem.minimise(quadratic.ridged(multiplier))
        return weights, float(np.linalg.norm(weights))

    least = -float(quadratic.spectrum[0][0, 0])
    # at the upper end f(w) <= f(0) gives (μ + λ_min) ‖w‖² <= ‖c‖ ‖w‖
    width = float(np.linalg.norm(quadratic.linear)) / radius
    low, high = least + width * MULTIPLIER_TOLERANCE, least + width
    weights, norm = minimum(low)
    if norm <= radius:
        return weights
    at_low = 1 / norm - 1 / radius
    weights, norm = minimum(high)
    at_high, moved_low = 1 / max(norm, MIN_NORM) - 1 / radius, None
    for _ in range(MAX_MINIMISATIONS):
        if high - low <= width * MULTIPLIER_TOLERANCE or 0 <= radius - norm <= RADIUS_TOLERANCE * radius:
            break
        share = at_low / (at_low - at_high)  # NaN where the solver found no minimum
        middle = low + (high - low) * (share if 0 < share < 1 else 0.5)
        at_middle, norm_of_middle = minimum(middle)
        slack = 1 / max(norm_of_middle, MIN_NORM) - 1 / radius
        # an end that stays twice counts half, so that both ends move (the Illinois method)
        if norm_of_middle > radius:
            at_high = at_high / 2 if moved_low is True else at_high
            low, at_low, moved_low = middle, slack, True
        else:
            at_low = at_low / 2 if moved_low is False else at_low
            high, at_high, moved_low, weights, norm = middle, slack, False, at_middle, norm_of_middle
    return weights


def _trim(quadratic: Quadratic, objective: Polynomial, noise: Noise) -> tuple[Quadratic, np.ndarray]:
    return quadratic.trimmed(), ~quadratic.positive_definite


def _floor(quadratic: Quadratic, objective: Polynomial, noise: Noise) -> tuple[Quadratic, np.ndarray]:
    # the operator norm of a symmetric noise matrix is about 2 std_off sqrt(D)
    floor = 2 * objective.off_diagonal_std(noise) * np.sqrt(objective.geometry.dimension)
    return quadratic.floored(floor), quadratic.spectrum[0][..., 0] < floor


def _none(quadratic: Quadratic, objective: Polynomial, noise: Noise) -> tuple[Quadratic, np.ndarray]:
    return quadratic, ~quadratic.bounded


_REPAIRS = {"trim": _trim, "floor": _floor, "none": _none, "stationary": _none}
"""Each repair returns the repaired objective and which runs it changed."""
