"""Neighbours: pairs of rows of a geometry, and small tables that differ in one of them. Nobody's rows: made from public facts.

A pair is (first, second); a table is a few filling rows and one of the two. There are the pairs that attain the proven bounds
(equal features against equal features), corners, one-hot changes, random ones, and those that a local search makes worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows

Array = np.ndarray
Move = Callable[[Rows, Rows], Array]
"""How far each pair of rows moves an answer, in units of what is declared."""

INSIDE = 1 - 1e-15
"""Keeps the rounding of norms within the ball."""
STEPS = 13
"""Values of the equal features that the attaining pairs are tried with."""


@dataclass(frozen=True)
class Pairs:
    """Rows and their replacements, and where each pair came from."""

    first: Rows
    second: Rows
    origin: tuple[str, ...]

    @property
    def count(self) -> int:
        return self.first.n

    def take(self, index: Array) -> Pairs:
        return Pairs(self.first.take(index), self.second.take(index), tuple(self.origin[at] for at in index))

    def tables(self, filling: Rows) -> tuple[list[Rows], list[Rows]]:
        """For each pair the two tables: the filling rows, then the first or the second row."""
        return _tables(filling, self.first), _tables(filling, self.second)


def joined(*pairs: Pairs) -> Pairs:
    """All pairs, one after the other."""
    geometry = pairs[0].first.geometry
    first = Rows(np.concatenate([one.first.z for one in pairs]), geometry)
    second = Rows(np.concatenate([one.second.z for one in pairs]), geometry)
    return Pairs(first, second, tuple(name for one in pairs for name in one.origin))


def standing(geometry: Geometry, generator: np.random.Generator, each: int = 8) -> Pairs:
    """The pairs that are tried whatever the query is."""
    return joined(ones_to_zeros(geometry), attaining(geometry), *_mixed(geometry, generator, each))


def attaining(geometry: Geometry) -> Pairs:
    """From the row of ones to rows of equal features t, for a grid of t and both ends of the target.

    The suprema of docs/sensitivities.md are met at such pairs: t = 0, 1/D, -1 and a few between, by scaling and convention.
    """
    numeric = max(geometry.numeric, 1)
    values = np.unique(np.concatenate([np.linspace(-1, 1, STEPS), [1 / numeric, -1 / numeric]]))
    t, y = (array.ravel() for array in np.meshgrid(values, ends(geometry)))
    ones = _level(geometry, np.ones(len(t)), 0)
    rows = _level(geometry, t, 1)
    top = np.full(len(t), 1.0)
    first, second = pushed(geometry, ones, top, equal=True), pushed(geometry, rows, y, equal=True)
    return Pairs(first, second, ("attaining",) * len(t))


def ones_to_zeros(geometry: Geometry) -> Pairs:
    """From the row of ones to the row of zeros, and from one end of the target to the other."""
    ones = _level(geometry, np.ones(1), 0)
    low, high = (np.array([end]) for end in ends(geometry))
    first, second = pushed(geometry, ones, high, equal=True), pushed(geometry, 0 * ones, low, equal=True)
    return Pairs(first, second, ("ones to zeros",))


def filling(geometry: Geometry, count: int) -> Rows:
    """The rows that both tables share: always the same ones."""
    return drawn(geometry, np.random.default_rng(count), count, corner=0.0)


def blank(geometry: Geometry, count: int) -> Rows:
    """Rows of zeros: beside them, what depends on a sum's sign or size depends on the one row that is replaced."""
    return Rows(np.column_stack([np.ones(count), np.zeros((count, geometry.features + 1))]), geometry)


def drawn(geometry: Geometry, generator: np.random.Generator, count: int, corner: float = 0.5) -> Rows:
    """Random rows of a geometry: corners with this probability, else interior ones; one-hot groups at a level or at none."""
    x = generator.uniform(-1, 1, (count, geometry.features))
    x = np.where(generator.random((count, 1)) < corner, np.sign(x), x)
    for members in geometry.groups:
        level = generator.integers(-1, len(members), count)
        x[:, list(members)] = level[:, None] == np.arange(len(members))
    low, high = ends(geometry)
    y = generator.choice([low, high], count)
    if geometry.target == "real":
        y = np.where(generator.random(count) < corner, y, generator.uniform(low, high, count))
    return pushed(geometry, x, y)


def search(geometry: Geometry, move: Move, start: Pairs, generator: np.random.Generator, rounds: int, kept: int) -> Pairs:
    """Pairs that move an answer further: the worst ones are nudged, round by round, and kept where that makes them worse."""
    moved = move(start.first, start.second)
    worst = start.take(np.argsort(moved, kind="stable")[-kept:])
    best = move(worst.first, worst.second)
    a, b = worst.first, worst.second
    for _ in range(rounds):
        first, second = _nudged(geometry, a, generator), _nudged(geometry, b, generator)
        now = move(first, second)
        better = (now > best)[:, None]
        best = np.maximum(now, best)
        a, b = Rows(np.where(better, first.z, a.z), geometry), Rows(np.where(better, second.z, b.z), geometry)
    order = np.argsort(best, kind="stable")[::-1]
    return Pairs(a, b, ("local search",) * a.n).take(order)


def ends(geometry: Geometry) -> tuple[float, float]:
    """The target's least and largest value."""
    return (-1.0, 1.0) if geometry.target == "real" else (0.0, 1.0)


def pushed(geometry: Geometry, x: Array, y: Array, equal: bool = False) -> Rows:
    """Rows of these features, box-scaled, as the geometry would have them: in the ball, divided as ``scale`` divides them.

    Without groups a ball's rows go to its surface, or, if ``equal``, where the box's rows of equal features go.
    """
    if geometry.scaling == "ball":
        shrunk = x * _share(geometry)
        if not geometry.groups and not equal:
            room = np.sqrt(1 - geometry.constant**2) if geometry.intercept else 1.0
            norms = np.linalg.norm(x, axis=1, keepdims=True)
            shrunk = x * np.where(norms > 0, room / np.where(norms > 0, norms, 1.0), 0.0) * INSIDE
        x = shrunk
    return Rows(np.column_stack([np.ones(len(y)), x, y]), geometry)


def _tables(filling: Rows, rows: Rows) -> list[Rows]:
    return [Rows(np.vstack([filling.z, row]), filling.geometry) for row in rows.z]


def _numeric(geometry: Geometry) -> Array:
    grouped = {member for members in geometry.groups for member in members}
    return np.array([index for index in range(geometry.features) if index not in grouped], dtype=int)


def _level(geometry: Geometry, value: Array, level: int) -> Array:
    """Rows of equal numeric features, each group at one of its levels."""
    x = np.zeros((len(value), geometry.features))
    x[:, _numeric(geometry)] = value[:, None]
    for members in geometry.groups:
        x[:, members[min(level, len(members) - 1)]] = 1.0
    return x


def _mixed(geometry: Geometry, generator: np.random.Generator, each: int) -> list[Pairs]:
    """Corners, random pairs and one-hot changes."""
    pairs = [
        Pairs(drawn(geometry, generator, each, corner), drawn(geometry, generator, each, corner), (name,) * each)
        for name, corner in (("corners", 1.0), ("random", 0.0))
    ]
    for members in geometry.groups:
        before = drawn(geometry, generator, each, 1.0)
        pairs.append(Pairs(_at_level(before, members, 0), _at_level(before, members, -1), ("one-hot change",) * each))
    return pairs


def _at_level(rows: Rows, members: tuple[int, ...], level: int) -> Rows:
    """The same rows with a group at this level."""
    z = rows.z.copy()
    z[:, 1 + np.array(members)] = 0.0
    z[:, 1 + members[level]] = _share(rows.geometry)
    return Rows(z, rows.geometry)


def _share(geometry: Geometry) -> float:
    """What the box's 1 is in this geometry: the ball is shared by the columns, one a group, and the intercept."""
    if geometry.scaling == "box":
        return 1.0
    parts = geometry.numeric + len(geometry.groups)
    return INSIDE * math.sqrt((1 - geometry.constant**2 if geometry.intercept else 1.0) / parts)


def _nudged(geometry: Geometry, rows: Rows, generator: np.random.Generator) -> Rows:
    """Rows with a value or two changed."""
    z, count = rows.z.copy(), rows.n
    numeric = _numeric(geometry)
    every = np.arange(count)
    for _ in range(2 if len(numeric) else 0):
        column = 1 + generator.choice(numeric, count)
        old = z[every, column]
        near = np.clip(old + generator.normal(0, 0.2, count), -1, 1)
        z[every, column] = np.choose(generator.integers(5, size=count), [old, near, -old, 0 * old, np.where(old < 0, -1.0, 1.0)])
    for members in geometry.groups:
        columns, size = 1 + np.array(members), _share(geometry)
        changed = generator.random(count) < 0.2
        level = generator.integers(-1, len(members), count)
        z[np.ix_(changed, columns)] = size * (level[changed, None] == np.arange(len(members)))
    low, high = ends(geometry)
    z[:, -1] = np.where(generator.random(count) < 0.1, low + high - z[:, -1], z[:, -1])
    if geometry.scaling == "ball":
        features = z[:, 1:-1]
        room = np.sqrt(1 - geometry.constant**2) if geometry.intercept else 1.0
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        grow = np.maximum(norms, 1e-300) if not geometry.groups else np.maximum(norms / room, 1.0) * room
        z[:, 1:-1] = features * np.where(norms > 0, room / grow, 1.0) * INSIDE
    return Rows(z, geometry)
