"""Checks of a model: what it provides, its fits, its scores, and weighted rows."""

from typing import get_args

import numpy as np

from dpbench.audit.global_generators import watched_generators
from dpbench.base.errors import near_names
from dpbench.contracts.fit import DIVERGED, Fit
from dpbench.contracts.metric import ConstantPredictions, Predictions, evaluate
from dpbench.contracts.model import Capability
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.registry.lookup import registry
from dpbench.testing.checks import Failure, law
from dpbench.testing.designs import every_design
from dpbench.testing.guarded import guarded
from dpbench.testing.model_case import ModelCase, overrides

WEIGHTED_TOLERANCE = 1e-5
ROUNDING = 1e-9


@law(
    "The capabilities that the model provides exist, and its problem implements them; what the problem itself implements is "
    "provided.",
    "Write provides = frozenset({…}) with the names of dpbench.Capability, and implement what dpbench.Problem lists for each "
    "of them. "
    "A capability that is not provided prunes every mechanism that needs it.",
    needed=True,
)
def capabilities(case: ModelCase) -> None:
    known: tuple[str, ...] = get_args(Capability)
    for unknown in {*case.component.provides} - {*known}:
        raise Failure(f"It provides {unknown!r}, which is no capability.{near_names(unknown, known)}")
    problem, provided = case.regular, case.component.provides
    loss = problem.loss
    methods = {"gradient": ("gradient", "curvature"), "weighted": ("weighted",), "likelihood": ("log_likelihood",)}
    implemented = {
        "polynomial": loss is not None,
        "reweighted": problem.steady_weights or overrides(problem, "irls_weights"),
        **{name: all(overrides(problem, method) for method in needed) for name, needed in methods.items()},
    }
    for name, present in implemented.items():
        if name in provided and not present:
            raise Failure(f"It provides {name!r}, but {type(problem).__name__} does not implement it.")
    for name, needed in methods.items():
        own = type(problem).__module__ == case.cls.__module__ and all(method in vars(type(problem)) for method in needed)
        if own and name not in provided:
            raise Failure(f"{type(problem).__name__} implements {' and '.join(needed)}, but the model does not provide {name!r}.")
    if "polynomial" in provided and loss is not None and loss.exact == ("truncation" in provided):
        raise Failure(
            f"The loss says exact={loss.exact}, which {'contradicts' if loss.exact else 'needs'} the capability 'truncation'."
        )


@law(
    "The non-private fit of an ordinary table is a dpbench.Fit with one row of finite weights for each run.",
    "Return Fit.good(weights) from exact(sample), with weights of the shape (sample.runs, geometry.dimension). "
    "numpy.errstate(all='raise') finds where a NaN arises.",
    needed=True,
)
def result(case: ModelCase) -> None:
    what = "On an ordinary table, the non-private fit"
    fit = guarded(what, lambda: case.exact(WholeSample(case.rows)), case.rows)
    _check_shape(what, fit, case.rows)
    if not np.isfinite(fit.weights).all():
        raise Failure(f"{what} has weights that are not finite.")


def _check_shape(what: str, fit: object, rows: Rows) -> None:
    if not isinstance(fit, Fit) or fit.weights.shape != (1, rows.geometry.dimension):
        raise Failure(f"{what} must be a dpbench.Fit with weights of shape {(1, rows.geometry.dimension)}.")


@law(
    "The non-private fit of every table is a dpbench.Fit: few rows, dependent columns, one-hot groups, in both scalings.",
    "Handle singular matrices (lstsq or eigh instead of solve); a run without a minimum has the status diverged.",
    needed=True,
)
def every_table(case: ModelCase) -> None:
    for what, variant, rows in every_design(case.component):
        what = f"On the table {what!r}, the non-private fit"
        sample = WholeSample(rows)
        fit = guarded(what, lambda s=sample, v=variant: case.problem(s, v).exact(s), rows)  # type: ignore[misc]
        _check_shape(what, fit, rows)
        if not np.isfinite(fit.weights).all() and fit.status[0] != DIVERGED:
            raise Failure(f"{what} has weights that are not finite.")


@law(
    "The fit of a batch of runs is the fits of its runs, one by one.",
    "Compute each run from that run's rows and its entry of problem.n alone; for_run(run) must take its part of every array.",
)
def batch_equals_alone(case: ModelCase) -> None:
    tables = [case.rows, case.rows.take(np.arange(60)), case.rows.take(np.arange(30, 120))]
    sample = WholeSample(*tables)
    problem = case.problem(sample)
    together = problem.exact(sample)
    for run in range(sample.runs):
        alone = problem.for_run(run).exact(sample.for_run(run))
        if not np.allclose(alone.weights[0], together.weights[run], rtol=0, atol=ROUNDING):
            raise Failure("A run has other weights in a batch than by itself.")


@law(
    "Fits of the same rows are the same, and leave the rows and the global random generators alone.",
    "Copy arrays before you change them, and draw no random numbers.",
)
def determinism(case: ModelCase) -> None:
    before, first = case.rows.z.copy(), case.exact(WholeSample(case.rows)).weights
    with watched_generators() as generators:
        second = case.exact(WholeSample(case.rows)).weights
    if not np.array_equal(first, second):
        raise Failure("Two fits of the same rows have different weights.")
    if not np.array_equal(before, case.rows.z):
        raise Failure("The fit changed the rows.")
    if generators.used:
        raise Failure("The fit used numpy.random, which others share.")


@law(
    "The model has its primary metric, all its metrics are finite, and the fit is better than the mean predictor.",
    "Set primary to a metric that dpbench records for this target (python -m dpbench plugins lists them); where the fit is "
    "worse than "
    "the mean, look for a wrong sign or a missing intercept.",
)
def scores(case: ModelCase) -> None:
    metrics = [metric for metric in registry().metrics_of(case.component) if metric.compare is None]
    names = {metric.name for metric in metrics}
    if case.component.primary not in names:
        raise Failure(f"There is no metric {case.component.primary!r} for it.{near_names(case.component.primary, names)}")
    sample = WholeSample(case.rows)
    values = evaluate(metrics, Predictions(case.exact(sample).weights, sample))
    if unknown := [name for name, value in values.items() if not np.isfinite(value).all()]:
        raise Failure(f"The metrics {', '.join(unknown)} of its fit are not finite.")
    mean = evaluate(metrics, ConstantPredictions(sample, sample))
    primary = case.component.primary
    if not values[primary][0] < mean[primary][0]:
        raise Failure(f"{primary} of the fit is {values[primary][0]:.4g}, that of the mean predictor {mean[primary][0]:.4g}.")


@law(
    "A weighted row counts as often as its weight says.",
    "Let weighted(x, y, weight) minimise the sum of weight times loss; the penalty, which is multiplied by n, stays the same.",
)
def weighted_rows(case: ModelCase) -> None:
    case.require("weighted")
    rows = case.rows
    weight = np.bincount(np.random.default_rng(0).integers(rows.n, size=rows.n), minlength=rows.n)
    repeated = WholeSample(Rows(np.repeat(rows.z, weight, axis=0), rows.geometry))
    expected = rows.x @ case.exact(repeated).weights[0]
    error = np.abs(rows.x @ case.regular.weighted(rows.x, rows.y, weight.astype(float)) - expected).max()
    if not error <= WEIGHTED_TOLERANCE:
        raise Failure(f"The fit of weighted rows and that of repeated rows differ by {error:.3g} in a prediction.")


CHECKS = (capabilities, result, every_table, batch_equals_alone, determinism, scores, weighted_rows)
