"""A replaced row moves a score by at most 1, and some row moves it by 1."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from dpbench.contracts.model import Problem
from dpbench.data.geometry import Geometry, TargetKind
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import contributions, exact_answer
from dpbench.releases.error_score import ErrorScore, score_noise


class Product:
    """A problem that predicts x'w."""

    def predict(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return x @ weights


def score(weights: list[float]) -> ErrorScore:
    return ErrorScore(cast(Problem, Product()), np.array([weights]))


def rows(target: TargetKind, z: np.ndarray) -> Rows:
    return Rows(z, Geometry(("a",), (), True, "box", target))


@pytest.mark.parametrize("target", ["real", "binary"])
def test_each_row_adds_a_number_from_0_to_1_and_both_ends_are_met(target: TargetKind) -> None:
    generator = np.random.default_rng(0)
    z = np.column_stack([np.ones(500), generator.uniform(-1, 1, 500), generator.uniform(-1, 1, 500)])
    if target == "binary":
        z[:, 2] = z[:, 2] > 0
    made = rows(target, z)
    for weights in ([0.0, 1.0], [0.5, 0.1], [1e300, -1e300], [np.inf, 1.0], [np.nan, 0.0], [-1e9, 0.0]):
        with np.errstate(all="ignore"):
            parts = contributions(score(weights), made, 0)
        assert parts.shape == (500, 1)
        assert ((parts >= 0) & (parts <= 1)).all()
    ends = rows(target, np.array([[1, 1, 1.0], [1, 1, 0.0 if target == "binary" else -1.0]]))
    np.testing.assert_array_equal(contributions(score([0.0, 1.0]), ends, 0), [[0.0], [1.0]])


def test_a_score_is_the_sum_of_squared_errors_of_clipped_predictions() -> None:
    made = rows("real", np.array([[1, 0.5, 0.25], [1, -1, -0.5], [1, 1, 1.0]]))
    (total,) = exact_answer(score([0.0, 2.0]), WholeSample(made))[0]
    assert total == 0.75**2 + 0.5**2 + 0.0


def test_the_noise_of_a_score_is_for_all_rows_of_a_person() -> None:
    geometry = Geometry(("a",), (), True, "box", "real")
    assert score_noise(geometry, 0.1).sensitivity == pytest.approx(1.0)
    persons = replace(geometry, rows_per_person=3)
    assert score_noise(persons, 0.1).sensitivity == pytest.approx(3.0)
    assert score_noise(persons, 0.1).cost == score_noise(geometry, 0.1).cost
