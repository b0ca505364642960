"""The baseline without privacy: the exact fit, named as such in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.data.scaling import Rows, scale
from dpbench.registry.lookup import registry


@pytest.fixture
def drawn(table: Callable[..., Any]) -> Callable[[str], Rows]:
    """60 rows with a real or a binary target."""

    def rows(target: str) -> Rows:
        generator = np.random.default_rng(0)
        x = generator.uniform(-1, 1, (60, 3))
        return scale(table(x, np.tanh(x[:, 0] + generator.normal(size=60)), threshold=0.0), "box", True, target)

    return rows


@pytest.mark.parametrize("name", registry().names("model"))
def test_it_releases_the_exact_fit_of_every_model_at_any_epsilon(name, drawn, split, make, fit_mechanism) -> None:
    model = make("model", name)
    block = split(drawn(model.target))
    fits = [fit_mechanism("no_privacy", block.train, model, epsilon, runs=block.runs) for epsilon in (0.1, 10.0)]
    for fit, problem, _ in fits:
        np.testing.assert_array_equal(fit.weights, problem.exact(block.train).weights)
    np.testing.assert_array_equal(fits[0].fit.weights, fits[1].fit.weights)


def test_its_ledger_says_that_nothing_is_private(drawn, make, fit_mechanism) -> None:
    curator = fit_mechanism("no_privacy", drawn("real"), make("model", "linear"), 1.0).curator
    assert not curator.ledger.total.private
    assert not curator.ledger.sound
    assert make("mechanism", "no_privacy").guarantee == "none"
