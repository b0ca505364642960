"""The hard tables are what their names say, in every scaling."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.testing.designs import DESIGNS, design_rows, design_table, every_design


@pytest.mark.parametrize("design", DESIGNS)
def test_a_design_is_the_same_whenever_it_is_made(design: str) -> None:
    np.testing.assert_array_equal(design_table(design).features, design_table(design).features)


def test_designs_are_what_they_are_called(make) -> None:
    model = make("model", "linear")
    assert design_rows("two rows", model).n == 2
    wide = design_rows("fewer rows than columns", model)
    assert wide.n < wide.geometry.features
    assert np.ptp(design_rows("constant target", model).y) == 0
    assert len(design_rows("two one-hot groups", model).geometry.groups) == 2
    x = design_rows("duplicate column", model).x
    np.testing.assert_array_equal(x[:, 2], x[:, 4])


def test_every_design_is_scaled_in_both_ways_with_and_without_an_intercept(make) -> None:
    rows = [rows.geometry for _, _, rows in every_design(make("model", "logistic"))]
    assert len(rows) == 4 * len(DESIGNS)
    assert {(geometry.scaling, geometry.intercept) for geometry in rows} == {
        (scaling, intercept) for scaling in ("box", "ball") for intercept in (True, False)
    }
