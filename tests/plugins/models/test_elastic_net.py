"""Elastic net: between lasso and ridge, and exactly them at its ends."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale


@pytest.fixture
def rows(table) -> Rows:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (200, 8))
    x[:, 1] = np.clip(0.9 * x[:, 0] + 0.1 * x[:, 1], -1, 1)
    y = np.clip(0.3 + 0.4 * x[:, 0] - 0.3 * x[:, 2] + 0.2 * generator.normal(size=200), -1, 1)
    return scale(table(x, y), "box", True, "real")


def oracle(rows: Rows, penalty: float, alpha: float) -> np.ndarray:
    """scikit-learn: ½ mean loss + a r ‖w‖₁ + ½ a (1 - r) ‖w‖²."""
    square, absolute = penalty * alpha, penalty * (1 - alpha) / 2
    model = ElasticNet(alpha=square + absolute, l1_ratio=absolute / (square + absolute), tol=1e-12, max_iter=100_000)
    model.fit(rows.x[:, 1:], rows.y)
    return np.append(model.intercept_, model.coef_)


@pytest.mark.parametrize("solver", ["auto", "scs", "clarabel"])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("penalty", [1e-4, 0.01, 0.1])
def test_the_exact_fit_is_scikit_learn_s(penalty, alpha, solver, rows, make, curate) -> None:
    model = make("model", "elastic_net", penalty=penalty, alpha=alpha, solver=solver)
    weights = model.prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    np.testing.assert_array_equal(weights == 0, oracle(rows, penalty, alpha) == 0)
    np.testing.assert_allclose(weights, oracle(rows, penalty, alpha), atol=1e-8)


@pytest.mark.parametrize(("alpha", "other"), [(0.0, "lasso"), (1.0, "ridge")])
@pytest.mark.parametrize("mechanism", ["no_privacy", "fm"])
def test_at_its_ends_it_is_lasso_and_ridge_to_the_bit(mechanism, alpha, other, rows, make, curate, repeated) -> None:
    weights = []
    for model in (make("model", "elastic_net", penalty=0.02, alpha=alpha), make("model", other, penalty=0.02)):
        curator = curate(repeated(rows, 3))
        weights.append(make("mechanism", mechanism).fit(curator, model.prepare(curator), curator.ledger.budget).weights)
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_penalty_of_zero_is_the_linear_model_to_the_bit(alpha, rows, make, curate) -> None:
    linear = make("model", "linear").prepare(curate(rows))
    net = make("model", "elastic_net", penalty=0.0, alpha=alpha).prepare(curate(rows))
    np.testing.assert_array_equal(net.exact(WholeSample(rows)).weights, linear.exact(WholeSample(rows)).weights)


def test_only_an_absolute_penalty_sets_weights_to_zero_and_has_no_closed_form(rows, make, curate) -> None:
    problems = {alpha: make("model", "elastic_net", alpha=alpha).prepare(curate(rows)) for alpha in (0.0, 0.5, 1.0)}
    assert {alpha: problem.sparse for alpha, problem in problems.items()} == {0.0: True, 0.5: True, 1.0: False}
    assert {alpha: problem.closed_form for alpha, problem in problems.items()} == {0.0: False, 0.5: False, 1.0: True}


def test_weighted_rows_count_as_often_as_their_weight(rows, make, curate) -> None:
    problem = make("model", "elastic_net", penalty=0.01).prepare(curate(rows))
    weight = np.bincount(np.random.default_rng(0).integers(rows.n, size=rows.n), minlength=rows.n)  # n in all: the penalty is n λ
    counted = Rows(np.repeat(rows.z, weight, axis=0), rows.geometry)
    np.testing.assert_allclose(problem.weighted(rows.x, rows.y, weight.astype(float)), oracle(counted, 0.01, 0.5), atol=1e-4)


def test_scores_and_references_are_those_of_the_linear_model(rows, score, score_mean) -> None:
    weights = np.random.default_rng(0).normal(size=(1, 9))
    sample = WholeSample(rows)
    for one, other in (
        (score("linear", weights, sample), score("elastic_net", weights, sample)),
        (score_mean("linear", sample, sample), score_mean("elastic_net", sample, sample)),
    ):
        assert {name: values.tolist() for name, values in one.items()} == {
            name: values.tolist() for name, values in other.items()
        }
