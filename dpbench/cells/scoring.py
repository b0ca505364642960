"""Score the runs of a block: the model's metrics on held-out rows, and two references on the same splits."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.metric import ConstantPredictions, FitComparison, Metric, Predictions, compare, evaluate, evaluate_together
from dpbench.contracts.model import Problem
from dpbench.data.blocks import Block


@dataclass(frozen=True)
class References:
    """The non-private fit and the mean predictor of each run: the same for every mechanism."""

    no_privacy: Mapping[str, np.ndarray]
    mean_predictor: Mapping[str, np.ndarray]
    weights: np.ndarray
    """The non-private fit's weights."""
    standard_errors: np.ndarray

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The scores of both."""
        by_name = {"no_privacy": self.no_privacy, "mean_predictor": self.mean_predictor}
        return {f"reference/{who}/{name}": values for who, scores in by_name.items() for name, values in scores.items()}


def run_columns(block: Block, seed: int) -> dict[str, np.ndarray]:
    """Return the columns that identify the runs, and their numbers of rows."""
    repeats, folds = np.array(block.runs).T
    runs = {"repeat": repeats, "fold": folds, "seed": np.full(len(repeats), seed)}
    return {**runs, "n_train": block.train.n.astype(int), "n_test": block.test.n.astype(int)}


def references_of(metrics: list[Metric], problem: Problem, block: Block) -> References:
    """Score both references."""
    fit = problem.exact(block.train)
    if not isinstance(fit, Fit):
        raise TypeError(f"{type(problem).__name__}.exact must return a dpbench.Fit. Got {type(fit).__name__} instead.")
    candidates = [Predictions(fit.weights, block.test), ConstantPredictions(block.train, block.test)]
    no_privacy, mean_predictor = evaluate_together(metrics, candidates)
    return References(
        no_privacy,
        mean_predictor,
        fit.weights,
        problem.standard_errors(block.train, fit.weights),
    )


def utility_columns(
    metrics: list[Metric],
    fit: Fit,
    block: Block,
    references: References,
    scores: dict[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Return the scores of a fit, how much each of them differs from the non-private fit's on the same run, and comparisons.

    ``scores``: the metrics of the fit's predictions, where they are known already.
    """
    finite, weights = finite_weights(fit)
    if scores is None:
        exact_fit = np.array_equal(weights, references.weights)  # the baseline's cells: its scores are known
        scores = dict(references.no_privacy) if exact_fit else evaluate(metrics, Predictions(weights, block.test))
    excess = {f"excess_{name}": got - references.no_privacy[name] for name, got in scores.items() if got.ndim == 1}
    exact = references.weights, references.standard_errors, scores, references.no_privacy, references.mean_predictor
    compared = compare(metrics, FitComparison(block.geometry.target, weights, *exact))
    return {f"utility/{name}": where_finite(finite, values) for name, values in {**scores, **excess, **compared}.items()}


def finite_weights(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Return which runs have finite weights, and the weights with zeros in the other runs, so that scoring them cannot fail."""
    finite = np.isfinite(fit.weights).all(axis=1)
    return finite, np.where(finite[:, None], fit.weights, 0.0)


def where_finite(finite: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values, numbers or curves, with NaN in the runs whose weights are not finite."""
    return np.where(finite.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)
