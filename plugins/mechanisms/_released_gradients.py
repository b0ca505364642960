"""What released gradients alone tell: how much of one is signal, and whether a descent diverges."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def signal_share(gradient: Array, noise: Array, doubt: float) -> Array:
    """Return how much of a gradient's squared length is more than ``doubt`` times what noise makes, as a share: (runs,).

    ``gradient``: (runs, D); ``noise``: its standard deviation, (runs,). 0 where the gradient may be noise alone.
    """
    square = np.maximum(np.square(gradient).sum(axis=1), np.finfo(float).tiny)
    return np.asarray(np.maximum(0.0, 1 - doubt * gradient.shape[1] * np.square(noise) / square))


def gradients_grew(gradients: Array, noise: Array) -> Array:
    """Return for each run whether its last gradient is clearly longer than its shortest one: (runs,).

    ``gradients``: the released gradient of each step, (runs, T, D); ``noise``: the standard deviation of its noise, (runs, T).
    The noise adds D τ² to the squared length of a gradient on average, which is subtracted first. What is left has the
    variance 2Dτ⁴ + 4eτ², where e is the squared length without noise. A last gradient of more than twice the length of
    the shortest one, beyond three standard deviations of both, is no accident. Nothing is asked of the rows.
    """
    size = gradients.shape[2]
    of_noise = np.square(noise)
    squares = np.square(gradients).sum(axis=2) - size * of_noise
    variances = 2 * size * np.square(of_noise) + 4 * np.maximum(squares, 0.0) * of_noise
    runs = np.arange(len(squares))
    shortest = squares[:, :-1].argmin(axis=1) if squares.shape[1] > 1 else np.zeros(len(squares), dtype=int)
    least, last = squares[runs, shortest], squares[:, -1]
    slack = 3 * np.sqrt(variances[runs, shortest] + variances[:, -1])
    return np.asarray(last > 4 * np.maximum(least, 0.0) + slack)
