"""Checks of a model's loss: derivatives, likelihood and sensitivities against numerical ones."""

from typing import get_args

import numpy as np

from dpbench.audit.neighbours import Pairs, random_rows, search
from dpbench.audit.subject import example_geometries
from dpbench.data.geometry import Geometry
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.polynomial import Convention
from dpbench.privacy.queries.query import Query, contributions
from dpbench.testing.checks import Failure, NotApplicable, law
from dpbench.testing.model_case import MARGINS, ModelCase

STEP = 1e-5
"""The step of numerical derivatives along x'w."""
DERIVATIVE_TOLERANCE = 1e-5
STATIONARY_TOLERANCE = 1e-5
"""How far the mean gradient at the non-private fit may lie from zero."""
PAIRS, ROUNDS, SURVIVORS = 2_000, 40, 60
"""Random pairs of rows with which the search for the largest change of a query begins, its rounds, and its survivors."""
ROUNDING = 1e-9


@law(
    "The derivatives are numerical ones: the curvature that of the gradient, and the gradient that of the polynomial loss.",
    "Compare gradient and curvature with the derivatives along x'w of one row's loss (not divided by n), and Loss(curvature, "
    "slope) "
    "with the coefficients of (x'w)² and of x'w.",
)
def derivatives(case: ModelCase) -> None:
    case.require("gradient")
    problem, loss = case.regular, case.regular.loss
    for y in case.targets:
        before, after = (problem.gradient(*case.along(y, MARGINS + step)) for step in (-STEP, STEP))
        here = problem.curvature(*case.along(y))
        numeric = (after - before) / (2 * STEP)
        smooth = np.abs(np.diff(here, append=here[-1])) < 0.1  # a jump of the curvature has no derivative to compare
        smooth &= np.abs(np.diff(here, prepend=here[0])) < 0.1
        if not np.allclose(here[smooth], numeric[smooth], rtol=1e-3, atol=DERIVATIVE_TOLERANCE):
            raise Failure(f"At y = {y:g} the curvature is not the derivative of the gradient.")
        if loss is None:
            continue
        at = MARGINS if loss.exact else np.zeros(1)
        slope = 2 * loss.curvature * at + loss.slope[0] + loss.slope[1] * y
        if not np.allclose(problem.gradient(*case.along(y, at)), slope, rtol=1e-9, atol=DERIVATIVE_TOLERANCE):
            raise Failure(
                f"At y = {y:g} the gradient is not the derivative of the polynomial loss{'' if loss.exact else ' at w = 0'}."
            )


@law(
    "The loss is convex along x'w, and no slope or curvature exceeds largest_slope or largest_curvature.",
    "Set largest_slope and largest_curvature to the suprema over all x'w and y: gradient methods scale their noise by them.",
)
def largest_derivatives(case: ModelCase) -> None:
    case.require("gradient")
    problem = case.regular
    for y in case.targets:
        slope, curvature = problem.gradient(*case.along(y)), problem.curvature(*case.along(y))
        if curvature.min() < 0:
            raise Failure(f"At y = {y:g} the curvature is as low as {curvature.min():.3g}: the loss is not convex.")
        for name, largest, limit in (
            ("slope", np.abs(slope).max(), problem.largest_slope),
            ("curvature", curvature.max(), problem.largest_curvature),
        ):
            if largest > limit * (1 + ROUNDING):
                raise Failure(f"At y = {y:g} a {name} of {largest:.4g} exceeds largest_{name} = {limit:.4g}.")


@law(
    "The non-private fit is the minimum of the loss: the gradients of its rows add up to zero.",
    "Check the sign of the gradient, the intercept's column and the stopping rule of exact(). Where the gradient is that of "
    "another, "
    "smooth loss, name the check 'minimum' in expected_failures, with the reason.",
)
def minimum(case: ModelCase) -> None:
    case.require("gradient")
    problem, rows = case.regular, case.rows
    if problem.sparse or getattr(problem, "has_penalty", False):
        raise NotApplicable("the gradient of a row's loss does not contain the penalty")
    weights = case.exact(WholeSample(rows)).weights[0]
    gradient = rows.x.T @ problem.gradient(rows.x, rows.y, weights) / rows.n
    if not np.abs(gradient).max() <= STATIONARY_TOLERANCE:
        raise Failure(f"At the non-private fit the mean gradient is {np.abs(gradient).max():.3g}.")


@law(
    "The likelihood has its maximum where the loss has its minimum: its derivative is the gradient, times a negative factor.",
    "Write log_likelihood as the log density of y given x'w; it must depend on x'w alone.",
)
def likelihood(case: ModelCase) -> None:
    case.require("likelihood")
    problem = case.regular
    if "gradient" not in case.component.provides:
        raise NotApplicable("the model provides no gradient to compare it with")
    slopes, gradients = [], []
    for y in case.targets:
        before, after = (problem.log_likelihood(*case.along(y, MARGINS + step), 1.0) for step in (-STEP, STEP))
        slopes.append((after - before) / (2 * STEP))
        gradients.append(problem.gradient(*case.along(y)))
    slope, gradient = np.concatenate(slopes), np.concatenate(gradients)
    factor = float(slope @ gradient / (gradient @ gradient))
    if not (factor < 0 and np.allclose(slope, factor * gradient, rtol=1e-3, atol=1e-4)):
        raise Failure("Its derivative along x'w is not a negative multiple of the gradient.")


@law(
    "The weights of reweighted least squares lie between 0 and kappa.",
    "Clip irls_weights(residuals, kappa) to [0, kappa]: the sensitivity of weighted moments rests on it.",
)
def reweighting(case: ModelCase) -> None:
    case.require("reweighted")
    if case.regular.steady_weights:
        raise NotApplicable("every row always has the weight 1")
    for kappa in (1.0, 5.0, 100.0):
        weights = case.regular.irls_weights(np.concatenate([MARGINS, [0.0]]), kappa)
        if not ((weights >= 0).all() and (weights <= kappa).all()):
            raise Failure(f"At kappa = {kappa:g} they lie between {weights.min():.4g} and {weights.max():.4g}.")


@law(
    "No two rows move the polynomial objective by more than its sensitivity.",
    "Check Loss(curvature, slope): the sensitivity follows from them. A subclass of Polynomial with a bound of its own must "
    "prove it.",
)
def sensitivities(case: ModelCase) -> None:
    case.require("polynomial")
    for geometry in example_geometries(case.component):
        problem = case.problem(random_rows(geometry, np.random.default_rng(0), 8))
        for convention in get_args(Convention):
            query = problem.polynomial(convention)
            bound = query.l1_bound("tight")
            largest = _largest_change(query, geometry)
            if largest > bound * (1 + ROUNDING):
                raise Failure(f"Two rows move its {convention} coefficients by {largest:.5g}, and the bound is {bound:.5g}.")


def _largest_change(query: Query, geometry: Geometry) -> float:
    """Search for the pair of rows that moves a query furthest, in L1 norm."""

    def moved(first: Rows, second: Rows) -> np.ndarray:
        change = contributions(query, first, 0) - contributions(query, second, 0)
        return np.asarray(np.abs(change).sum(axis=1))

    generator = np.random.default_rng(0)
    first, second = (random_rows(geometry, generator, PAIRS) for _ in range(2))
    start = Pairs(first, second, ("random",) * PAIRS)
    worst = search(moved, start, generator, ROUNDS, SURVIVORS)
    return float(moved(worst.first, worst.second)[0])


CHECKS = (derivatives, largest_derivatives, minimum, likelihood, reweighting, sensitivities)
