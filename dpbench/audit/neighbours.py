"""Neighbours: pairs of rows of a geometry, and small tables that differ in one of them, all made up from public facts.

A pair is a row and its replacement. A pair of tables is a few common rows plus one or the other. If persons have several rows,
all rows of one person are replaced, and a row may be missing: it is a row of zeros, also in its first column. There are pairs
that attain the proven bounds, corners, small rows, changes of a one-hot level, random pairs, and pairs that a local search makes
worse.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer
from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.query import contributions

INSIDE = 1 - 1e-15
"""A factor that keeps rounded norms within the ball."""
EQUAL_FEATURE_VALUES = 13
"""Values of the equal features with which attaining pairs are tried."""
PAIRS_OF_EACH_KIND = 8
"""Corners, random pairs and one-hot changes that are tried."""
SMALL_SIZES = (1e-1, 1e-2, 1e-3, 1e-4)
"""Sizes of small rows, in units of a corner's: a query that divides by a norm moves most at rows near zero, not at corners."""
RANDOM_PAIRS = 400
"""Random pairs that the search begins with, in addition to those that are tried anyway."""
ROUNDS = 40
SURVIVORS = 60
"""Pairs that are nudged in every round."""
WORST_PAIRS = 3
"""Pairs that the search returns."""
MAX_CONTRIBUTIONS = 20_000_000
"""Numbers that the contributions of all pairs may hold: for longer answers, fewer pairs are tried."""

Change = Literal["all rows", "all but one row", "different rows", "fewer rows"]
"""Which rows of a person are replaced: all by the same one, all but one, each by another one, or some of them by none."""
PERSON_CHANGES: tuple[Change, ...] = get_args(Change)[1:]
"""What is tried in addition where persons have several rows."""

Move = Callable[[Rows, Rows], np.ndarray]
"""Return how far each pair of rows moves an answer, in units of the declared bound."""


@dataclass(frozen=True)
class Pairs:
    """Rows and their replacements, and where each pair comes from."""

    first: Rows
    second: Rows
    origin: tuple[str, ...]

    def take(self, index: np.ndarray) -> "Pairs":
        return Pairs(self.first.take(index), self.second.take(index), tuple(self.origin[at] for at in index))

    def tables(self, common: Rows, change: Change = "all rows") -> tuple[list[Rows], list[Rows]]:
        """Return the two tables of each pair: the common rows, then those of one person, by default all like the pair's row."""
        each = common.geometry.replaced_rows
        index = np.repeat(np.arange(self.first.n)[:, None], each, axis=1)
        if change == "different rows":  # those of the next pairs
            index = (index + np.arange(each)) % self.first.n
        persons = [rows.z[index] for rows in (self.first, self.second)]
        if change == "all but one row":
            persons[1] = np.concatenate([persons[0][:, :1], persons[1][:, 1:]], axis=1)
        elif change == "fewer rows":
            persons[1] = persons[1] * (np.arange(each) < each // 2)[:, None]
        first, second = ([_with_person(common, rows) for rows in tables] for tables in persons)
        return first, second


def _with_person(common: Rows, rows: np.ndarray) -> Rows:
    """Return a table of the common rows, of as few persons as may have them, and those rows of one more that are not missing."""
    each = common.geometry.rows_per_person
    persons = None if each is None else 1 - (-common.n // each)
    return Rows(np.vstack([common.z, rows[rows[:, 0] > 0]]), common.geometry, persons=persons)


def join(*parts: Pairs) -> Pairs:
    """Return all pairs, one after the other."""
    geometry = parts[0].first.geometry
    first = Rows(np.concatenate([pairs.first.z for pairs in parts]), geometry)
    second = Rows(np.concatenate([pairs.second.z for pairs in parts]), geometry)
    return Pairs(first, second, tuple(name for pairs in parts for name in pairs.origin))


def fixed_and_random_pairs(geometry: Geometry, generator: np.random.Generator) -> Pairs:
    """Return the pairs that are tried whatever the query is."""
    each = PAIRS_OF_EACH_KIND
    random = [_random_pairs(geometry, generator, each, corner, name) for name, corner in (("corners", 1.0), ("random", 0.0))]
    parts = [ones_to_zeros(geometry), attaining_pairs(geometry), *random]
    parts += [_small_pairs(geometry, generator, size) for size in SMALL_SIZES]
    for members in geometry.groups:
        rows = random_rows(geometry, generator, each, corner=1.0)
        parts.append(Pairs(_at_level(rows, members, 0), _at_level(rows, members, -1), ("one-hot change",) * each))
    if not geometry.public_count:
        rows = join(ones_to_zeros(geometry), _random_pairs(geometry, generator, each, 1.0, "")).first
        parts.append(Pairs(rows, Rows(np.zeros_like(rows.z), geometry), ("missing rows",) * rows.n))
    return join(*parts)


def worst_pairs(geometry: Geometry, answer: Answer, start: Pairs, generator: np.random.Generator) -> Pairs | None:
    """Return the pairs that move an answer furthest; None where its noise declares no bound, or all pairs move it alike."""
    call, noise = answer.call, answer.noise
    if noise is None or isinstance(call.query, Histogram):
        return None
    query = call.query

    def move(first: Rows, second: Rows) -> np.ndarray:
        one, other = (contributions(query, columns_of(rows, call.geometry), 0) * (rows.z[:, :1] > 0) for rows in (first, second))
        return noise.moved(one, other, run=0)

    most = max(MAX_CONTRIBUTIONS // query.size, WORST_PAIRS)
    start = join(start, _random_pairs(geometry, generator, min(RANDOM_PAIRS, most), 0.5, "random"))
    return search(move, start, generator, ROUNDS, min(SURVIVORS, most)).take(np.arange(WORST_PAIRS))


def search(move: Move, start: Pairs, generator: np.random.Generator, rounds: int, survivors: int) -> Pairs:
    """Nudge the worst pairs in every round, keep what makes them worse, and return them, the worst first."""
    worst = start.take(np.argsort(move(start.first, start.second), kind="stable")[-survivors:])
    first, second, geometry = worst.first, worst.second, worst.first.geometry
    best = move(first, second)
    for _ in range(rounds):
        nudged = nudge(first, generator), nudge(second, generator)
        moved = move(*nudged)
        worse = (moved > best)[:, None]
        best = np.maximum(moved, best)
        first, second = (Rows(np.where(worse, new.z, old.z), geometry) for new, old in zip(nudged, (first, second), strict=True))
    return Pairs(first, second, ("local search",) * first.n).take(np.argsort(best, kind="stable")[::-1])


def attaining_pairs(geometry: Geometry) -> Pairs:
    """Return pairs from the row of ones to rows of equal features t, for a grid of t and both ends of the target.

    The suprema of docs/sensitivities.md are met at such pairs: t = 0, 1/D, -1 or a value between, by scaling and convention. In
    the corner they are met where the features are 1/√D (linear) or 2/√D (logistic) of their range.
    """
    numeric = max(geometry.numeric, 1)
    special = [1 / numeric, -1 / numeric]
    if geometry.scaling == "corner":
        special = [2 * min(share / math.sqrt(numeric), 1) - 1 for share in (1, 2)]
    values = np.unique(np.concatenate([np.linspace(-1, 1, EQUAL_FEATURE_VALUES), special]))
    t, y = (array.ravel() for array in np.meshgrid(values, _target_ends(geometry)))
    first = _rows_of_box(geometry, _equal_features(geometry, np.ones(len(t)), 0), np.ones(len(t)), equal=True)
    second = _rows_of_box(geometry, _equal_features(geometry, t, 1), y, equal=True)
    return Pairs(first, second, ("attaining",) * len(t))


def ones_to_zeros(geometry: Geometry) -> Pairs:
    """Return the pair from the row of ones to the row of zeros, and from the upper end of the target to the lower one."""
    ones = _equal_features(geometry, np.ones(1), 0)
    low, high = (np.array([end]) for end in _target_ends(geometry))
    zeros = zero_rows(geometry, 1).z.copy()
    zeros[:, -1] = low
    return Pairs(_rows_of_box(geometry, ones, high, equal=True), Rows(zeros, geometry), ("ones to zeros",))


def _random_pairs(geometry: Geometry, generator: np.random.Generator, count: int, corner: float, origin: str) -> Pairs:
    """Return pairs of random rows."""
    first, second = (random_rows(geometry, generator, count, corner) for _ in range(2))
    return Pairs(first, second, (origin,) * count)


def _small_pairs(geometry: Geometry, generator: np.random.Generator, size: float) -> Pairs:
    """Return pairs of corners whose numeric features are multiplied by ``size``, at no level of any one-hot group."""
    first, second = (random_rows(geometry, generator, PAIRS_OF_EACH_KIND, corner=1.0).z.copy() for _ in range(2))
    for z in (first, second):
        z[:, 1 + _numeric_columns(geometry)] *= size
        z[:, [1 + member for members in geometry.groups for member in members]] = 0.0
    return Pairs(Rows(first, geometry), Rows(second, geometry), ("small rows",) * PAIRS_OF_EACH_KIND)


def random_rows(geometry: Geometry, generator: np.random.Generator, count: int, corner: float = 0.5) -> Rows:
    """Return random rows: corners with this probability, else interior ones; one-hot groups at a level or at none."""
    x = generator.uniform(-1, 1, (count, geometry.features))
    x = np.where(generator.random((count, 1)) < corner, np.sign(x), x)
    for members in geometry.groups:
        level = generator.integers(-1, len(members), count)
        x[:, list(members)] = level[:, None] == np.arange(len(members))
    low, high = _target_ends(geometry)
    y = generator.choice([low, high], count)
    if geometry.target == "real":
        y = np.where(generator.random(count) < corner, y, generator.uniform(low, high, count))
    return _rows_of_box(geometry, x, y)


def common_rows(geometry: Geometry, count: int) -> Rows:
    """Return the rows that both tables share: always the same ones."""
    return random_rows(geometry, np.random.default_rng(count), count, corner=0.0)


def zero_rows(geometry: Geometry, count: int) -> Rows:
    """Return rows of zeros. With them in common, the replaced row alone decides the sign or the size of every sum."""
    return Rows(np.column_stack([np.ones(count), np.zeros((count, geometry.features + 1))]), geometry)


def _target_ends(geometry: Geometry) -> tuple[float, float]:
    """Return the least and the largest value of the target."""
    return (-1.0, 1.0) if geometry.target == "real" else (0.0, 1.0)


def _rows_of_box(geometry: Geometry, x: np.ndarray, y: np.ndarray, equal: bool = False) -> Rows:
    """Return rows with these box-scaled features, scaled as the geometry says.

    Without groups, rows go to the surface of the ball, or with ``equal`` to where ``scale`` maps rows of equal features.
    """
    x = geometry.from_box(x)
    if geometry.scaling == "ball":
        if geometry.groups or equal:
            x = x * _box_unit(geometry)
        else:
            norms = np.linalg.norm(x, axis=1, keepdims=True)
            x = x * np.where(norms > 0, _ball_radius(geometry) / np.where(norms > 0, norms, 1.0), 0.0) * INSIDE
    return Rows(np.column_stack([np.ones(len(y)), x, y]), geometry)


def _ball_radius(geometry: Geometry) -> float:
    """Return the largest norm of a row's features in the ball, which they share with the intercept."""
    return math.sqrt(1 - geometry.constant**2) if geometry.intercept else 1.0


def _box_unit(geometry: Geometry) -> float:
    """Return what the box's 1 is in this geometry: in the ball, numeric columns and groups share the squared norm equally."""
    if geometry.scaling != "ball":
        return 1.0
    parts = geometry.numeric + len(geometry.groups)
    return INSIDE * math.sqrt((1 - geometry.constant**2 if geometry.intercept else 1.0) / parts)


def _numeric_columns(geometry: Geometry) -> np.ndarray:
    """Return the feature columns outside one-hot groups."""
    grouped = {member for members in geometry.groups for member in members}
    return np.array([index for index in range(geometry.features) if index not in grouped], dtype=int)


def _equal_features(geometry: Geometry, value: np.ndarray, level: int) -> np.ndarray:
    """Return rows of equal numeric features, each group at this level."""
    x = np.zeros((len(value), geometry.features))
    x[:, _numeric_columns(geometry)] = value[:, None]
    for members in geometry.groups:
        x[:, members[min(level, len(members) - 1)]] = 1.0
    return x


def _at_level(rows: Rows, members: tuple[int, ...], level: int) -> Rows:
    """Return the same rows with a group at this level."""
    z = rows.z.copy()
    z[:, 1 + np.array(members)] = 0.0
    z[:, 1 + members[level]] = _box_unit(rows.geometry)
    return Rows(z, rows.geometry)


def columns_of(rows: Rows, geometry: Geometry) -> Rows:
    """Return the rows with the columns of a narrower geometry alone."""
    if rows.geometry == geometry:
        return rows
    columns = [1 + rows.geometry.columns.index(name) for name in geometry.columns]
    return Rows(rows.z[:, [0, *columns, -1]], geometry)


def nudge(rows: Rows, generator: np.random.Generator) -> Rows:
    """Return rows with one or two values changed."""
    z, count, geometry = rows.z.copy(), rows.n, rows.geometry
    numeric, every = _numeric_columns(geometry), np.arange(rows.n)
    low, high = geometry.value_range
    middle, half = (low + high) / 2, (high - low) / 2
    for _ in range(2 if len(numeric) else 0):
        column = 1 + generator.choice(numeric, count)
        old = z[every, column]
        near = np.clip(old + generator.normal(0, 0.2, count) * half, low, high)
        values = [old, near, 2 * middle - old, np.full(count, middle), np.where(old < middle, low, high)]
        z[every, column] = np.choose(generator.integers(5, size=count), values)
    for members in geometry.groups:
        changed = generator.random(count) < 0.2
        level = generator.integers(-1, len(members), count)
        z[np.ix_(changed, 1 + np.array(members))] = _box_unit(geometry) * (level[changed, None] == np.arange(len(members)))
    low, high = _target_ends(geometry)
    z[:, -1] = np.where(generator.random(count) < 0.1, low + high - z[:, -1], z[:, -1])
    if geometry.scaling == "ball":
        features, radius = z[:, 1:-1], _ball_radius(geometry)
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        # without groups rows go to the surface; with groups they only shrink, so that one-hot columns keep their size
        divisor = np.maximum(norms, 1e-300) if not geometry.groups else np.maximum(norms / radius, 1.0) * radius
        z[:, 1:-1] = features * np.where(norms > 0, radius / divisor, 1.0) * INSIDE
    z *= rows.z[:, :1] > 0  # a missing row stays one
    return Rows(z, geometry)
