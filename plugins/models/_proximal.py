"""Minimise w'Mw + c'w + t ‖w‖₁ approximately, by accelerated proximal steps: what λ is chosen by next to a cone solver.

Several λ may predict almost equally well. Then the last digits of their fits decide, so that these fits stay as they were when
the papers' results were made.
"""

from __future__ import annotations

import numpy as np

from dpbench.privacy.queries.quadratic import Quadratic

MAX_PROXIMAL_STEPS = 500
"""Upper limit for the steps of one fit. An approximate fit suffices, because only the errors of different λ are compared."""
CHANGE_TOLERANCE = 1e-7
"""Proximal steps stop when no weight changes by more than this."""


def proximal(quadratic: Quadratic, absolute: np.ndarray, intercept: bool) -> np.ndarray:
    """Minimise w'Mw + c'w + absolute · ‖w‖₁, with the intercept not penalised, by accelerated proximal steps with restarts."""
    matrix, linear = quadratic.matrix, quadratic.linear
    if intercept:
        # eliminate the intercept's weight: given the others, its minimiser is -(c₀/2 + m'w)/M₀₀
        corner, across, slope = matrix[..., :1, :1], matrix[..., :1, 1:], linear[..., :1]
        matrix = matrix[..., 1:, 1:] - np.swapaxes(across, -1, -2) @ across / corner
        linear = linear[..., 1:] - (slope / corner[..., 0]) * across[..., 0, :]
    curvature = 2 * np.linalg.eigvalsh(matrix).max(axis=-1, initial=0.0)[..., None]
    step_size = 1 / np.where(curvature > 0, curvature, 1.0)
    w = ahead = np.zeros_like(linear)
    momentum = np.ones_like(step_size)
    for _ in range(MAX_PROXIMAL_STEPS):
        stepped = ahead - step_size * (2 * (matrix @ ahead[..., None])[..., 0] + linear)
        new = np.sign(stepped) * np.maximum(np.abs(stepped) - step_size * absolute[..., None], 0)
        change = new - w
        # restart the momentum where it points uphill (the gradient test of O'Donoghue and Candès 2015)
        uphill = ((ahead - new) * change).sum(axis=-1, keepdims=True) > 0
        next_momentum = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / next_momentum) * change
        w, momentum = new, next_momentum
        if np.abs(change).max(initial=0.0) <= CHANGE_TOLERANCE:
            break
    if not intercept:
        return w
    return np.concatenate([-(slope / 2 + (across @ w[..., None])[..., 0]) / corner[..., 0], w], axis=-1)
