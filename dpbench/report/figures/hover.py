"""The points of a figure that show their values under the pointer."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes


@dataclass(frozen=True)
class Mark:
    """A point of a figure and its values in words; its place is a share of the figure's width and height, from the top left."""

    left: float
    top: float
    text: str


def mark(axes: Axes, x: float, y: float, text: str) -> Mark | None:
    """Return the mark of a point of a finished figure; None if it is not on the axes."""
    across, up = axes.transData.transform((x, y))
    if not (math.isfinite(across) and math.isfinite(up) and axes.bbox.contains(across, up)):
        return None
    _, _, width, height = axes.figure.bbox.bounds
    return Mark(across / width, 1 - up / height, text)


def marks(points: Iterable[tuple[Axes, float, float, str]]) -> tuple[Mark, ...]:
    """Return the marks of the points that are on their axes."""
    return tuple(found for point in points if (found := mark(*point)) is not None)
