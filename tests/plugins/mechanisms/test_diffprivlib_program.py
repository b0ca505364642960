"""The program that fits diffprivlib's estimators: what its noise mechanisms are built with, and the errata that are seen so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import PackageMissing
from dpbench.base.outside_package import OutsidePackage
from dpbench.files.download_cache import cache_folder

ROOT = Path(__file__).parents[3]


def fitted(bounds: tuple[float, float], intercept: bool, fits: tuple[int, ...] = (1,)) -> Any:
    """Fit tables of ten rows with one feature."""
    package = OutsidePackage(
        "diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.6", "numpy<2.3"), cache_folder("packages", "diffprivlib")
    )
    count = len(fits)
    x = np.random.default_rng(0).uniform(*bounds, (10 * count, 1))
    arrays = {"features": x, "target": x[:, 0] / 2, "ends": 10 * np.arange(1, count + 1), "fits": np.array(fits)}
    options: dict[str, Any] = {"bounds_X": bounds, "bounds_y": (-1.0, 1.0), "fit_intercept": intercept}
    try:
        program = ROOT / "plugins" / "mechanisms" / "_diffprivlib_program.py"
        return package.run(program, {**arrays, "seeds": np.arange(sum(fits))}, estimator="linear", epsilon=1.0, **options)
    except PackageMissing as missing:
        pytest.skip(str(missing))


def test_without_an_intercept_the_budget_is_shared_and_with_one_it_is_overspent(users_cache) -> None:
    assert fitted((-1.0, 1.0), False)["epsilons"] == pytest.approx([1 / 3] * 3)
    assert fitted((-1.0, 1.0), True)["epsilons"].sum() == pytest.approx(1.5)  # ε (d + 2) / (d + 1)


def test_the_diagonal_gets_no_noise_for_bounds_that_begin_at_zero(users_cache) -> None:
    assert fitted((0.0, 1.0), False)["sensitivities"].tolist() == [1.0, 2.0, 0.0]
    assert fitted((-1.0, 1.0), False)["sensitivities"].tolist() == [1.0, 2.0, 1.0]


def test_every_table_is_fitted_as_often_as_asked(users_cache) -> None:
    results = fitted((-1.0, 1.0), True, fits=(2, 1))
    assert results["weights"].shape == (3, 2)
    assert len(np.unique(results["weights"][:, 1])) == 3
