"""Released moments with the laws of their noise, as queries give them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.privacy.queries.query import exact_answer
from dpbench.privacy.queries.second_moments import SecondMoments

X = [[0.5, -1, 1, 0, 1], [0, 1, -0.25, 1, 0]]


@pytest.mark.parametrize("target", ["real", "binary"])
def test_the_scales_of_entries_are_those_of_the_noise_and_public_entries_have_none(target, geometry, rows) -> None:
    g = geometry(3, (2,), True, "box", target)
    z = rows(g, X, [0.5, -1] if target == "real" else [0, 1])
    query = SecondMoments(g)
    noise = query.gaussian(1.0)
    exact = exact_answer(query, WholeSample(z))
    answer = np.stack([exact[0] + noise.scale[0], exact[0]])
    moments = query.moments(answer, noise, np.full(2, 2.0))
    np.testing.assert_allclose(moments.matrix[0] - moments.matrix[1], moments.matrix_scale[0], atol=1e-9)
    np.testing.assert_allclose(moments.vector[0] - moments.vector[1], moments.vector_scale[0], atol=1e-9)
    np.testing.assert_array_equal(moments.matrix_scale[0], moments.matrix_scale[0].T)
    assert moments.matrix_scale[0, 0, 0] == 0, "the intercept's square is n"
    assert moments.matrix_scale[0, 4, 5] == 0, "the product of two levels of one attribute is 0"
    assert moments.square is not None
    assert (target == "real") == (moments.square[0] != moments.square[1])
