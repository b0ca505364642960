"""Gradient descent on clipped gradients with normal noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.inference.iterates import iterates
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.queries.quadratic import Quadratic

from ._gradient import ClippedGradients
from ._released_gradients import gradients_grew

FULL_CLIP_SIGNAL = 1500.0
"""From this signal on, the squared loss is clipped at the gradient of the largest error from w = 0."""
MIN_CLIP = 0.1
"""The smallest clipping length, in units of the loss's largest curvature."""
MOMENTA = ((50.0, 0.5), (300.0, 0.7), (math.inf, 0.85))
"""The momentum below each ratio of signal to noise."""
DOUBT = 3.0
"""A product of a released gradient with a move is a signal beyond this many standard deviations of its noise."""
MAX_OVERSHOOT = 2.0
"""The momentum carries at most this many times as far as the last two gradients say that the minimum is."""


@dataclass(frozen=True)
class GradientDescent(Mechanism):
    """Descend along the sum of all rows' gradients, each clipped to a length Γ, with normal noise on every sum.

    Formula: on rows x/√S in the unit ball, where S is the largest squared norm of a row, repeat T times from w = 0:
    g = Σ clip(xψ, Γ) + N(0, (2Γ√T/μ)² I), where ψ is the derivative of the row's loss along x'w; w' = w - η g/n + β m, where m is
    the last move. η = s (1 + β)/L, where L is the loss's largest curvature. For a quadratic loss, steps below 2 (1 + β)/L are
    stable. A clipped loss is not quadratic, and such steps can circle around its minimum for ever, where one eigenvalue of X'X is
    near nS. So ``momentum=auto`` looks at the released gradients. Where g'm > 3τ‖m‖, with τ the noise's standard deviation, the
    last move went too far: m loses its part along g, and η is s/L, which is stable without momentum. Unless the loss is squared,
    its curvature may have changed on the way: where g'm - (last g)'m > 4.5τ‖m‖, that is the curvature along m, and β is at most
    twice the way to the minimum along m, in units of m (plus 3τ‖m‖ of doubt). Losses: squared, Huber (model ``robust``) and
    logistic. A penalty is minimised around w' in each step, with ‖w - w'‖² n/(2η) added.

    Guarantee: (ε, δ)-DP for replace-one neighbours. Each step is (μ/√T)-GDP, because a clipped gradient that is replaced by
    another one moves the sum by at most 2Γ. T of them are μ-GDP by adaptive composition, at the largest μ that is (ε, δ)-DP:
    weights enter a query only after they were released. The paper counts the same noise as μ²/2-zCDP, which proves a larger ε.

    Public: n and the bounds. T, Γ, s and β are constants or follow from n, D, μ and the loss. With the signal q = nμ/√D, Γ is
    L√(q/1500) within [L/10, L] for the squared loss, and half the largest gradient if that is bounded; β is 0.5, 0.7 or 0.85, and
    grows with qL/Γ. The rule was chosen on the 17 tables of dataset=open at odd places of the alphabetical list.

    Cost: T passes over the rows of every run. Lasso and elastic net solve T convex programs per run.

    Reference: Brown, Dvijotham, Evans, Liu, Smith, Thakurta 2024, "Private gradient descent for linear regression: tighter error
    bounds and instance-specific uncertainty estimation", ICML, arXiv 2402.13531. It takes T equal steps of fixed size, which
    is ``momentum=0 step_size=1``. The momentum and its rules are ours: functions of released gradients, which cost nothing.

    Errata: a public benchmark's private descents (dpml-benchmark) draw minibatches of 1,000 rows and scale noise by 1/n, without
    an argument why sampling makes up for it. Here each gradient is that of all rows.
    """

    name: ClassVar[str] = "dp_gd"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"gradient"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "limit": "the number of steps is fixed, and they end before the minimum",
    }
    currency: ClassVar[Currency] = "approx"

    steps: int = option(25, low=1, help="T")
    clip: Literal["auto"] | float = option(
        "auto", low=0, open_low=True, help="Γ, for rows in the unit ball; auto: by public facts"
    )
    momentum: Literal["auto"] | float = option("auto", low=0, high=1, open_high=True, help="β; auto: by public facts")
    step_size: float = option(1.75, low=0, high=2, open_low=True, open_high=True, help="s: η in units of (1 + β)/L")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        geometry, smoothness = curator.geometry, problem.largest_curvature
        mu = gdp_of_epsilon(budget.epsilon, budget.delta)
        signal = curator.n * mu / (geometry.replaced_rows * math.sqrt(geometry.dimension))
        clip = self._clip(problem, signal)
        momentum = self._momentum(signal * smoothness / clip)
        # in the units of the design: w/√S for rows x/√S
        unit = (self.step_size / (smoothness * geometry.squared_norm * curator.n))[:, None]
        quadratic = problem.loss is not None and problem.loss.exact
        weights, move, last = np.zeros((3, curator.runs, geometry.dimension))
        pairs = np.empty((2, curator.runs, self.steps, geometry.dimension))
        for at in range(self.steps):
            query = ClippedGradients(geometry, problem, weights, clip)
            noise = query.noise(mu / math.sqrt(self.steps))
            gradient = curator.release(query, noise)
            pairs[:, :, at] = weights, gradient
            step, repeated = unit * (1 + momentum[:, None]), momentum[:, None] * move
            if self.momentum == "auto" and at:
                doubt = DOUBT * noise.scale[:, 0] * np.linalg.norm(move, axis=1)
                over, rest = _without_climb(gradient, move, doubt)
                kept = (
                    momentum
                    if quadratic
                    else np.minimum(momentum, MAX_OVERSHOOT * _distance_to_minimum(gradient, last, move, doubt))
                )
                step, repeated = np.where(over[:, None], unit, step), kept[:, None] * rest
            moved = _penalised(problem, weights - step * gradient + repeated, step)
            weights, move, last = moved, moved - weights, gradient
        clipped = bool((clip < problem.largest_slope).any())
        scales = np.tile(noise.scale, self.steps)
        fit = Fit.good(weights).knowing(iterates(problem, pairs[0], pairs[1], scales, clipped))
        return replace(fit, health={"diverging": gradients_grew(pairs[1], scales)})

    def _clip(self, problem: Problem, signal: np.ndarray) -> np.ndarray:
        """Return Γ of each run."""
        if self.clip != "auto":
            return np.full(len(signal), self.clip)
        if math.isfinite(problem.largest_slope):
            return np.full(len(signal), problem.largest_slope / 2)
        return np.asarray(problem.largest_curvature * np.clip(np.sqrt(signal / FULL_CLIP_SIGNAL), MIN_CLIP, 1.0))

    def _momentum(self, ratio: np.ndarray) -> np.ndarray:
        """Return β of each run."""
        if self.momentum != "auto":
            return np.full(len(ratio), self.momentum)
        limits, values = map(np.array, zip(*MOMENTA, strict=True))
        return np.asarray(values[np.searchsorted(limits, ratio)])


def _without_climb(gradient: np.ndarray, move: np.ndarray, doubt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which runs' last move clearly ends where the loss rises along it, and the moves without that part: (runs, D)."""
    slope = (gradient * move).sum(axis=1)
    over = slope > doubt
    along = np.where(over, slope, 0.0) / np.maximum(np.square(gradient).sum(axis=1), np.finfo(float).tiny)
    return over, move - along[:, None] * gradient


def _distance_to_minimum(gradient: np.ndarray, last: np.ndarray, move: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Return an upper bound of the distance to the minimum along the last move, in units of that move: (runs,).

    It follows from how much the gradient changed along the move, and is infinite where that change may be noise.
    """
    slope = (gradient * move).sum(axis=1)
    bend = slope - (last * move).sum(axis=1)
    known = (slope <= doubt) & (bend > 1.5 * doubt)
    return np.asarray(np.where(known, (doubt - slope) / np.where(known, bend, 1.0), np.inf))


def _penalised(problem: Problem, weights: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the minimisers of ‖w - weights‖²/(2 step) plus the penalty, the proximal step; the weights if there is none."""
    runs, size = weights.shape
    nothing = Quadratic(np.zeros((runs, size, size)), np.zeros((runs, size)))
    if problem.closed_form and not problem.regularised(nothing).matrix.any():
        return weights
    near = Quadratic(np.eye(size) / (2 * step[..., None]), -weights / step)
    return problem.minimise(problem.regularised(near))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [GradientDescent]
