"""Metrics of a binary target. The tests of the logistic model compare them with scikit-learn's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from dpbench.registry.lookup import registry

auc = registry().get("metric", "auc")
classification = importlib.import_module(auc.compute_constant.__module__)


@pytest.mark.parametrize(
    ("scores", "expected"), [([0, 1, 2, 3], 1.0), ([3, 2, 1, 0], 0.0), ([1, 1, 1, 1], 0.5), ([0, 1, 1, 2], 0.875)]
)
def test_the_area_counts_pairs_and_ties_half(scores, expected) -> None:
    assert classification.area_under_curve(np.array([0, 0, 1, 1]), np.array(scores, dtype=float)) == expected


def test_one_class_has_neither_area_nor_curve() -> None:
    assert np.isnan(classification.area_under_curve(np.ones(3), np.arange(3.0)))
    assert np.isnan(classification.roc_curve(np.arange(3.0), np.array([]))).all()


def test_the_area_is_that_below_the_curve() -> None:
    """To within half of a step, which is 1 in 100 negative rows wide."""
    generator = np.random.default_rng(0)
    positive, negative = np.sort(generator.normal(1, 1, 400)), np.sort(generator.normal(0, 1, 100))
    curve = classification.roc_curve(positive, negative)
    assert np.trapezoid(curve, np.linspace(0, 1, len(curve))) == pytest.approx(classification.area(positive, negative), abs=5e-3)


def test_the_constant_s_closed_forms_are_those_of_its_rows(make, curate, geometry, rows, score_mean) -> None:
    from dpbench.contracts.metric import ConstantPredictions
    from dpbench.data.samples import WholeSample

    sample = WholeSample(rows(geometry(1, target="binary"), np.zeros((7, 1)), [0, 1, 1, 0, 1, 1, 1]))
    closed = score_mean("logistic", sample, sample)
    run = ConstantPredictions(sample, sample).run(0)
    assert closed["error_rate"][0] == pytest.approx(classification.error_rate(run))
    assert closed["log_loss"][0] == pytest.approx(np.mean(classification.log_loss(run.y, run.score)))
    assert closed["auc"][0] == classification.area(*run.by_class) == 0.5
    np.testing.assert_allclose(closed["roc"][0], classification.roc_curve(*run.by_class), atol=1e-12)
