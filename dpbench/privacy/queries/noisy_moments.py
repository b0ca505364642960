"""Released second moments with the laws of their noise: everything that intervals are made of."""

from dataclasses import dataclass

import numpy as np

from dpbench.privacy.noise import Law


@dataclass(frozen=True)
class NoisyMoments:
    """X'X, X't and t't of each run with independent noise. t is y in [-1, 1], or 2y - 1 for y in {0, 1}."""

    matrix: np.ndarray
    """X'X with noise, symmetric, public entries filled in: (runs, D, D)."""
    vector: np.ndarray
    """X't with noise: (runs, D)."""
    square: np.ndarray | None
    """t't with noise, or n where it is public: (runs,). None if it was not released."""
    law: Law
    matrix_scale: np.ndarray
    """The scale of each entry's noise, symmetric, and 0 where an entry is public: (1 | runs, D, D)."""
    vector_scale: np.ndarray
    """(1 | runs, D)"""
    square_scale: np.ndarray | None = None
    """(1 | runs,), 0 where t't is n. None without t't."""
