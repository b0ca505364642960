"""A table of three columns, of which something is publicly known."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.choosing.error_curves import Simulation
from dpbench.choosing.public_facts import PublicFacts, facts_of
from dpbench.files.bounds_file import parse_bounds
from dpbench.registry.lookup import build

COLUMNS: dict[str, Any] = {
    "age": {"low": 18, "high": 70, "typical": 40, "spread": 10},
    "tall": {"low": 1, "high": 2, "typical": 1.7, "spread": 0.1},
    "sex": {"levels": ["f", "m"], "shares": [0.6, 0.4]},
    "wage": {"low": 0, "high": 100, "unit": "USD", "typical": 30, "spread": 10},
}


def public_facts(columns: dict[str, Any], target: str = "wage", model: str = "linear") -> PublicFacts:
    return facts_of(parse_bounds(columns, "mine"), target, build("model", {"name": model}), (0.2, 0.9))


@pytest.fixture(scope="session")
def columns() -> dict[str, Any]:
    return {name: dict(column) for name, column in COLUMNS.items()}


@pytest.fixture(scope="session")
def facts() -> PublicFacts:
    return public_facts(COLUMNS)


@pytest.fixture(scope="session")
def simulation(facts: PublicFacts) -> Simulation:
    return Simulation(facts)


@pytest.fixture(scope="session")
def classes() -> PublicFacts:
    return public_facts(COLUMNS, "sex", "logistic")
