"""The contract of a metric: a number per run, computed from the predictions of a fit on its test rows."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from dpbench.base.core_classes import PACKAGE
from dpbench.base.errors import Refused, check_spelling
from dpbench.base.read_only import read_only
from dpbench.contracts.model import Model
from dpbench.data.geometry import TargetKind
from dpbench.data.samples import Sample
from dpbench.records.metric_info import Direction, MetricInfo


@dataclass(frozen=True)
class RunPredictions:
    """The test rows of one run and what is predicted for them."""

    y: np.ndarray
    """The scaled target: in [-1, 1], or 0 and 1."""
    score: np.ndarray
    """x'w of each row: the prediction itself, or the log odds of class 1."""

    def __post_init__(self) -> None:
        read_only(self.y)
        read_only(self.score)

    @cached_property
    def by_class(self) -> tuple[np.ndarray, np.ndarray]:
        """The sorted scores of the rows of class 1, and of class 0."""
        positive = self.y > 0.5  # compress is several times faster than a mask as an index
        return np.sort(self.score.compress(positive)), np.sort(self.score.compress(~positive))


class Predictions:
    """The predictions of one weight vector per run on the run's test rows."""

    def __init__(self, weights: np.ndarray, test: Sample) -> None:
        self.weights = weights
        self.test = test

    @cached_property
    def squared_errors(self) -> np.ndarray:
        """The sum of squared errors of each run: from second moments, without a pass over the rows."""
        moments, w = self.test.moments, self.weights
        quadratic = np.einsum("ri,rij,rj->r", w, moments.xx, w)
        return np.asarray(moments.yy - 2 * np.einsum("ri,ri->r", w, moments.xy) + quadratic)

    def run(self, run: int) -> RunPredictions:
        """Return one run's rows. This reads the rows, so it costs a pass over them."""
        return predictions_of_run([self], run)[0]


class ConstantPredictions(Predictions):
    """The predictions of a model that knows only the training targets: their mean, for every row."""

    def __init__(self, train: Sample, test: Sample) -> None:
        self.train = train
        self.test = test

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean of each run's training targets; of a binary target, the share of class 1."""
        return np.asarray(self.train.moments.y / self.train.moments.n)

    @cached_property
    def squared_errors(self) -> np.ndarray:
        moments = self.test.moments
        return np.asarray(moments.yy - 2 * self.mean * moments.y + self.mean**2 * moments.n)

    @cached_property
    def probability(self) -> np.ndarray:
        """The mean of a binary target, half a row away from 0 and 1: one class alone must not predict with certainty."""
        return np.asarray(np.clip(self.mean, 0.5 / self.train.moments.n, 1 - 0.5 / self.train.moments.n))

    @cached_property
    def positive_share(self) -> np.ndarray:
        """The share of class 1 among each run's test rows."""
        return np.asarray(self.test.moments.y / self.test.moments.n)

    def score(self, run: int) -> float:
        """Return what is predicted for every row of a run."""
        if self.test.geometry.target == "binary":
            return float(np.log(self.probability[run]) - np.log1p(-self.probability[run]))
        return float(self.mean[run])


def predictions_of_run(candidates: Sequence[Predictions], run: int) -> list[RunPredictions]:
    """Return what several weight vectors predict for the same test rows of a run, in one pass over these rows."""
    vectors = [candidate.weights[run] for candidate in candidates if not isinstance(candidate, ConstantPredictions)]
    y, scores = candidates[0].test.scores(run, vectors)
    remaining = iter(scores)
    return [
        RunPredictions(y, np.full(len(y), one.score(run)) if isinstance(one, ConstantPredictions) else next(remaining))
        for one in candidates
    ]


@dataclass(frozen=True)
class FitComparison:
    """The fit of each run next to the non-private fit and the mean predictor of the same run."""

    target: TargetKind
    weights: np.ndarray
    """(runs, D)"""
    exact: np.ndarray
    """The non-private fit's weights."""
    standard_errors: np.ndarray
    """Their standard errors; NaN where the model has none."""
    scores: Mapping[str, np.ndarray]
    """The other metrics of the fit, by name."""
    no_privacy: Mapping[str, np.ndarray]
    mean_predictor: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        for name in ("scores", "no_privacy", "mean_predictor"):  # cells share them: a metric must not change them for others
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        scores = (*self.scores.values(), *self.no_privacy.values(), *self.mean_predictor.values())
        for array in (self.weights, self.exact, self.standard_errors, *scores):
            read_only(array)


@dataclass(frozen=True)
class Metric:
    """A metric of a model's predictions. One object declares it: what it says, and how it is computed.

    It is recorded as ``utility/<name>``, with the same metric of the non-private fit and of the mean predictor as
    ``reference/no_privacy/<name>`` and ``reference/mean_predictor/<name>``, and the difference to the non-private fit as
    ``utility/excess_<name>``. A plugin announces it with the hook ``dpbench_metrics``.

    Give one of ``compute`` (all runs at once, from sums: it costs nothing), ``compute_run`` (one run at a time, from its rows)
    and ``compare`` (all runs at once, from other metrics and the weights of the fit and of both references: such a metric has
    no references of its own, and no difference to them). A metric may also be a curve, at even steps from 0 to 1: an array
    instead of a number per run.
    """

    name: str
    label: str
    """A few words for the axis of a figure."""
    meaning: str
    """One sentence: what listings and docs/records.md show."""
    better: Direction
    compute: Callable[[Predictions], np.ndarray] | None = None
    """Return (runs,) numbers, or (runs, points) for a curve."""
    compute_run: Callable[[RunPredictions], float | np.ndarray] | None = None
    """Return one run's number, or its (points,) curve."""
    compare: Callable[[FitComparison], np.ndarray] | None = None
    """Return (runs,) numbers that say how the fit compares with its references."""
    compute_constant: Callable[[ConstantPredictions], np.ndarray] | None = None
    """A closed form for the mean predictor. Without it the mean predictor's rows are predicted like any others."""
    unit: str = ""
    target: TargetKind | None = "real"
    """The kind of target that it applies to; None for either."""
    every_model: bool = True
    """Whether every model of that target has it. Otherwise a model asks for it by name (``Model.metrics``)."""
    flag: str = ""
    """A key of the command that asks for it: ``clipped`` for a metric that is computed only with ``clipped=true``."""
    low: float = -math.inf
    """The least value that it can take."""
    high: float = math.inf
    """The largest value."""

    def __post_init__(self) -> None:
        check_spelling("a metric", self.name)
        if sum(function is not None for function in (self.compute, self.compute_run, self.compare)) != 1:
            raise Refused(f"The metric {self.name} must have one of 'compute', 'compute_run' and 'compare'.")
        if self.better not in ("lower", "higher", "neither"):
            raise Refused(
                f"The key 'better' of the metric {self.name} must be lower, higher or neither. Got {self.better!r} instead."
            )

    def suits(self, model: Model, flags: Collection[str] = ()) -> bool:
        """Say whether the model has this metric, if these keys of the command are true."""
        requested = not self.flag or self.flag in flags
        return requested and self.target in (None, model.target) and (self.every_model or self.name in model.metrics)

    @property
    def function(self) -> Any:
        """The function that computes it: its module's code is part of a cell's key."""
        return self.compute or self.compute_run or self.compare

    def summary(self) -> str:
        """Return what listings show."""
        return self.meaning

    @property
    def info(self) -> MetricInfo:
        """What is recorded about it."""
        return MetricInfo(f"utility/{self.name}", self.label, self.meaning, self.better, self.unit)


def evaluate(metrics: list[Metric], predictions: Predictions) -> dict[str, np.ndarray]:
    """Return every metric of the predictions, by name: (runs,), or (runs, points) for a curve."""
    (values,) = evaluate_together(metrics, [predictions])
    return values


def evaluate_together(metrics: list[Metric], candidates: Sequence[Predictions]) -> list[dict[str, np.ndarray]]:
    """Return the metrics of several predictions for the same test rows.

    The rows of one run are in memory at a time, whatever the number of metrics that need them, and they are read once for all
    candidates.
    """
    values = [_from_sums(metrics, predictions) for predictions in candidates]
    by_rows = [
        {metric.name: (metric, list[Any]()) for metric in metrics if metric.compute_run is not None and metric.name not in known}
        for known in values
    ]
    reading = [at for at, needing in enumerate(by_rows) if needing]
    for run in range(candidates[0].test.runs if reading else 0):
        for at, rows in zip(reading, predictions_of_run([candidates[at] for at in reading], run), strict=True):
            for metric, numbers in by_rows[at].values():
                assert metric.compute_run is not None
                numbers.append(_tried(metric, metric.compute_run, rows, float("nan")))
    for known, needing in zip(values, by_rows, strict=True):
        known |= {name: np.array(numbers) for name, (_, numbers) in needing.items()}
    return [_checked(known, candidates[0].test.runs) for known in values]


def _from_sums(metrics: list[Metric], predictions: Predictions) -> dict[str, np.ndarray]:
    """Return the metrics that need no pass over the rows."""
    values: dict[str, np.ndarray] = {}
    missing = np.full(predictions.test.runs, np.nan)
    for metric in metrics:
        if isinstance(predictions, ConstantPredictions) and metric.compute_constant is not None:
            values[metric.name] = np.asarray(_tried(metric, metric.compute_constant, predictions, missing))
        elif metric.compute is not None:
            values[metric.name] = np.asarray(_tried(metric, metric.compute, predictions, missing))
    return values


def compare(metrics: list[Metric], comparison: FitComparison) -> dict[str, np.ndarray]:
    """Return every metric that compares fits with their references, by name: (runs,)."""
    missing = np.full(len(comparison.weights), np.nan)
    values = {
        metric.name: np.asarray(_tried(metric, metric.compare, comparison, missing))
        for metric in metrics
        if metric.compare is not None
    }
    return _checked(values, len(missing))


def _checked(values: dict[str, np.ndarray], runs: int) -> dict[str, np.ndarray]:
    for name, got in values.items():
        if got.shape[:1] != (runs,):
            raise ValueError(f"The metric {name} must give one value per run, {runs}. Got {got.shape} instead.")
    return values


def _tried(metric: Metric, compute: Callable[[Any], Any], argument: Any, missing: Any) -> Any:
    """Return what a metric computes. One of a plugin that fails has no value: it must not cost the cells of others."""
    if str(metric.function.__module__).partition(".")[0] == PACKAGE:
        return compute(argument)
    try:
        return compute(argument)
    except Exception:  # noqa: BLE001
        return missing
