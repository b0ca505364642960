"""The geometry knows which coefficients belong to an attribute, and stays consistent without some attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry


@pytest.fixture
def people(geometry) -> Geometry:
    """Age, a one-hot group of three jobs, hours; with an intercept."""
    plain = geometry(1, (3,), True)
    return replace(
        plain,
        columns=("age", "clerk", "farmer", "nurse", "hours"),
        groups=((1, 2, 3),),
        attributes=("age", "job", "job", "job", "hours"),
        sensitive=("job", "age"),
        levels=(0, 2, 2, 2, 100),
    )


def test_coefficients_are_counted_and_named_with_the_intercept_first(people) -> None:
    assert (people.features, people.dimension, people.numeric) == (5, 6, 2)
    assert people.names == ("intercept", "age", "clerk", "farmer", "nurse", "hours")
    assert replace(people, intercept=False).dimension == 5


def test_the_positions_of_an_attribute_are_those_of_its_columns_behind_the_intercept(people) -> None:
    assert people.positions("age") == (1,)
    assert people.positions("job") == (2, 3, 4)
    assert replace(people, intercept=False).positions("job") == (1, 2, 3)
    assert replace(people, attributes=()).positions("nurse") == (4,), "without attributes every column is its own"


def test_without_an_attribute_groups_levels_and_sensitive_attributes_follow(people) -> None:
    rest = people.without(["age"])
    assert rest.columns == ("clerk", "farmer", "nurse", "hours")
    assert rest.groups == ((0, 1, 2),)
    assert rest.attributes == ("job", "job", "job", "hours")
    assert rest.sensitive == ("job",)
    assert rest.levels == (2, 2, 2, 100)
    assert people.without(["job"]).groups == ()
    assert people.without([]) is people
    assert people.columns_without(["job"]) == [0, 4]


def test_numeric_columns_of_the_corner_share_the_unit_ball_and_keep_their_range_without_some_of_them(geometry) -> None:
    """[0, 1/√d], where d counts the columns of the whole table."""
    corner = geometry(9, scaling="corner")
    assert corner.value_range == (0.0, 1 / 3)
    rest = corner.without(["x0", "x4"]).without(["x8"])
    assert (rest.features, rest.table_features, rest.value_range) == (6, 9, (0.0, 1 / 3))
    np.testing.assert_allclose(rest.from_box(np.array([-1.0, 0.0, 1.0])), [0, 1 / 6, 1 / 3])
    for scaling in ("box", "ball"):
        plain = geometry(9, scaling=scaling).without(["x0"])
        assert plain.value_range == (-1.0, 1.0)
        np.testing.assert_array_equal(plain.from_box(np.array([-1.0, 0.3])), [-1.0, 0.3])


@pytest.mark.parametrize("wrong", [{"intercept": True}, {"groups": (2,)}])
def test_the_corner_has_neither_an_intercept_nor_one_hot_groups(wrong, geometry) -> None:
    with pytest.raises(ValueError, match="neither an intercept nor one-hot groups"):
        geometry(2, scaling="corner", **wrong)


def test_an_unknown_attribute_is_refused_with_the_near_names(people) -> None:
    for request in (people.positions, lambda name: people.without([name]), lambda name: people.columns_without([name])):
        with pytest.raises(Refused, match=r"no attribute named 'jobb'\. Did you mean job"):
            request("jobb")
