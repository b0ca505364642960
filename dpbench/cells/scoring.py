"""Score the runs of a block: the model's metrics on held-out rows, and two references on the same splits."""

from collections.abc import Mapping

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.metric import ConstantPredictions, Metric, Predictions, evaluate
from dpbench.contracts.model import Problem
from dpbench.data.blocks import Block


def reference_columns(metrics: list[Metric], problem: Problem, block: Block, seed: int) -> dict[str, np.ndarray]:
    """Return the columns that do not depend on the mechanism: what identifies the runs, and the scores of both references."""
    fit = problem.exact(block.train)
    if not isinstance(fit, Fit):
        raise TypeError(f"{type(problem).__name__}.exact must return a dpbench.Fit. Got {type(fit).__name__} instead.")
    repeats, folds = np.array(block.runs).T
    runs = {"repeat": repeats, "fold": folds, "seed": np.full(len(repeats), seed)}
    sizes = {"n_train": block.train.n.astype(int), "n_test": block.test.n.astype(int)}
    exact = evaluate(metrics, Predictions(fit.weights, block.test))
    mean = evaluate(metrics, ConstantPredictions(block.train, block.test))
    references = (("no_privacy", exact), ("mean_predictor", mean))
    scores = {f"reference/{who}/{name}": values for who, columns in references for name, values in columns.items()}
    return {**runs, **sizes, **scores}


def utility_columns(metrics: list[Metric], fit: Fit, block: Block, references: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scores of a fit, and how much each of them differs from the non-private fit's on the same run."""
    finite, weights = finite_weights(fit)
    scored = evaluate(metrics, Predictions(weights, block.test))
    scores = {name: where_finite(finite, values) for name, values in scored.items()}
    numbers = {name: values for name, values in scores.items() if values.ndim == 1}
    excess = {f"excess_{name}": values - references[f"reference/no_privacy/{name}"] for name, values in numbers.items()}
    return {f"utility/{name}": values for name, values in {**scores, **excess}.items()}


def finite_weights(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Return which runs have finite weights, and the weights with zeros in the other runs, so that scoring them cannot fail."""
    finite = np.isfinite(fit.weights).all(axis=1)
    return finite, np.where(finite[:, None], fit.weights, 0.0)


def where_finite(finite: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values, numbers or curves, with NaN in the runs whose weights are not finite."""
    return np.where(finite.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)
