"""How far a row can move the coefficients of an objective: the suprema that docs/sensitivities.md derives.

The objective's curvature and slope are divided by the scales of its quadratic and linear coefficients, and column j is
multiplied with ``columns[..., j]``. ``triangle``: products of two columns count once (the upper triangle of M) and not twice.
"""

from __future__ import annotations

import math

import numpy as np

from dpbench.data.geometry import Geometry

Array = np.ndarray


def supremum(geometry: Geometry, triangle: bool, curvature: float, slope: float, columns: Array) -> Array:
    """Return the supremum for one row that is replaced, or that is missing on one side where persons have several."""
    bound = {"box": box, "ball": ball, "corner": corner}[geometry.scaling]
    return bound(geometry, triangle, curvature, slope, columns)


def box(geometry: Geometry, triangle: bool, curvature: float, slope: float, columns: Array) -> Array:
    """Return the supremum in the box.

    With u = (z + z')/2, v = (z - z')/2, |u_j| + |v_j| <= q_j, every change is 2(u_j v_l + v_j u_l). It depends on
    p = sum |u_j| over the m numeric columns. With P = sum q_j over them, and c the intercept's factor, products of
    different columns give 2(UV - sum u_j v_j), each counted ``twice`` or once, squares give 4 sum u_j v_j, the linear part
    2 slope max(U, V), where U = p + c and V = P - p, and sum u_j v_j is at most sum q_j² / 4 - (p - P/2)² / m. The whole is
    concave in p on either side of U = V.
    """
    twice = 1.0 if triangle else 2.0
    g = geometry if geometry.public_count else geometry.with_private_intercept()
    features, constant = columns[..., g.intercept :], columns[..., : g.intercept].sum(axis=-1)
    numeric = np.delete(features, [member for members in g.groups for member in members], axis=-1)
    m, total, squared = max(g.numeric, 1), numeric.sum(axis=-1), np.square(numeric).sum(axis=-1)

    def change(p: Array) -> Array:
        u, v = p + constant, total - p
        overlap = squared / 4 - np.square(p - total / 2) / m
        return np.asarray(curvature * (2 * twice * u * v + (4 - 2 * twice) * overlap) + 2 * slope * np.maximum(u, v))

    # candidates for the maximum: the stationary points of both branches, the point where they meet, and the ends
    bend = 2 * (twice + (2 - twice) / m)
    middle = twice * (total - constant) + (2 - twice) * total / m
    turns = [(middle + slope / curvature) / bend, (middle - slope / curvature) / bend, (total - constant) / 2]
    numeric_part = np.max([change(np.clip(p, 0, total)) for p in (*turns, 0 * total, total)], axis=0)
    # one-hot columns hold 0 or 1, with a single 1 in each group: a change of level moves two columns
    level = np.stack([features[..., members].max(axis=-1) for members in g.groups], axis=-1) if g.groups else np.zeros(1)
    groups, squares = level.sum(axis=-1), np.square(level).sum(axis=-1)
    across = 2 * twice * groups * (total + constant)
    within = 2 * squares + twice * (groups**2 - squares)
    return np.asarray(numeric_part + curvature * (across + within) + 2 * slope * groups)


def corner(geometry: Geometry, triangle: bool, curvature: float, slope: float, columns: Array) -> Array:
    """Return the supremum in the corner: the box's, of columns multiplied with the corner's side.

    The rows are among those of that box, and a pair that attains its supremum without an intercept has no negative value:
    the larger of U and V may be taken to be U, so p >= P/2, and x' = 2u - q >= 0 where x = q.
    """
    return box(geometry, triangle, curvature, slope, columns * geometry.value_range[1])


def ball(geometry: Geometry, triangle: bool, curvature: float, slope: float, columns: Array) -> Array:
    """Return a bound on the supremum in the ball, by Cauchy-Schwarz for each block.

    It is the maximum over c = <x, x'> of curvature · ‖q‖² sqrt(2(1 - c²)) + slope · ‖q‖ sqrt(2(1 + c)). With c = 1 - 2t² that
    is sqrt(1 - t²) (2at + b), whose maximum solves 4a t² + b t = 2a.
    """
    squared = np.square(columns).sum(axis=-1)
    # the upper triangle alone counts half of the off-diagonal, and all of the diagonal (at most 2)
    part, rest = (0.5, np.square(columns).max(axis=-1, initial=0.0)) if triangle else (1.0, 0.0)
    a, b = curvature * part * np.sqrt(2) * squared, 2 * slope * np.sqrt(squared)
    t = 4 * a / np.maximum(b + np.sqrt(b * b + 32 * a * a), np.finfo(float).tiny)
    return np.asarray((np.sqrt(1 - t * t) * (2 * a * t + b) + curvature * rest) * (1 + 1e-12))


def free_square_scale(geometry: Geometry, quadratic: float, linear: float) -> float:
    """Return the least scale known at which y'y costs nothing, for the squared error in the box.

    It is b_l / (G + min(s, b_q/b_l)), where s counts numeric columns and the intercept, and G one-hot groups.
    """
    columns, groups = geometry.numeric + geometry.intercept, len(geometry.groups)
    if not columns + groups:
        return math.inf
    return linear / (groups + min(columns, quadratic / linear))
