"""Every mechanism has intervals for every model that it fits, or says why not; and asking for them costs nothing."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from dpbench.contracts.mechanism import fit_closed
from dpbench.contracts.uncertainty import UNTOLD, Covers, IntervalRequest, Intervals, Uncertainty
from dpbench.data.scaling import Rows, scale
from dpbench.inference.released_moments import APPROXIMATION
from dpbench.registry.lookup import registry

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "adassp": [{"calibration": "published"}],
    "binagg": [{"calibration": "published"}],
    "cdp_irls": [{"distribution": "laplace"}, {"variant": "published"}],
    "dp_gd": [{"steps": 1}],
    "dp_newton": [{"curvature": "hessian", "clip": 1.0}],
    "dpme": [{"counts": "raw"}],
    "drop_sensitive": [{"base": "ssp"}],
    "fm": [{"noise": "knorm"}, {"convention": "code"}, {"until_bounded": True}],
    "ssp": [{"noise": "laplace"}],
}
"""Options that change what a mechanism releases. The default ones are tried as well."""
SMALL = {"dpme": {"cells": 300}, "fp": {"size": 60}}
EPSILONS = (0.05, 2.0, 1e6)
MODELS = ("linear", "ridge", "lasso", "elastic_net", "logistic", "robust")


@pytest.fixture
def drawn(table):
    """Rows of two numeric columns, the first one sensitive, and a group, which is collinear with the intercept."""

    def rows(target: str, n: int = 120) -> Rows:
        generator = np.random.default_rng(n)
        x = np.column_stack([generator.uniform(-1, 1, (n, 2)), np.eye(3)[generator.integers(3, size=n)]])
        y = np.clip(0.1 + x @ [0.5, -0.3, 0.2, 0, -0.2] + 0.2 * generator.standard_normal(n), -1, 1)
        return scale(table(x, y, (3,), threshold=0.1, sensitive=("x0",)), "box", True, target)

    return rows


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", registry().names("mechanism"))
def test_every_fit_has_intervals_or_a_reason_that_ends_a_sentence(name, model, drawn, make, curate) -> None:
    for options, epsilon in product([{}, *OPTIONS.get(name, [])], EPSILONS):
        chosen = make("model", model)
        rows = drawn("binary" if chosen.target == "binary" else "real")
        mechanism = make("mechanism", name, **SMALL.get(name, {}), **options)
        if mechanism.unsupported(chosen, rows.geometry):
            continue
        curator = curate(rows, epsilon, currency=mechanism.counted())
        problem = chosen.prepare(curator)
        fit = fit_closed(mechanism, problem, curator, curator.ledger.budget)
        spent = list(curator.ledger.entries)
        if isinstance(fit.uncertainty, str):
            is_end_of_sentence(fit.uncertainty)
            continue
        assert isinstance(fit.uncertainty, Uncertainty)
        assert fit.uncertainty.methods
        for method, covers in product(fit.uncertainty.methods, get_args(Covers)):
            made = fit.uncertainty.intervals(IntervalRequest(fit.weights, problem.n, method, covers, draws=99))
            if isinstance(made, str):
                is_end_of_sentence(made)
                continue
            assert isinstance(made, Intervals)
            assert made.method == method
            if np.isfinite(fit.weights).all():
                unbounded = np.isneginf(made.low) & np.isposinf(made.high)
                numbers = [np.where(unbounded, 0.0, ends) for ends in (made.low, made.high, made.standard_errors)]
                assert np.isfinite([made.centre, *numbers]).all()
                assert method == "iterates" or not unbounded.any()
            assert (made.low <= made.high).all()
            assert all(remark.endswith(".") and remark[0].isupper() for remark in made.remarks)
        assert list(curator.ledger.entries) == spent


@pytest.mark.parametrize("name", ["ssp", "fm", "dpba", "dpc", "privr"])
def test_no_interval_of_a_quadratic_approximation_is_shown_as_one_of_log_odds(name, drawn, make, curate) -> None:
    """With log odds of 3 and -2, intervals of ssp were 1.87 to 1.92 and -1.21 to -1.16."""
    rows, mechanism = drawn("binary"), make("mechanism", name)
    curator = curate(rows, 2.0, currency=mechanism.counted())
    fit = fit_closed(mechanism, make("model", "logistic").prepare(curator), curator, curator.ledger.budget)
    assert fit.uncertainty == APPROXIMATION


def is_end_of_sentence(reason: str) -> None:
    assert reason
    assert reason != UNTOLD
    assert reason[0].islower() or reason.startswith(("OpenDP", "X'X"))
    assert reason[-1] not in ".!"
