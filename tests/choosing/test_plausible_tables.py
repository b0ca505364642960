"""Plausible tables agree with the public facts, and depend on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.choosing.plausible_tables import plausible_tables, scenarios
from dpbench.choosing.public_facts import PublicFacts

from .conftest import public_facts


@pytest.mark.slow
def test_every_table_has_the_known_means_and_spreads(facts: PublicFacts) -> None:
    """Six standard errors of a mean of 20,000 rows; a target that is clipped at its bounds may lose some of its spread."""
    for table in plausible_tables(facts, 10_000):
        z = np.concatenate([table.train.z, table.test.z])
        age, tall, f, m, wage = z[:, 1:].T
        assert 44 + 26 * age.mean() == pytest.approx(40, abs=0.5)
        assert 26 * age.std() == pytest.approx(10, rel=0.05)
        assert 0.5 * tall.std() == pytest.approx(0.1, rel=0.05)
        assert f.mean() == pytest.approx(0.6, abs=0.02)
        assert np.array_equal(f + m, np.ones(len(z)))
        assert 50 + 50 * wage.mean() == pytest.approx(30, abs=0.6)
        assert np.abs(z[:, 1:]).max() <= 1


@pytest.mark.slow
def test_the_fit_explains_what_the_scenario_says(facts: PublicFacts) -> None:
    for table in plausible_tables(facts, 10_000):
        x, y = table.train.x, table.train.y
        residuals = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        assert 1 - residuals.var() / y.var() == pytest.approx(table.scenario.r_squared, abs=0.05)


def test_another_unit_with_its_bounds_gives_the_same_rows(columns: dict[str, Any], facts: PublicFacts) -> None:
    other = {name: {**column, "unit": "other"} for name, column in columns.items() if "levels" not in column}
    for column, unit in zip(other.values(), (365.25, 39.37, 0.92), strict=True):
        column |= {key: column[key] * unit for key in ("low", "high", "typical", "spread")}
    changed = public_facts({"age": other["age"], "tall": other["tall"], "sex": columns["sex"], "wage": other["wage"]})
    for one, two in zip(plausible_tables(facts, 100), plausible_tables(changed, 100), strict=True):
        np.testing.assert_allclose(one.train.z, two.train.z, rtol=0, atol=2**-15)


def test_whole_numbers_stay_whole_and_unknown_columns_differ_between_tables() -> None:
    facts = public_facts({"count": {"low": 0, "high": 4, "kind": "integer"}, "wage": [0, 1]})
    tables = list(plausible_tables(facts, 200))
    assert len(tables) == len(scenarios(facts))
    assert {float(value) for table in tables for value in table.train.z[:, 1]} <= {-1, -0.5, 0, 0.5, 1}
    assert len({round(float(table.train.z[:, 1].mean()), 3) for table in tables}) > len(tables) // 2


@pytest.mark.parametrize("model", ["logistic"])
def test_a_target_with_two_levels_has_their_shares(columns: dict[str, Any], model: str) -> None:
    for table in plausible_tables(public_facts(columns, "sex", model), 1000):
        classes = np.concatenate([table.train.y, table.test.y])
        assert set(classes) == {0.0, 1.0}
        assert classes.mean() == pytest.approx(0.4, abs=0.01)
