"""Small tables: the geometries on which a mechanism is audited when no dataset is named."""

from __future__ import annotations

from itertools import product

from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry, Scaling

SHAPES: tuple[tuple[int, int], ...] = ((1, 0), (2, 3))
"""Numeric columns, and the size of a one-hot group."""


def geometries(model: Model) -> list[Geometry]:
    """One column alone, and two beside a one-hot group, in the box and in the ball; the first attribute counts as sensitive."""
    scalings: tuple[Scaling, ...] = ("box", "ball")
    return [geometry(model, numeric, group, scaling) for scaling, (numeric, group) in product(scalings, SHAPES)]


def geometry(model: Model, numeric: int, group: int = 0, scaling: Scaling = "box") -> Geometry:
    """The geometry of so many numeric columns and one group of so many levels."""
    columns = tuple(f"x{index}" for index in range(numeric)) + tuple(f"level{index}" for index in range(group))
    members = (tuple(range(numeric, numeric + group)),) if group else ()
    parts = numeric + len(members) + model.intercept
    constant = parts**-0.5 if scaling == "ball" and model.intercept else 1.0
    attributes = columns[:numeric] + ("group",) * group
    return Geometry(
        columns, members, model.intercept, scaling, model.target, constant, attributes=attributes, sensitive=columns[:1]
    )


def described(geometry: Geometry) -> str:
    """A geometry in a few words."""
    groups = "" if not geometry.groups else f" and {len(geometry.groups)} one-hot group{'s' * (len(geometry.groups) > 1)}"
    numeric = f"{geometry.numeric} numeric column{'s' * (geometry.numeric != 1)}{groups}"
    return f"{numeric}, {geometry.scaling}, {'an intercept' if geometry.intercept else 'no intercept'}, D = {geometry.dimension}"
