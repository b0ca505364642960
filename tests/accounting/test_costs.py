"""Costs are recorded with their currency, and the lines of a ledger in one order with the scales of all runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpbench.accounting.costs import Approx, Gdp, LedgerEntry, Nothing, Pure, Zcdp, noise_cost
from dpbench.privacy.noise import gaussian, geometric, laplace


@pytest.mark.parametrize("cost", [Pure(1.0), Zcdp(0.5), Gdp(0.3), Approx(1.0, 1e-7), Nothing()])
def test_every_currency_is_written_with_its_kind(cost) -> None:
    assert cost.as_dict()["kind"] in ("pure", "zcdp", "gdp", "approx", "none")
    json.dumps(cost.as_dict(), allow_nan=False)


@pytest.mark.parametrize("make", [laplace, geometric, gaussian])
def test_the_cost_of_a_law_is_that_of_its_noise_and_of_no_other_bound(make) -> None:
    noise = make(2, 0.3, "p")
    assert noise.cost == noise_cost(noise.law.name, 0.3)
    assert replace(noise, bound=0.15).cost != noise_cost(noise.law.name, 0.3)
    assert noise_cost("another law", 0.3) is None


def test_an_entry_is_recorded_with_the_query_then_its_noise_then_its_price() -> None:
    assert list(laplace(3.0, 0.5, "why").ledger_entry("q").as_dict().items()) == [
        ("query", "q"),
        ("norm", "L1"),
        ("sensitivity", 3.0),
        ("bound", 0.5),
        ("noise", "laplace"),
        ("scale", 6.0),
        ("cost", {"kind": "pure", "epsilon": 0.5}),
        ("sound", True),
        ("proof", "why"),
    ]


def test_entries_of_one_call_are_merged_into_the_range_of_their_scales() -> None:
    small, large = (laplace(scale, 1.0, "p").ledger_entry("q") for scale in (1.0, 4.0))
    assert small.merged(small) is small
    for merged in (small.merged(large), large.merged(small)):
        assert merged.as_dict()["scale"] == {"smallest": 1.0, "largest": 4.0}
        assert merged.sensitivity is None
    unknown = LedgerEntry("q", Nothing(), False, "none")
    assert unknown.merged(large) == unknown
    assert unknown.as_dict()["scale"] is None
