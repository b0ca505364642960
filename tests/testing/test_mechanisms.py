"""Each law about a mechanism's fits is broken by a mechanism that is wrong on purpose, and kept by one that is not."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench import Fit
from dpbench.noise import laplace
from dpbench.testing import mechanisms as checks


def wrong(plain: type, **members: Any) -> type:
    """The plain mechanism with other members."""
    return dataclass(frozen=True)(type("Wrong", (plain,), {"name": "wrong", "__doc__": "Be wrong.", **members}))


def test_a_good_mechanism_keeps_every_law(plain, outcome) -> None:
    assert {check.name: outcome(check, plain) for check in checks.CHECKS} == {check.name: "ok: " for check in checks.CHECKS}


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"needs": frozenset({"polinomial"})}, "It needs 'polinomial', which is no capability. Did you mean polynomial?"),
        ({"currency": "pur"}, "Its currency is 'pur'."),
        ({"guarantee": ""}, "It has no guarantee"),
        ({"refuses": lambda self, model, geometry: "it is Monday"}, "It fits none of the models"),
    ],
)
def test_what_no_model_has_is_named(members, sentence, plain, outcome) -> None:
    assert sentence in outcome(checks.capabilities, wrong(plain, **members))


@pytest.mark.parametrize(
    ("finish", "sentence"),
    [
        (
            lambda self, problem, noisy: Fit.good(noisy.linear * np.nan),
            "A fit of linear has weights that are not finite",
        ),
        (lambda self, problem, noisy: Fit.good(noisy.linear[:, :-1]), "must return weights of shape (1, 5). Got (1, 4) instead."),
        (lambda self, problem, noisy: noisy.linear, "wrong must return a dpbench.Fit. Got ndarray instead."),
    ],
)
def test_weights_that_are_none_are_named(finish, sentence, plain, outcome) -> None:
    assert sentence in outcome(checks.result, wrong(plain, finish=finish))


def test_an_epsilon_that_is_refused_is_no_evidence(plain, outcome) -> None:
    def refusing(low, high):
        def fit(self, curator, problem, budget):
            if not low <= budget.epsilon <= high:
                raise ValueError("another epsilon protects nothing")
            return plain.fit(self, curator, problem, budget)

        return wrong(plain, fit=fit)

    assert outcome(checks.noise_falls, refusing(0, 5)) == "ok: "
    assert outcome(checks.noise_falls, refusing(0.5, 5)).startswith("not applicable: it fits at fewer than two of ε = 0.1, 1, 10")
    assert outcome(checks.limit, refusing(0, 50)).startswith("not applicable: at ε = 1e+09 a fit ends with an error: ValueError")


def test_a_fit_that_uses_a_global_generator_is_named(plain, outcome) -> None:
    def finish(self, problem, noisy):
        np.random.seed(int(abs(noisy.linear[0, 0])) % 1000)
        return plain.finish(self, problem, noisy)

    state = np.random.get_state()
    try:
        assert "numpy.random or random is in another state" in outcome(checks.global_random_state, wrong(plain, finish=finish))
    finally:
        np.random.set_state(state)


def test_an_import_that_draws_once_is_no_fault_of_the_fit(plain, outcome) -> None:
    drawn = []

    def finish(self, problem, noisy):
        if not drawn:
            drawn.append(random.random())
        return plain.finish(self, problem, noisy)

    assert outcome(checks.global_random_state, wrong(plain, finish=finish)) == "ok: "


def test_randomness_of_its_own_is_named(plain, outcome) -> None:
    def finish(self, problem, noisy):
        return Fit.good(plain.finish(self, problem, noisy).weights + np.random.default_rng().normal())

    sentence = outcome(checks.determinism, wrong(plain, finish=finish))
    assert sentence == "failed: Two fits with the same seed have different weights."


def test_a_mean_over_runs_is_named(plain, outcome) -> None:
    def finish(self, problem, noisy):
        weights = plain.finish(self, problem, noisy).weights
        return Fit.good(np.broadcast_to(weights.mean(axis=0), weights.shape))

    assert "A run has other weights in a batch than by itself" in outcome(checks.batch_equals_alone, wrong(plain, finish=finish))


def test_noise_that_grows_with_epsilon_is_named(plain, outcome) -> None:
    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        noise = laplace(objective.l1_bound("tight"), min(1 / budget.epsilon, budget.epsilon), objective.proof("tight"))
        return self.finish(problem, objective.quadratic(curator.release(objective, noise), problem.n))

    assert "The mean scale of the noise on 'objective' is" in outcome(checks.noise_falls, wrong(plain, fit=fit))


def test_a_factor_that_is_wrong_even_without_noise_is_named(plain, outcome) -> None:
    def finish(self, problem, noisy):
        return Fit.good(2 * plain.finish(self, problem, noisy).weights)

    assert "At ε = 1e+09 a prediction of linear differs" in outcome(checks.limit, wrong(plain, finish=finish))


def test_a_solver_that_fails_on_singular_tables_is_named_with_the_table(plain, outcome) -> None:
    def finish(self, problem, noisy):
        if problem.geometry.features > 8:
            raise np.linalg.LinAlgError("Singular matrix")
        return plain.finish(self, problem, noisy)

    sentence = outcome(checks.every_table, wrong(plain, finish=finish))
    assert "On the table 'fewer rows than columns, box scaling, an intercept'" in sentence
    assert "Singular matrix" in sentence


def test_a_fit_that_writes_into_rows_is_an_error(plain, outcome) -> None:
    def fit(self, curator, problem, budget):
        curator.n[:] = 1
        return plain.fit(self, curator, problem, budget)

    assert "read-only" in outcome(checks.result, wrong(plain, fit=fit))
