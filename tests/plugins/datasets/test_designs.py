"""The designs by name: each is a simulated table, and the hold-out of the study leaves what its name says."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.splits import Splits
from dpbench.registry.lookup import build, registry

NAMES = [options["design"] for options in registry().get("dataset", "designs").variants()]
SPLITS = Splits(scheme="holdout", test_fraction=0.047619047619)


@pytest.mark.parametrize("name", NAMES)
def test_every_design_has_known_coefficients_and_the_rows_that_its_name_says(name) -> None:
    design = build("dataset", {"name": "designs", "design": name})
    table = design.select(np.random.default_rng(0))
    assert table.coefficients is not None
    assert len(table.coefficients) == len(table.columns) + 1
    trained = int(SPLITS.sizes(table.rows)[1])
    small = {"n500_d5": 500, "lin2026_e1": 2_000}
    assert trained == (2_000 if name.startswith("n2000_") else small.get(name, 20_000))
    assert design.display_name == name
    assert design.redrawn()


def test_the_dimension_of_a_design_is_in_its_name() -> None:
    widths = {
        name: len(build("dataset", {"name": "designs", "design": name}).select(np.random.default_rng(0)).columns)
        for name in NAMES
    }
    for name in [name for name in NAMES if "_d" in name]:
        assert widths[name] == int(name.partition("_d")[2])
    assert widths["lin2026_e1"] == 3


def test_an_unknown_design_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Refused, match="heteroscedastic"):
        build("dataset", {"name": "designs", "design": "heteroskedastic"})
