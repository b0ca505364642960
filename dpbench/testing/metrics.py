"""Checks of a metric: finite numbers for ordinary predictions, within its range, and better for better predictions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpbench.audit.global_generators import watched_generators
from dpbench.contracts.metric import (
    ConstantPredictions,
    FitComparison,
    Metric,
    Predictions,
    evaluate,
)
from dpbench.contracts.model import Model
from dpbench.data.geometry import TargetKind
from dpbench.data.samples import WholeSample
from dpbench.registry.lookup import registry
from dpbench.testing.checks import Failure, NotApplicable, law
from dpbench.testing.components import check_call
from dpbench.testing.designs import design_rows
from dpbench.testing.guarded import guarded
from dpbench.testing.model_case import ModelCase

FACTORS = {"the non-private fit": 1.0, "half of its weights": 0.5, "weights of zero": 0.0, "weights of the wrong sign": -1.0}
"""What multiplies the non-private weights, the best predictions first."""
EXTREME_FACTORS = (1e3, -1e3)
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MetricCase:
    """A metric that is checked."""

    component: Metric

    @cached_property
    def model(self) -> Model:
        """The first model of the metric's target, which asks for the metric if not every model has it."""
        target: TargetKind = self.component.target or "real"
        models: list[Model] = [registry().get("model", name)() for name in registry().names("model")]
        of_target = [model for model in models if model.target == target]
        return next((model for model in of_target if self.component.name in model.metrics), of_target[0])

    @cached_property
    def sample(self) -> WholeSample:
        """Two runs of ordinary rows: a whole table, and half of it."""
        rows = design_rows("regular", self.model)
        return WholeSample(rows, rows.take(np.arange(rows.n // 2)))

    @cached_property
    def exact(self) -> np.ndarray:
        """The weights of the non-private fit."""
        return np.asarray(ModelCase(self.model).exact(self.sample).weights)

    def value(self, factor: float) -> np.ndarray:
        """Return the metric of the non-private weights times a factor: (runs, …)."""
        metric, weights = self.component, factor * self.exact
        if metric.compare is not None:
            return np.asarray(metric.compare(self.comparison(weights)))
        predictions = Predictions(weights, self.sample)
        if metric.compute is not None:
            return np.asarray(metric.compute(predictions))
        compute: Callable[..., Any] = metric.compute_run  # type: ignore[assignment]
        values = [np.asarray(compute(predictions.run(run))) for run in range(self.sample.runs)]
        if len(shapes := dict.fromkeys(value.shape for value in values)) > 1:
            raise Failure(f"compute_run returns arrays of the shapes {' and '.join(map(str, shapes))} for two runs.")
        return np.stack(values)

    def comparison(self, weights: np.ndarray) -> FitComparison:
        """Return what a metric that compares fits gets."""
        metrics = [metric for metric in registry().metrics_of(self.model) if metric.compare is None]
        scores, exact = (evaluate(metrics, Predictions(each, self.sample)) for each in (weights, self.exact))
        mean = evaluate(metrics, ConstantPredictions(self.sample, self.sample))
        errors = ModelCase(self.model).problem(self.sample).standard_errors(self.sample, self.exact)
        return FitComparison(self.model.target, weights, self.exact, errors, scores, exact, mean)


@law(
    "It has a name, a label, and a meaning that is a sentence.",
    "Fill in label (a few words for an axis) and meaning (one sentence: reports explain the column by it).",
    needed=True,
)
def description(case: MetricCase) -> None:
    if not case.component.label.strip():
        raise Failure("Its label is empty.")
    if not case.component.meaning.strip().endswith("."):
        raise Failure(f"Its meaning is not a sentence: {case.component.meaning!r}.")


@law(
    "Its function takes one argument: the predictions, or their comparison with the references.",
    "Write compute_run(rows) for one run, compute(predictions) for all runs, or compare(comparison).",
    needed=True,
)
def signature(case: MetricCase) -> None:
    argument = {"compute_run": "rows", "compute": "predictions", "compare": "comparison"}
    for name, what in argument.items():
        if function := getattr(case.component, name):
            check_call(name, function, [what])


@law(
    "Ordinary predictions have a finite value, one for each run.",
    "Return a number for each run, (runs,) from compute or compare, and one number from compute_run. Guard divisions by zero and "
    "logarithms of zero; NaN is for runs in which the metric is not defined.",
    needed=True,
)
def finite(case: MetricCase) -> None:
    rows = case.sample.rows(0)
    for what, factor in FACTORS.items():
        values = guarded(f"The metric of {what}", lambda factor=factor: case.value(factor), rows)  # type: ignore[misc]
        if values.shape[:1] != (case.sample.runs,):
            raise Failure(f"For {case.sample.runs} runs it returns an array of the shape {values.shape}.")
        if not np.isfinite(values).all():
            raise Failure(f"The metric of {what} is {values.ravel()[~np.isfinite(values.ravel())][0]}, on rows like any others.")


@law(
    "All values lie in the declared range, for hopeless predictions too.",
    "Declare low and high, the least and the largest value; a value outside is an error of the formula.",
)
def value_range(case: MetricCase) -> None:
    metric = case.component
    if math.isinf(metric.low) and math.isinf(metric.high):
        raise NotApplicable("it declares no range")
    for factor in (*FACTORS.values(), *EXTREME_FACTORS):
        values = case.value(factor)
        if (values < metric.low - ROUNDING).any() or (values > metric.high + ROUNDING).any():
            raise Failure(
                f"A value of {np.nanmin(values):.6g} to {np.nanmax(values):.6g} is outside of [{metric.low:g}, {metric.high:g}]."
            )


@law(
    "Better predictions have better values: the non-private fit's is better than that of weights of the wrong sign.",
    "Set better to 'lower' for errors and to 'higher' for scores.",
)
def direction(case: MetricCase) -> None:
    if case.component.better == "neither":
        raise NotApplicable("neither direction is better")
    best, worst = (float(np.mean(case.value(factor))) for factor in (1.0, -1.0))
    if (worst - best if case.component.better == "lower" else best - worst) <= 0:
        raise Failure(f"It is {best:.4g} for the non-private fit and {worst:.4g} for weights of the wrong sign.")


@law(
    "The value of a run does not depend on other runs, and computing it changes no prediction and no global random generator.",
    "Keep the run axis first and never sum over it; copy arrays before you change them, and draw no random numbers.",
)
def runs_alone(case: MetricCase) -> None:
    together, before = case.value(0.5), case.sample.rows(0).z.copy()
    with watched_generators() as generators:
        again = case.value(0.5)
    if generators.used:
        raise Failure("It used numpy.random, which others share.")
    if not np.array_equal(together, again, equal_nan=True):
        raise Failure("The same predictions have another value at the second time.")
    if not np.array_equal(before, case.sample.rows(0).z):
        raise Failure("It changed the rows.")
    for run in range(case.sample.runs):
        alone = MetricCase(case.component)
        vars(alone).update(model=case.model, sample=WholeSample(case.sample.rows(run)))
        if not np.allclose(alone.value(0.5)[0], together[run], rtol=ROUNDING, atol=ROUNDING, equal_nan=True):
            raise Failure("A run has another value in a batch than by itself.")


@law(
    "The closed form for the mean predictor is the metric of its predictions.",
    "Leave compute_constant out, or let it return what compute or compute_run would for the same prediction in every row.",
)
def mean_predictor(case: MetricCase) -> None:
    metric = case.component
    if metric.compute_constant is None:
        raise NotApplicable("it has no closed form for the mean predictor")
    constant = ConstantPredictions(case.sample, case.sample)
    closed, rows = (evaluate([each], constant)[metric.name] for each in (metric, replace(metric, compute_constant=None)))
    if not np.allclose(closed, rows, rtol=1e-6, atol=1e-9):
        raise Failure(f"The closed form gives {np.ravel(closed)[0]:.6g}, the predictions {np.ravel(rows)[0]:.6g}.")


CHECKS = (description, signature, finite, value_range, direction, runs_alone, mean_predictor)
