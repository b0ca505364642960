"""Their program: its errors are those of an independent re-run, and a fit costs more than it is called."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.plugins.papers.lin2026.public_program import program, program_costs
from dpbench.plugins.papers.lin2026.settings import load, table2


@pytest.mark.parametrize("key", ["D4", "D5", "D6", "D7", "D8"])
def test_the_program_is_within_two_standard_errors_of_the_rerun(key: str) -> None:
    setting, known = load(key), table2()["datasets"][key]["rerun"]["binagg"]
    repeats = min(known["repeats"], 30)
    errors = np.array([setting.error(program(setting, seed).weights) for seed in range(repeats)])
    spread = known["std"] * np.sqrt(1 / len(errors) + 1 / known["repeats"])
    assert abs(errors.mean() - known["mean"]) < 2 * spread
    if len(errors) == known["repeats"]:  # the same seeds
        assert errors.mean() == pytest.approx(known["mean"], abs=1.1e-5)


@pytest.mark.parametrize(("key", "removed"), [("D2", 1.61), ("D4", 1.97), ("D6", 2.13), ("D5", 2.73), ("D8", 3.06)])
def test_a_run_of_the_program_costs_more_than_it_is_called(key: str, removed: float) -> None:
    one, two = program_costs(load(key))
    assert one == pytest.approx(removed, abs=0.005)
    assert one * 1.4 < two < one * 2
