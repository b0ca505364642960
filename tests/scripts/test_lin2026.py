"""The published comparison of Lin et al. 2026: fits of dpbench's mechanisms, and the page."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from script_loader import load_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("lin2026")


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "results" / "lin2026.md").read_text(encoding="utf-8")


def test_bounds_without_an_intercept_keep_a_line_through_the_origin(script: ModuleType) -> None:
    setting = script.load("D6")
    exact = setting.error(np.linalg.lstsq(setting.x, setting.y, rcond=None)[0])
    assert script.errors(setting, "no_privacy", {}, False, 1)[0] == pytest.approx(exact, rel=1e-3)
    assert script.errors(setting, "no_privacy", {}, True, 1)[0] == pytest.approx(0.01549, abs=6e-6)


def test_the_page_has_the_tables_that_the_script_makes(script: ModuleType, page: str) -> None:
    assert script.least_squares_table([script.load(key) for key in script.SETTINGS]) in page
    assert "python scripts/lin2026.py" in page
