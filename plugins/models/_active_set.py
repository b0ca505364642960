"""Minimise w'Mw + c'w + t ‖w‖₁ for many small objectives at once: coordinate descent, then an exact search for the signs.

Coordinate descent comes close to the minimiser and to its zeros. From there an active-set method (the feature-sign search of Lee,
Battle, Raina and Ng 2006) ends at the minimiser itself after finitely many steps. With the signs fixed, the objective is a
quadratic, whose minimum is a linear system: go there, or to the first weight on the way that reaches zero; once the signs hold,
let go of the zero whose slope exceeds the penalty most. Every step lowers the objective, so no signs recur.

All steps are done coordinate by coordinate or matrix by matrix, so an objective's result does not depend on the others.
"""

from __future__ import annotations

import numpy as np

SWEEPS = 20
"""Passes of coordinate descent over the weights."""
ROUNDING = 64 * np.finfo(float).eps
"""The relative size of what may be rounding in a slope or an eigenvalue, for each coefficient."""


Array = np.ndarray


def minimisers(matrix: Array, linear: Array, absolute: Array, penalised: Array, start: Array) -> Array:
    """Return the minimiser of each objective, to rounding and with exact zeros.

    ``matrix`` is (objectives, D, D), ``linear`` and ``start`` are (objectives, D), ``absolute`` is (objectives,), and
    ``penalised`` is a mask (D,). Where a matrix is singular, eigenvalues of the size of rounding are added to it: of several
    minimisers the shortest is approximated. An objective without a minimum has weights that satisfy no conditions.
    """
    size = linear.shape[1]
    curvature = np.einsum("nii->ni", matrix).max(axis=1)
    slope = np.abs(linear).max(axis=1)
    curvature, slope = (np.where(scale > 0, scale, 1.0) for scale in (curvature, slope))
    matrix = matrix / curvature[:, None, None] + 2 * size * ROUNDING * np.eye(size)
    unit = (slope / curvature)[:, None]
    linear, absolute = linear / slope[:, None], (absolute / slope)[:, None] * penalised
    weights = start / unit
    _descend(matrix, linear, absolute, weights)
    _search_signs(matrix, linear, absolute, weights)
    return weights * unit


def _descend(matrix: Array, linear: Array, absolute: Array, weights: Array) -> None:
    """Minimise over one weight after the other, in place."""
    slopes = 2 * (matrix @ weights[:, :, None])[:, :, 0] + linear
    for _ in range(SWEEPS):
        for index in range(weights.shape[1]):
            twice = 2 * matrix[:, index, index]
            towards = twice * weights[:, index] - slopes[:, index]
            new = np.sign(towards) * np.maximum(np.abs(towards) - absolute[:, index], 0) / twice
            change = new - weights[:, index]
            weights[:, index] = new
            slopes += matrix[:, index] * (2 * change)[:, None]


def _search_signs(matrix: Array, linear: Array, absolute: Array, weights: Array) -> None:
    """Move to the minimiser, in place."""
    size = weights.shape[1]
    signs = np.where(absolute > 0, np.sign(weights), 0.0)
    active = np.arange(len(weights))
    for _ in range(50 + 10 * size):
        if not len(active):
            return
        m, c, t, s, w = matrix[active], linear[active], absolute[active], signs[active], weights[active]
        support: Array = np.asarray((s != 0) | (t == 0))
        system = np.where(support[:, :, None] & support[:, None, :], m, np.eye(size))
        target = np.linalg.solve(system, np.where(support, -(c + t * s) / 2, 0.0)[:, :, None])[:, :, 0]
        # how far each weight that would change its sign can go
        crossing: Array = np.asarray(target * s < 0)
        reach = np.where(crossing, w / np.where(crossing, w - target, 1.0), np.inf)
        share = np.minimum(reach.min(axis=1, keepdims=True), 1.0)
        blocked: Array = np.asarray(crossing.any(axis=1))
        w = np.where(blocked[:, None], w + share * (target - w), target)
        dropped: Array = np.asarray(crossing & (reach == share))
        w[dropped] = s[dropped] = 0.0
        slopes = 2 * (m @ w[:, :, None])[:, :, 0] + c
        tolerance = size * ROUNDING * (1 + np.abs(w).max(axis=1, keepdims=True))
        excess = np.where(support | blocked[:, None], 0.0, np.abs(slopes) - t - tolerance)
        (entering,) = np.nonzero(excess.max(axis=1) > 0)
        steepest = excess[entering].argmax(axis=1)
        s[entering, steepest] = -np.sign(slopes[entering, steepest])
        signs[active], weights[active] = s, w
        unfinished = blocked.copy()
        unfinished[entering] = True
        active = active[unfinished]
