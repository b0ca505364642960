"""Clipped gradients: as long as declared and no longer, and their sum is what descent needs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import contributions, exact_answer


@pytest.fixture
def query_of(make, geometry, fit_mechanism):
    """The last query of a descent on random rows, some of them zeros; those rows; and the problem."""

    def built(model: str, scaling: str, groups: tuple[int, ...] = (), clip: float = 0.3) -> tuple[Any, Rows, Any]:
        rng = np.random.default_rng(0)
        g = geometry(2, groups, bool(groups), scaling, "binary" if model == "logistic" else "real", 1.0)
        x = np.column_stack([rng.uniform(-1, 1, (60, 2)), *(np.eye(size)[rng.integers(size, size=60)] for size in groups)])
        x[:3, :2] = 0
        y = rng.integers(2, size=60) if model == "logistic" else rng.uniform(-1, 1, 60)
        rows = Rows(np.column_stack([np.ones(60), x / (2 if scaling == "ball" else 1), y]), g)
        fitted = fit_mechanism("dp_gd", rows, make("model", model, intercept=bool(groups)), 1.0, clip=clip, steps=3)
        return fitted.curator.tape[-1].call.query, rows, fitted.problem

    return built


@pytest.mark.parametrize(("scaling", "groups"), [("box", (3,)), ("box", ()), ("ball", ())], ids=str)
@pytest.mark.parametrize("model", ["linear", "logistic", "robust"])
def test_gradients_are_shortened_to_the_declared_length_and_keep_their_direction(model, scaling, groups, query_of) -> None:
    query, rows, problem = query_of(model, scaling, groups)
    parts = contributions(query, rows, 0)
    gradients = problem.gradient(rows.x, rows.y, query.state[0])[:, None] * rows.x
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    longest = float(query.length[0])
    assert longest == pytest.approx(0.3 * np.sqrt({"ball": 1}.get(scaling, 2 + 2 * len(groups))))
    assert np.linalg.norm(parts, axis=1).max() <= longest * (1 + 1e-15)
    np.testing.assert_allclose(parts, gradients * np.minimum(1, longest / np.maximum(lengths, 1e-9)), atol=1e-15)
    np.testing.assert_allclose(exact_answer(query, WholeSample(rows))[0], parts.sum(axis=0), atol=1e-12)


def test_queries_at_other_weights_have_other_identities(query_of) -> None:
    query, _, problem = query_of("linear", "box")
    module = sys.modules[type(query).__module__]
    moved = module.ClippedGradients(query.geometry, problem, query.state + 1e-9, query.clip)
    longer = module.ClippedGradients(query.geometry, problem, query.state, 2 * query.clip)
    assert len({query.identity, moved.identity, longer.identity}) == 3
