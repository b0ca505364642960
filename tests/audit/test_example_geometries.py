"""The designs on which a mechanism is audited when no dataset is named."""

from __future__ import annotations

import pytest

from dpbench.audit.example_geometries import describe_geometry, example_geometries, example_geometry


def test_there_are_two_shapes_in_the_box_and_in_the_ball(make) -> None:
    assert [describe_geometry(geometry) for geometry in example_geometries(make("model", "linear"))] == [
        "1 numeric column, box, an intercept, D = 2",
        "2 numeric columns and 1 one-hot group, box, an intercept, D = 6",
        "1 numeric column, ball, an intercept, D = 2",
        "2 numeric columns and 1 one-hot group, ball, an intercept, D = 6",
    ]


def test_a_row_of_the_ball_shares_the_norm_with_the_intercept_and_the_first_attribute_is_sensitive(make) -> None:
    geometry = example_geometry(make("model", "linear"), 2, 3, "ball")
    assert geometry.constant == pytest.approx(4**-0.5), "two columns, a group and the intercept"
    assert example_geometry(make("model", "linear", intercept=False), 2, 3, "ball").constant == 1.0
    assert geometry.sensitive == ("x0",)
    assert geometry.attributes == ("x0", "x1", "group", "group", "group")
    assert geometry.groups == ((2, 3, 4),)
    assert geometry.target == "real"
    assert example_geometry(make("model", "logistic"), 1).target == "binary"
