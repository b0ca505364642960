"""Each law about a model is broken by a model that is wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench import Fit, LeastSquares, Model
from dpbench.testing import models as checks


def model(
    problem: type = LeastSquares, provides: Any = ("polynomial", "gradient", "smoothness", "weighted"), **members: Any
) -> type:
    """A model of a real target."""
    prepare = {"prepare": lambda self, curator: problem(curator.geometry, curator.n)}
    body = {"name": "wrong", "__doc__": "Be a model.", "provides": frozenset(provides), **prepare, **members}
    return dataclass(frozen=True)(type("Wrong", (Model,), body))


def problem(**members: Any) -> type:
    return type("Squares", (LeastSquares,), members)


def test_a_good_model_keeps_every_law(outcome) -> None:
    assert {check.name: outcome(check, model()) for check in checks.CHECKS} == {check.name: "ok: " for check in checks.CHECKS}


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (model(provides=["gradiant"]), "It provides 'gradiant', which is no capability. Did you mean gradient?"),
        (model(problem(loss=None)), "It provides 'polynomial', but Squares does not implement it."),
        (
            model(problem(weighted=lambda self, x, y, weight: np.zeros(x.shape[1])), provides=["polynomial"]),
            "Squares implements weighted, but the model does not provide 'weighted'.",
        ),
        (model(provides=["polynomial", "truncation"]), "which contradicts the capability 'truncation'"),
    ],
)
def test_what_is_provided_and_not_implemented_or_the_reverse_is_named(made, sentence, outcome) -> None:
    assert sentence in outcome(checks.capabilities, made)


def test_a_fit_that_fails_on_a_table_is_named_with_it(outcome) -> None:
    def exact(self, sample):
        return Fit.good(np.linalg.solve(sample.moments.xx, sample.moments.xy[..., None])[..., 0])

    assert "Singular matrix" in outcome(checks.every_table, model(problem(exact=exact)))


def test_runs_that_are_averaged_are_named(outcome) -> None:
    def exact(self, sample):
        weights = LeastSquares.exact(self, sample).weights
        return Fit.good(np.broadcast_to(weights.mean(axis=0), weights.shape))

    assert "other weights in a batch" in outcome(checks.batch_equals_alone, model(problem(exact=exact)))


def test_a_random_fit_is_named(outcome) -> None:
    def exact(self, sample):
        return Fit.good(LeastSquares.exact(self, sample).weights + np.random.default_rng().normal(size=()))

    assert outcome(checks.determinism, model(problem(exact=exact))) == "failed: Two fits of the same rows have different weights."


def test_a_fit_worse_than_the_mean_and_an_unknown_metric_are_named(outcome) -> None:
    def exact(self, sample):
        return Fit.good(-LeastSquares.exact(self, sample).weights)

    assert "of the mean predictor" in outcome(checks.scores, model(problem(exact=exact)))
    assert "There is no metric 'rmsee' for it. Did you mean rmse" in outcome(checks.scores, model(primary="rmsee"))


def test_weights_of_rows_that_do_not_count_are_named(outcome) -> None:
    def weighted(self, x, y, weight):
        return LeastSquares.weighted(self, x, y, np.sqrt(weight))

    assert "weighted rows and that of repeated rows differ" in outcome(checks.weighted_rows, model(problem(weighted=weighted)))
