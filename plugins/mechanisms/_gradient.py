"""Queries for descent: the sum of the rows' clipped gradients at each run's own weights."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Gaussian, Noise
from dpbench.privacy.queries.polynomial import design_columns
from dpbench.privacy.queries.query import Layer, MomentQuery


@dataclass(eq=False)
class ClippedGradients(MomentQuery):
    """The sum of x ψ over rows, where ψ is the derivative of a row's loss along x'w under the run's own ``state`` w, (runs, D).

    A row's gradient xψ is shortened to the length ``clip`` · √S, where S is the largest squared norm of a row: for rows x/√S,
    which lie in the unit ball, that is a gradient of length ``clip``. The sum is made of the moments of the column of ones and
    the columns of x, of rows with the weight ψ, so an answer costs two products of a matrix and a vector.
    """

    geometry: Geometry
    problem: Any
    """A problem with ``gradient(x, y, weights)``."""
    state: np.ndarray
    clip: np.ndarray
    """(runs,)"""
    name: str = "clipped_gradients"
    weighted = True
    proof = "twice the length that gradients are clipped to (dpbench, docs/sensitivities.md)"

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        column, constant = design_columns(self.geometry)
        return (Layer(np.zeros(len(column), dtype=int), column, constant),)

    @property
    def identity(self) -> str:
        state = hashlib.blake2b(np.ascontiguousarray(self.state).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, clipped at {self.clip.max():g}, at the state {state}"

    @property
    def length(self) -> np.ndarray:
        """The largest length of a row's clipped gradient: (runs,)."""
        return self.clip * math.sqrt(self.geometry.squared_norm)

    def weights(self, rows: Rows, run: int) -> np.ndarray:
        x = rows.x
        slope = self.problem.gradient(x, rows.y, self.state[run])
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))
        with np.errstate(divide="ignore"):
            reach = self.length[run] / norms  # infinite for a row of zeros, whose gradient is zero
        return np.asarray(np.clip(slope, -reach, reach))

    def noise(self, mu: float) -> Noise:
        """Return normal noise that makes an answer μ-GDP: a replaced gradient moves the sum by at most two lengths."""
        bound = 2 * self.geometry.replaced_rows * self.length[:, None]
        return Noise(Gaussian(), bound / mu, mu, self.proof)
