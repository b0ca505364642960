"""The script that measures costs tells what a cell costs from what each run adds, and has measured all that ships."""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.registry.lookup import registry

ROOT = Path(__file__).parents[2]
OUTSIDE = {"diffprivlib", "opendp_theil_sen"}
"""Mechanisms that need a program in an environment of its own."""


@pytest.fixture(scope="module")
def costs() -> ModuleType:
    return load_script("costs")


def test_what_a_cell_costs_is_told_from_what_each_run_adds(costs: ModuleType) -> None:
    few, many = (repeats * costs.FOLDS for repeats in costs.REPEATS)
    assert costs.linear([3 + 0.2 * few, 3 + 0.2 * many]) == pytest.approx((3, 0.2))


def test_more_runs_never_make_a_cell_cheaper(costs: ModuleType) -> None:
    assert costs.linear([3.0, 2.0]) == (3.0, 0.0)


def test_a_cell_that_was_measured_once_takes_all_of_its_time_for_its_runs(costs: ModuleType) -> None:
    assert costs.linear([30.0]) == pytest.approx((0.0, 30.0 / (costs.REPEATS[0] * costs.FOLDS)))


@pytest.mark.parametrize("piece", ["cell", "audit"])
def test_every_mechanism_that_ships_was_measured(costs: ModuleType, piece: str) -> None:
    """`python scripts/costs.py` measures a new one."""
    with costs.PRIORS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    known = registry()
    shipped = {name for name in known.names("mechanism") if known.version_of(known.get("mechanism", name)).startswith("dp-reg")}
    assert shipped - OUTSIDE <= {row["name"] for row in rows if row["what"] == piece}
    assert set(known.names("model")) <= {row["model"] for row in rows if row["what"] == piece}
