"""Whether two fits know the same of their noise."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dpbench.audit.same_state import same_state
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.inference.released_moments import ReleasedMoments
from dpbench.privacy.noise import Gaussian, Laplace
from dpbench.privacy.queries.noisy_moments import NoisyMoments


def moments(entry: float = 1.0, law: Any = None) -> ReleasedMoments:
    one = np.ones((1, 1))
    return ReleasedMoments(NoisyMoments(np.full((1, 1, 1), entry), one, None, law or Laplace(), np.ones((1, 1, 1)), one))


@pytest.mark.parametrize("value", [moments(), "a reason", KnownCovariance(None, np.full((1, 2, 2), np.nan)), [{"a": (1, None)}]])
def test_a_copy_from_another_process_is_the_same(value: Any) -> None:
    assert same_state(value, pickle.loads(pickle.dumps(value)))


def test_cached_results_do_not_count() -> None:
    used = moments()
    assert used.regression.floored.shape == (1,)
    assert same_state(used, moments())
    assert same_state(moments(), used)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (moments(), moments(1 + 1e-15)),
        (moments(), moments(law=Gaussian())),
        (moments(), "a reason"),
        (KnownCovariance(None), KnownCovariance(np.ones((1, 1, 1)))),
        (np.ones(2), np.ones(3)),
        ({"a": 1}, {"b": 1}),
        ((1, 2), (1,)),
        (1.0, float("nan")),
    ],
)
def test_what_holds_something_else_is_another(first: Any, second: Any) -> None:
    assert not same_state(first, second)
    assert not same_state(second, first)
