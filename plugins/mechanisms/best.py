"""Whitened descent: one noisy X'X, then a few steps along clipped, whitened gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.contracts.fit import OK, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.inference.iterates import no_minimum
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.second_moments import SecondMoments

from ._released_gradients import gradients_grew, signal_share
from ._whitened_gradient import TINY, Axes, SquaredResiduals, WhitenedGradient
from .dp_gd import GradientDescent
from .dp_newton import Newton
from .ssp import SufficientStatistics

HOPELESS_ROWS = 40
"""Below this many rows, in units of 1/μ, steps are mostly noise: one release with a high floor does the least harm."""
FEW_ROWS, FEW_PER_SQUARE = 80, 0.25
"""Below this many rows, in units of 1/μ, or of D²/μ, X'X costs more than it is worth, and plain descent is better."""
FEW_OF_TWO_CLASSES, FEW_PER_COLUMN = 150, 20
"""Below this many rows, in units of 1/μ or of D/μ, dp_newton is better for two classes."""
FEW_STEPS, STEPS = 6, 10
MANY_ROWS = 150
"""From this many rows on, in units of 1/μ, ten steps are better than six."""
MANY_OF_TWO_CLASSES, MANY_PER_COLUMN = 1200, 100
"""For two classes from this many rows on, in units of 1/μ and of D/μ."""
MATRIX_SHARE = 0.2
"""The share of μ² for X'X."""
COUNTS_SHARE = 0.15
"""The share of μ² for the counts of lengths and the curvatures."""
RESIDUAL_SHARE = 0.02
"""The share of μ² for the sum of squared residuals, where intervals need it: the others share the rest."""
GROWTH = 1.1
"""A step has this many times the share of the one before."""
CLIPPED = 3.0
"""Rows that are clipped, in units of 2√D/μ: as many rows of the limit's length are as long as the noise."""
MOST_CLIPPED = 0.5
"""The largest share of clipped rows."""
LARGEST_STEP, LARGEST_STEP_OF_TWO_CLASSES = 2.9, 2.3
"""The largest curvature along a step, in units of its inverse length: with a momentum β a step below 2(1 + β) is stable."""
MOMENTUM, MOMENTUM_OF_TWO_CLASSES = 0.7, 0.3
"""How much of the last move the next one repeats, at most."""
DOUBT, DOUBT_OF_TWO_CLASSES = 2.0, 1.0
"""A gradient is a signal in so far as its squared length exceeds this many times what noise alone would make."""
LEAST_CURVED = 1 / 6
"""The least curvature by which a step is prolonged, as a share of the largest one of the loss."""
CLIPPED_CURVATURE, LEAST_CURVATURE = 1 / 4, 0.04
"""For two classes at most this share of the sum of curvatures is clipped, which is at least this share of n."""
CLIP_VARIANCE = 0.03
"""What clipping adds to the variance of a step, in units of the squared length that it cuts off."""

HIDDEN_VARIANCE = 1 / 2
"""The variance that intervals add along a direction that noise hides, in units of all that the fit explains."""

CLIPS = "its steps clip rows, which moves the weights of logistic regression by more than the noise and by an unknown amount"
MIXED = "its runs are fits of several mechanisms, whose intervals have no method in common"


@dataclass(frozen=True)
class Descent:
    """What the steps of a descent released, in whitened coordinates."""

    places: np.ndarray
    """(runs, T, D)"""
    gradients: np.ndarray
    """The sums of clipped gradients of half the squared errors, downhill: (runs, T, D)."""
    noise: np.ndarray
    """The standard deviation of their noise, τ: (runs, T)."""
    cut: np.ndarray
    """About how much length was clipped from all rows together: (runs, T)."""

    def minimum(self, axes: Axes) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted mean of what each step says of the minimum of squared errors, and its variances: (runs, D).

        With A'X'XA = I - E a step at u with the gradient g puts the minimum u* at u + g, up to E(u* - u) and the noise of g. E_ij
        has the standard deviation σ/√(q_i q_j), √2 times that on the diagonal, and there also what the floor adds.
        """
        size, noisy = self.places.shape[2], np.square(axes.std) / axes.raised
        of_step = np.square(self.noise) + CLIP_VARIANCE * np.square(self.cut) / size
        per_move = noisy.sum(axis=1, keepdims=True) / axes.raised + np.square(axes.lifted)
        ends = self.places + self.gradients
        centre = ends[:, -1]
        for _ in range(3):
            moves = centre[:, None, :] - self.places
            weights = 1 / np.maximum(size * of_step + np.einsum("rj,rtj->rt", per_move, np.square(moves)), TINY)
            weights = weights / weights.sum(axis=1, keepdims=True)
            centre = np.einsum("rt,rtj->rj", weights, ends)
        move = np.square(np.einsum("rt,rtj->rj", weights, centre[:, None, :] - self.places))
        of_noise = np.einsum("rt,rt->r", np.square(weights), of_step)[:, None]
        across = noisy * (move / axes.raised).sum(axis=1, keepdims=True)
        along = (noisy / axes.raised + np.square(axes.lifted)) * move
        return centre, of_noise + across + along


@dataclass(frozen=True)
class Best(Mechanism):
    """Descend along noisy clipped gradients in coordinates in which one noisy X'X is the identity.

    Formula: Q is X'X plus noise, its eigenvalues raised to a floor of 0.3 times the noise's largest one. With A = Q^-½ and w
    = 0, ten steps (six below nμ = 150, for two classes below 1200 or 100D) w += A S (Σ clip(A'x r, Γ) + noise), r = y - x'w:
    a row's vector is shortened to the length Γ. The numbers of rows in 24 bins of length, each √2 times as wide as the next,
    are released with each gradient; the next Γ is the edge above which about 6√D/μ rows were counted, so that clipping costs
    about as much as noise. S shortens steps along axes where X'X may exceed Q by so much that they would diverge. Steps that
    are not mostly noise also repeat up to 0.7 (for two classes 0.3) of the last move. Each step says where the minimum is, w
    plus the step without S; the fit is their mean, weighted by how far each can be from the truth. For logistic regression r
    is 4(y - p), and steps but the last are prolonged by 1/κ if they are not mostly noise: κ is the mean of 4p(1 - p),
    released too, or the curvature that the last move met, if that is larger. The fit is the last place. A model's penalty is
    added at the end, to the quadratic of matrix Q with its minimum at w. Where nμ is below D²/4 or 80, Q is mostly noise, and
    the fit is that of dp_gd, for two classes below 20D or 150 that of dp_newton; lasso and elastic net, for which that means
    25 convex programs a run, keep Q. Where nμ < 40, nothing is learned, and the fit is that of ssp.

    Guarantee: μ-GDP, hence (ε, δ)-DP, for replace-one neighbours: adaptive composition of one release of X'X with 0.2 μ², of
    the clipped sums and, where intervals can be made, of the squared residuals with 0.02 μ² (docs/sensitivities.md). A, S and Γ
    follow from released answers, and are the same for all rows.

    Public: n and the bounds. All constants are the same for every table.

    Cost: thirteen passes over the rows of every run, with a product of each chunk of rows with A: about 0.2 s for a run on 40,000
    rows of 29 columns. A fit of dp_gd takes 25 lighter ones.

    Reference: none: it is dpbench's own. Its parts are known: whitening by a private second moment (Brown et al. 2023, "Fast,
    sample-efficient, affine-invariant private mean and covariance estimation for subgaussian distributions"), descent on
    clipped residuals with one private matrix (Tang et al. 2023, arXiv 2303.03451), limits from private counts (Andrew et al.
    2021, "Differentially private learning with adaptive clipping"). Shares and constants were chosen on the open tables at odd
    places of the alphabetical list, and judged on the others.

    Errata: none. Clipping is a bias: as ε grows Γ does, and steps that clipped count less, so for squared errors the limit is
    least squares. For two classes on rare events one run in a hundred may still lose everything at ε < 1.
    """

    name: ClassVar[str] = "best"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    currency: ClassVar[Currency] = "approx"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        known = "truncation" not in model.provides or "gradient" in model.provides
        return None if known else "its loss is not a polynomial, and the model provides no gradient"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        assert problem.loss is not None
        mu, size = gdp_of_epsilon(budget.epsilon, budget.delta), curator.geometry.dimension
        rows = curator.n * mu / curator.geometry.replaced_rows
        if problem.loss.exact:
            plain, enough, many = "dp_gd", max(FEW_ROWS, FEW_PER_SQUARE * size**2), float(MANY_ROWS)
        else:
            plain, enough = "dp_newton", max(FEW_OF_TWO_CLASSES, FEW_PER_COLUMN * size)
            many = max(MANY_OF_TWO_CLASSES, MANY_PER_COLUMN * size)
        descends = problem.closed_form and math.isfinite(problem.largest_curvature)
        kinds = np.where(rows < HOPELESS_ROWS, "ssp", np.where((rows < enough) & descends, plain, "whitened"))
        kinds = np.where((kinds == "whitened") & (rows < many), "whitened in few steps", kinds)
        if len(set(kinds.tolist())) > 1:
            return joined([self.fit(curator.for_run(run), problem.for_run(run), budget) for run in range(curator.runs)])
        if kinds[0].startswith("whitened"):
            return self._whitened(curator, problem, mu, STEPS if kinds[0] == "whitened" else FEW_STEPS)
        bases: dict[str, Mechanism] = {"ssp": SufficientStatistics(), "dp_gd": GradientDescent(), "dp_newton": Newton()}
        return bases[kinds[0]].fit(curator, problem, budget)

    def _whitened(self, curator: Curator, problem: Problem, mu: float, steps: int) -> Fit:
        """Return the fit of a descent in whitened coordinates."""
        assert problem.loss is not None
        without = no_minimum(problem) or ("" if problem.loss.exact else CLIPS)
        of_fit = mu if without else mu * math.sqrt(1 - RESIDUAL_SHARE)
        matrix, axes = self._matrix(curator, of_fit * math.sqrt(MATRIX_SHARE))
        place, descent = self._descent(curator, problem, axes, of_fit, steps)
        variances = np.zeros_like(place)
        if problem.loss.exact:
            place, variances = descent.minimum(axes)
        weights = times(axes.whitening, place)
        curved = problem.loss.curvature * matrix.matrix
        fitted = problem.minimise(problem.regularised(Quadratic(curved, -2 * times(curved, weights))))
        fit = Fit(fitted, np.full(curator.runs, OK), {"diverging": gradients_grew(descent.gradients, descent.noise)})
        if without:
            return fit.knowing(without)
        residual = SquaredResiduals(problem, fitted)
        noise = residual.noise(mu * math.sqrt(RESIDUAL_SHARE))
        variance = residual.variance(curator.release(residual, noise), noise)
        hidden = np.square(axes.hidden) * HIDDEN_VARIANCE * axes.explained(place, curator.geometry.intercept)[:, None]
        privacy = (axes.whitening * (variances + hidden)[:, None, :]) @ np.swapaxes(axes.whitening, 1, 2)
        sampling = variance[:, None, None] * (axes.whitening @ np.swapaxes(axes.whitening, 1, 2))
        return fit.knowing(KnownCovariance(privacy, sampling))

    def _matrix(self, curator: Curator, mu: float) -> tuple[Quadratic, Axes]:
        """Return X'X with floored eigenvalues as an objective's matrix, and the coordinates in which it is the identity."""
        moments, std = SecondMoments(curator.geometry, ("xx",)), 0.0
        if moments.size:
            noise = moments.gaussian(mu)
            released = moments.matrix(curator.release(moments, noise), curator.n)
            std = moments.floor(noise) / (2 * math.sqrt(curator.geometry.dimension))
        else:  # an intercept alone, whose square adds up to n
            released = moments.matrix(np.zeros((curator.runs, 0)), curator.n)
        noisy = Quadratic(released, np.zeros(released.shape[:2]))
        axes = Axes(*noisy.spectrum, std)
        return noisy.floored(axes.floor), axes

    def _descent(self, curator: Curator, problem: Problem, axes: Axes, mu: float, count: int) -> tuple[np.ndarray, Descent]:
        """Return the place after all steps, (runs, D), and what they released, in whitened coordinates."""
        assert problem.loss is not None
        exact, size = problem.loss.exact, curator.geometry.dimension
        lengths = axes.steps(LARGEST_STEP if exact else LARGEST_STEP_OF_TWO_CLASSES)
        momentum, doubt = (MOMENTUM, DOUBT) if exact else (MOMENTUM_OF_TWO_CLASSES, DOUBT_OF_TWO_CLASSES)
        longest = CLIPPED * curator.geometry.replaced_rows * 2 * math.sqrt(size)
        place, move = np.zeros((2, curator.runs, size))
        query = WhitenedGradient(problem, axes.whitening, place)
        counts_mu, step_mus = shares(mu, query.counted, count)
        _, counts, curvature = query.answer(curator.release(query, query.noise(counts_mu)))
        steps: list[tuple[np.ndarray, ...]] = []
        for step_mu in step_mus:
            clipped = np.minimum(longest / step_mu, MOST_CLIPPED * curator.n)
            if not exact:
                clipped = np.minimum(clipped, CLIPPED_CURVATURE * np.clip(curvature, LEAST_CURVATURE * curator.n, curator.n))
            query = WhitenedGradient(problem, axes.whitening, times(axes.whitening, place), query.limits_for(counts, clipped))
            noise = query.noise(counts_mu, step_mu)
            gradient, counts, curvature = query.answer(curator.release(query, noise))
            steps.append((place, gradient, noise.scale[:, 0], query.cut(counts)))
            trust = signal_share(gradient, noise.scale[:, 0], doubt)
            longer = np.ones(curator.runs)
            if not exact and len(steps) < count:  # the last step is not prolonged: no later gradient would correct it
                longer = 1 + trust * (1 / _curved(steps, curvature / curator.n) - 1)
            move = lengths * longer[:, None] * gradient + (momentum * trust)[:, None] * move
            place = place + move
        return place, Descent(*(np.stack(part, axis=1) for part in zip(*steps, strict=True)))


def _curved(steps: Sequence[tuple[np.ndarray, ...]], mean: np.ndarray) -> np.ndarray:
    """Return the curvature by which a step is divided, as a share of the largest: (runs,).

    It is the mean over the rows or, if that is larger, the one that the last move met: by how much the gradient changed. Along
    the few rows of a rare class the curvature is far above the mean.
    """
    least = np.asarray(np.clip(mean, LEAST_CURVED, 1.0))
    if len(steps) < 2:
        return least
    (old_place, old_gradient, *_), (place, gradient, *_) = steps[-2:]
    move = place - old_place
    secant = np.einsum("ri,ri->r", move, old_gradient - gradient) / np.maximum(np.square(move).sum(axis=1), TINY)
    return np.asarray(np.clip(secant, least, 1.0))


def joined(fits: Sequence[Fit]) -> Fit:
    """Return one fit of all runs from those of single runs."""
    health = {
        name: np.concatenate([fit.health.get(name, np.zeros(len(fit.weights), dtype=bool)) for fit in fits])
        for name in sorted({name for fit in fits for name in fit.health})
    }
    fit = Fit(np.concatenate([fit.weights for fit in fits]), np.concatenate([fit.status for fit in fits]), health)
    return fit.knowing(MIXED)


def shares(mu: float, counted: int, steps: int) -> tuple[float, list[float]]:
    """Return the μ of each of the counted sums in a release, and of the gradient in each step."""
    growing = GROWTH ** np.arange(steps)
    gradients = (1 - MATRIX_SHARE - COUNTS_SHARE) * growing / growing.sum()
    return mu * math.sqrt(COUNTS_SHARE / counted / (steps + 1)), [mu * math.sqrt(share) for share in gradients]


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the product of each run's matrix and vector: (runs, D)."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [Best]
