"""Made-up tables that are hard for a fit: few rows, columns that depend on each other, one-hot groups."""

import zlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpbench.contracts.model import Model
from dpbench.data.geometry import Scaling
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Column, Table

ROWS = 120
COLUMNS = 4

DESIGNS: tuple[str, ...] = (
    *("regular", "one column", "two rows", "fewer rows than columns"),
    *("duplicate column", "constant column", "zero column", "constant target"),
    *("one-hot group", "two one-hot groups"),
)
"""The kinds of tables."""
SHAPES = {"one column": (ROWS, 1), "two rows": (2, 1), "fewer rows than columns": (7, 11)}
"""Rows and numeric columns, where they are not the usual ones."""
GROUPS: dict[str, tuple[int, ...]] = {"one-hot group": (4,), "two one-hot groups": (3, 2)}
"""The numbers of levels of one-hot groups."""


def design_table(design: str) -> Table:
    """Return the table of a design: features in [-1, 1] and a target in [-1, 1], always the same ones."""
    generator = np.random.default_rng(zlib.crc32(design.encode()))
    rows, numeric = SHAPES.get(design, (ROWS, COLUMNS))
    x = generator.uniform(-1, 1, (rows, numeric))
    if design == "duplicate column":
        x[:, 3] = x[:, 1]
    if design in ("constant column", "zero column"):
        x[:, 2] = float(design == "constant column")
    groups = GROUPS.get(design, ())
    levels = [np.eye(size)[generator.integers(size, size=rows)] for size in groups]
    y = np.tanh(x @ generator.normal(size=numeric)) + 0.2 * generator.normal(size=rows)
    y = np.full(rows, 0.5) if design == "constant target" else np.clip(y, -1, 1)
    columns = [Column(f"x{index}", -1, 1) for index in range(numeric)]
    columns += [
        Column(f"group{number}_{level}", 0, 1, group=f"group{number}")
        for number, size in enumerate(groups)
        for level in range(size)
    ]
    return Table(tuple(columns), Column("y", -1, 1), np.column_stack([x, *levels]), y, sensitive=("x0",), threshold=0.0)


def design_rows(design: str, model: Model, scaling: Scaling = "box") -> Rows:
    """Return the scaled rows of a design, for a model's intercept and target."""
    return scale(design_table(design), scaling, model.intercept, model.target)


def every_design(model: Model) -> Iterator[tuple[str, Model, Rows]]:
    """Yield all designs in the box and in the ball, with an intercept and without: what they are, the model, and the rows."""
    for intercept in (True, False):
        variant = replace(model, intercept=intercept)
        for scaling in ("box", "ball"):
            for design in DESIGNS:
                what = f"{design}, {scaling} scaling, {'an' if intercept else 'no'} intercept"
                yield what, variant, design_rows(design, variant, scaling)
