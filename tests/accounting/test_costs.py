"""Costs are recorded with their currency."""

from __future__ import annotations

import json

import pytest

from dpbench.accounting.costs import Approx, Gdp, Nothing, Pure, Zcdp


@pytest.mark.parametrize("cost", [Pure(1.0), Zcdp(0.5), Gdp(0.3), Approx(1.0, 1e-7), Nothing()])
def test_every_currency_is_written_with_its_kind(cost) -> None:
    assert cost.as_dict()["kind"] in ("pure", "zcdp", "gdp", "approx", "none")
    json.dumps(cost.as_dict(), allow_nan=False)
