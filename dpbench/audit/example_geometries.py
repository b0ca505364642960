"""Example geometries: the small designs on which a mechanism is audited when no dataset is named."""

from __future__ import annotations

from itertools import product

from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry, Scaling

SHAPES: tuple[tuple[int, int], ...] = ((1, 0), (2, 3))
"""Numeric columns, and the levels of a one-hot group."""


def example_geometries(model: Model) -> list[Geometry]:
    """Return one column alone, and two with a one-hot group, in the box and in the ball."""
    scalings: tuple[Scaling, ...] = ("box", "ball")
    return [example_geometry(model, numeric, levels, scaling) for scaling, (numeric, levels) in product(scalings, SHAPES)]


def example_geometry(model: Model, numeric: int, levels: int = 0, scaling: Scaling = "box") -> Geometry:
    """Return the geometry of this many numeric columns and a group of this many levels. The first attribute is sensitive."""
    columns = tuple(f"x{index}" for index in range(numeric)) + tuple(f"level{index}" for index in range(levels))
    groups = (tuple(range(numeric, numeric + levels)),) if levels else ()
    parts = numeric + len(groups) + model.intercept
    constant = parts**-0.5 if scaling == "ball" and model.intercept else 1.0
    attributes = columns[:numeric] + ("group",) * levels
    return Geometry(
        columns, groups, model.intercept, scaling, model.target, constant, attributes=attributes, sensitive=columns[:1]
    )


def describe_geometry(geometry: Geometry) -> str:
    """Describe a geometry in a few words."""
    groups = "" if not geometry.groups else f" and {len(geometry.groups)} one-hot group{'s' * (len(geometry.groups) > 1)}"
    numeric = f"{geometry.numeric} numeric column{'s' * (geometry.numeric != 1)}{groups}"
    return f"{numeric}, {geometry.scaling}, {'an intercept' if geometry.intercept else 'no intercept'}, D = {geometry.dimension}"
