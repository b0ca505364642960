"""diffprivlib's estimators run where they are installed, as they are; elsewhere an error has the line that installs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.registry.lookup import registry


@pytest.fixture
def curator_of(geometry, rows, curate) -> Callable[..., Any]:
    """A curator of two runs on the same 400 rows."""

    def built(epsilon: float, target: str = "real", scaling: str = "box") -> Any:
        generator = np.random.default_rng(3)
        x = generator.uniform(-1, 1, (400, 2)) / (2 if scaling == "ball" else 1)
        y = np.clip(0.1 + x @ [0.5, -0.3] + generator.normal(0, 0.1, 400), -1, 1)
        constant = 0.5 if scaling == "ball" else 1.0
        table = rows(geometry(2, (), True, scaling, target, constant), x, y if target == "real" else (y > 0.1).astype(float))
        return curate(WholeSample(table, table), epsilon=epsilon, runs=[(0, 0), (1, 0)])

    return built


def test_without_the_package_an_error_has_the_line_that_installs_it(fresh) -> None:
    with pytest.raises(Refused, match="diffprivlib is not installed in an environment of its own") as refusal:
        registry().get("mechanism", "diffprivlib")
    assert "python -m dpbench.base.outside_package" in str(refusal.value)
    assert "diffprivlib==0.6.6 'scikit-learn<1.6' 'numpy<2.3'" in str(refusal.value)


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("intercept", ["own", "column"])
def test_without_noise_a_linear_fit_is_least_squares(intercept, scaling, users_cache, make, curator_of) -> None:
    mechanism = _installed(make, intercept=intercept)
    curator = curator_of(1e9, scaling=scaling)
    problem = make("model", "linear").prepare(curator)
    fit = mechanism.fit(curator, problem, curator.ledger.budget)
    exact = curator_of(1.0, scaling=scaling)
    np.testing.assert_allclose(fit.weights, problem.exact(exact._sample).weights, atol=1e-3)
    assert not curator.ledger.sound


def test_noise_is_that_of_the_seed_and_of_each_run(users_cache, make, curator_of) -> None:
    mechanism = _installed(make)
    first, again = (
        mechanism.fit(curator, make("model", "linear").prepare(curator), curator.ledger.budget).weights
        for curator in (curator_of(1.0), curator_of(1.0))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1])


def test_a_logistic_fit_finds_the_direction_and_other_models_are_refused(users_cache, make, curator_of) -> None:
    mechanism, curator = _installed(make), curator_of(1e9, target="binary")
    weights = mechanism.fit(curator, make("model", "logistic").prepare(curator), curator.ledger.budget).weights
    assert (weights[:, 1] > 1).all()
    assert (weights[:, 2] < -0.5).all()
    assert "linear and logistic only" in str(mechanism.unsupported(make("model", "ridge"), curator.geometry))


def _installed(make: Callable[..., Any], **options: Any) -> Any:
    try:
        return make("mechanism", "diffprivlib", **options)
    except Refused as refusal:
        pytest.skip(str(refusal))
