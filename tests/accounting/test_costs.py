"""Costs are recorded with their currency."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpbench.accounting.costs import Approx, Gdp, Nothing, Pure, Zcdp, noise_costs
from dpbench.privacy.noise import concentrated, gaussian, geometric, laplace


@pytest.mark.parametrize("cost", [Pure(1.0), Zcdp(0.5), Gdp(0.3), Approx(1.0, 1e-7), Nothing()])
def test_every_currency_is_written_with_its_kind(cost) -> None:
    assert cost.as_dict()["kind"] in ("pure", "zcdp", "gdp", "approx", "none")
    json.dumps(cost.as_dict(), allow_nan=False)


@pytest.mark.parametrize("make", [laplace, geometric, gaussian, concentrated])
def test_the_costs_of_a_law_include_that_of_its_noise_and_none_below_it(make) -> None:
    noise = make(2, 0.3, "p")
    costs = noise_costs(noise.law.name, float(noise.bound))
    assert noise.cost in costs
    assert replace(noise, bound=noise.bound / 2).cost not in costs
    assert noise_costs("another law", 0.3) == ()
