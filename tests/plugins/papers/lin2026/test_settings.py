"""Their data: least squares agrees with the published table to all printed digits."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.plugins.papers.lin2026.settings import load


@pytest.mark.parametrize("key", ["D4", "D6", "D7", "D8"])
def test_least_squares_rounds_to_the_printed_digits(key: str) -> None:
    setting = load(key)
    assert setting.x.shape == (setting.facts["n"], setting.facts["d"])
    error = setting.error(np.linalg.lstsq(setting.x, setting.y, rcond=None)[0])
    assert f"{error:.3f}" == f"{setting.facts['paper']['ols']:.3f}"
    assert error == pytest.approx(setting.facts["rerun"]["ols"], abs=5.1e-6)
