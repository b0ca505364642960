"""The program that fits OpenDP's Theil–Sen regression: the ε that its own map says, and the erratum that is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import PackageMissing
from dpbench.base.outside_package import OutsidePackage
from dpbench.files.download_cache import cache_folder

ROOT = Path(__file__).parents[3]


def fitted(noise: float, epsilon: float) -> Any:
    """Fit 200 rows near y = x / 2 twenty times, and others once."""
    package = OutsidePackage("opendp", ("opendp[scikit-learn]==0.16.0",), cache_folder("packages", "opendp"))
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (210, 1))
    arrays = {"features": x, "target": x[:, 0] / 2 + noise * generator.normal(size=210), "ends": np.array([200, 210])}
    arrays |= {"fits": np.array([20, 1]), "seeds": np.arange(21)}
    try:
        program = ROOT / "plugins" / "mechanisms" / "_opendp_program.py"
        return package.run(program, arrays, epsilon=epsilon, bounds_x=(-1.0, 1.0), bounds_y=(-1.0, 1.0))
    except PackageMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("epsilon", [0.1, 3.2])
def test_its_own_map_says_the_budget_and_no_more(epsilon: float, users_cache) -> None:
    results = fitted(0.1, epsilon)
    assert 0.999 * epsilon < results["epsilon"] <= epsilon
    assert results["weights"].shape == (21, 2)


def test_an_exact_line_is_fitted_at_random_whatever_epsilon_is(users_cache) -> None:
    assert fitted(0.1, 1e4)["weights"][:20, 1].std() < 0.1
    assert fitted(0.0, 1e4)["weights"][:20, 1].std() > 0.3
