"""The published comparison of Lin et al. 2026: least squares to the printed digits, and their program as the re-run found it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("lin2026_script", ROOT / "scripts" / "lin2026.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lin2026_script"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["lin2026_script"]


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "results" / "lin2026.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", ["D4", "D6", "D7", "D8"])
def test_least_squares_rounds_to_the_printed_digits(script: ModuleType, key: str) -> None:
    setting = script.load(key)
    assert setting.x.shape == (setting.facts["n"], setting.facts["d"])
    error = setting.error(np.linalg.lstsq(setting.x, setting.y, rcond=None)[0])
    assert f"{error:.3f}" == f"{setting.facts['paper']['ols']:.3f}"
    assert error == pytest.approx(setting.facts["rerun"]["ols"], abs=5.1e-6)


@pytest.mark.parametrize("key", ["D4", "D5", "D6", "D7", "D8"])
def test_the_program_is_within_two_standard_errors_of_the_rerun(script: ModuleType, key: str) -> None:
    setting, known = script.load(key), script.table2()["datasets"][key]["rerun"]["binagg"]
    errors = script.program_errors(setting, min(known["repeats"], 30))
    spread = known["std"] * np.sqrt(1 / len(errors) + 1 / known["repeats"])
    assert abs(errors.mean() - known["mean"]) < 2 * spread
    if len(errors) == known["repeats"]:  # the same seeds
        assert errors.mean() == pytest.approx(known["mean"], abs=1.1e-5)


@pytest.mark.parametrize(("key", "removed"), [("D2", 1.61), ("D4", 1.97), ("D6", 2.13), ("D5", 2.73), ("D8", 3.06)])
def test_a_run_of_the_program_costs_more_than_it_is_called(script: ModuleType, key: str, removed: float) -> None:
    one, two = script.program_costs(script.load(key))
    assert one == pytest.approx(removed, abs=0.005)
    assert one * 1.4 < two < one * 2


def test_bounds_without_an_intercept_keep_a_line_through_the_origin(script: ModuleType) -> None:
    setting = script.load("D6")
    exact = setting.error(np.linalg.lstsq(setting.x, setting.y, rcond=None)[0])
    assert script.errors(setting, "no_privacy", {}, False, 1)[0] == pytest.approx(exact, rel=1e-3)
    assert script.errors(setting, "no_privacy", {}, True, 1)[0] == pytest.approx(0.01549, abs=6e-6)


def test_the_page_has_the_tables_that_the_script_makes(script: ModuleType, page: str) -> None:
    assert script.least_squares_table([script.load(key) for key in script.SETTINGS]) in page
    assert "python scripts/lin2026.py" in page
