"""The geometry knows which coefficients belong to an attribute, and stays consistent without some attributes."""

from __future__ import annotations

from dataclasses import replace

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
    assert people.without([]) == people
    assert people.columns_without(["job"]) == [0, 4]


def test_an_unknown_attribute_is_refused_with_the_near_names(people) -> None:
    for request in (people.positions, lambda name: people.without([name]), lambda name: people.columns_without([name])):
        with pytest.raises(Refused, match=r"no attribute named 'jobb'\. Did you mean job"):
            request("jobb")
