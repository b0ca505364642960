"""OpenDP's Theil–Sen regression runs where it is installed, as it is; elsewhere an error has the line that installs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.registry.lookup import registry


def test_without_the_package_an_error_has_the_line_that_installs_it(fresh) -> None:
    with pytest.raises(Refused, match=r"opendp is not installed in an environment of its own\. Install it with: python -m"):
        registry().get("mechanism", "opendp_theil_sen")


@pytest.mark.parametrize(("scaling", "constant"), [("box", 1.0), ("ball", 0.5)])
def test_without_noise_it_finds_a_line_up_to_the_grid_of_candidates(
    scaling, constant, users_cache, make, geometry, rows, curate
) -> None:
    mechanism = _installed(make)
    generator = np.random.default_rng(3)
    x = generator.uniform(-1, 1, (400, 1)) / (2 if scaling == "ball" else 1)
    y = 0.1 + 0.5 * x[:, 0] + generator.normal(0, 0.1, 400)  # on a line without noise all candidates score alike
    table = rows(geometry(1, (), True, scaling, "real", constant), x, y)
    curator = curate(WholeSample(table, table), epsilon=1e6, runs=[(0, 0), (1, 0)])
    fit = mechanism.fit(curator, make("model", "linear").prepare(curator), curator.ledger.budget)
    np.testing.assert_allclose(fit.weights, [[0.1 / constant, 0.5]] * 2, atol=0.15)
    assert not curator.ledger.sound
    assert curator.ledger.total.epsilon == 1e6


def test_it_fits_one_feature_and_an_intercept_alone(users_cache, make, geometry) -> None:
    mechanism, linear = _installed(make), make("model", "linear")
    assert "the table has 2" in mechanism.unsupported(linear, geometry(2, intercept=True))
    assert "with an intercept only" in mechanism.unsupported(make("model", "linear", intercept=False), geometry(1))
    assert mechanism.unsupported(linear, geometry(1, intercept=True)) is None


def _installed(make: Callable[..., Any]) -> Any:
    try:
        return make("mechanism", "opendp_theil_sen")
    except Refused as refusal:
        pytest.skip(str(refusal))
