"""An attribute's candidate values, and which of them each row has."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Column, Table
from dpbench.plugins.attacks._attribute import Attribute


@pytest.fixture(params=["box", "ball"])
def people(request: pytest.FixtureRequest) -> Rows:
    """Rows with a continuous column, a declared count from 0 to 3, and a group of two levels in which a row may have none."""
    columns = (
        Column("height", 0, 8),
        Column("children", 0, 3, kind="integer"),
        Column("job_a", 0, 1, group="job"),
        Column("job_b", 0, 1, group="job"),
    )
    features = np.array([[0.0, 0, 1, 0], [0.9, 1, 0, 1], [4.1, 2, 0, 0], [8.0, 3, 1, 0]])
    return scale(Table(columns, Column("y", 0, 1), features, np.array([0.0, 1, 0, 1])), request.param, True, "real")


def test_a_group_has_its_levels_and_no_level(people: Rows) -> None:
    job = Attribute.of("job", people.geometry, bins=16)
    assert job.one_hot
    assert job.candidates(people).tolist() == [1, 2, 0, 1]


def test_a_column_with_few_declared_values_has_these_values(people: Rows) -> None:
    children = Attribute.of("children", people.geometry, bins=16)
    assert children.declared
    assert children.candidates(people).tolist() == [0, 1, 2, 3]


def test_a_column_with_more_declared_values_than_bins_is_binned(people: Rows) -> None:
    children = Attribute.of("children", people.geometry, bins=2)
    assert not children.declared
    assert children.candidates(people).tolist() == [0, 0, 1, 1]


def test_a_continuous_column_has_equal_bins_and_their_middles(people: Rows) -> None:
    height = Attribute.of("height", people.geometry, bins=8)
    assert height.candidates(people).tolist() == [0, 0, 4, 7], "the upper bound belongs to the last bin"
    np.testing.assert_allclose((height.values[:, 0] - height.middle) / height.half_range, np.arange(-7, 8, 2) / 8)


@pytest.mark.parametrize("bins", [8, 16])
def test_in_the_corner_the_candidates_are_values_of_the_corner(bins: int) -> None:
    columns = (Column("height", 0, 8), Column("children", 0, 3, kind="integer"))
    features = np.array([[0.0, 0], [0.9, 1], [4.1, 2], [8.0, 3]])
    people = scale(Table(columns, Column("y", 0, 1), features, np.zeros(4)), "corner", False, "real")
    children, height = (Attribute.of(name, people.geometry, bins) for name in ("children", "height"))
    assert children.candidates(people).tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(children.values[:, 0], np.arange(4) / 3 / np.sqrt(2))
    np.testing.assert_allclose(height.values[:, 0], (np.arange(bins) + 0.5) / bins / np.sqrt(2))
    assert height.candidates(people).tolist() == [0, int(0.9 / 8 * bins), bins // 2, bins - 1]


@pytest.mark.parametrize("name", ["children", "job"])
def test_the_candidate_of_a_row_has_the_values_of_the_row(name: str, people: Rows) -> None:
    attribute = Attribute.of(name, people.geometry, bins=16)
    values = attribute.values[attribute.candidates(people)]
    np.testing.assert_allclose(values, people.z[:, 1 + attribute.features], atol=2.0**-15)
