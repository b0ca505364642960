"""Adversarial neighbours: pairs of rows of a geometry, and the search that makes them worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.polynomial import Loss, Polynomial
from dpbench.privacy.queries.query import contributions

LINEAR = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
LOGISTIC = Loss(curvature=1 / 8, slope=(0.5, -1.0), printed_slope=1.5, printed_constant=0.0)


@dataclass(frozen=True)
class Neighbours:
    """Random rows of a geometry, and how far a query moves from one set of rows to another."""

    geometry: Geometry
    generator: np.random.Generator

    def rows(self, count: int) -> Rows:
        """Corners, sparse and interior rows, mixed; a third of the targets are interior where that is possible."""
        g, rng = self.geometry, self.generator
        x = np.zeros((count, g.features))
        numeric = self.numeric
        kind = rng.integers(4, size=count)[:, None]
        signs = rng.choice([-1.0, 1.0], (count, len(numeric)))
        level = np.round(rng.uniform(-1, 1, (count, 1)) * max(len(numeric), 1)) / max(len(numeric), 1)
        uniform = rng.uniform(-1, 1, (count, len(numeric)))
        sparse = signs * (rng.random((count, len(numeric))) < 0.5)
        x[:, numeric] = np.select([kind == 0, kind == 1, kind == 2], [signs, level * np.ones_like(signs), sparse], uniform)
        for members in g.groups:
            x[np.arange(count), rng.choice(members, count)] = 1
        y = rng.choice([-1.0, 1.0] if g.target == "real" else [0.0, 1.0], count)
        if g.target == "real":
            y = np.where(rng.random(count) < 0.2, rng.uniform(-1, 1, count), y)
        return self.built(x, y)

    @property
    def numeric(self) -> np.ndarray:
        grouped = {member for members in self.geometry.groups for member in members}
        return np.array([index for index in range(self.geometry.features) if index not in grouped], dtype=int)

    def built(self, x: np.ndarray, y: np.ndarray) -> Rows:
        """Rows of these features, pushed into the geometry: the box, the ball's surface or the corner."""
        g = self.geometry
        x = g.from_box(x)
        if g.scaling == "ball":
            room = np.sqrt(1 - g.constant**2) if g.intercept else 1.0
            if g.groups:  # the columns of a row of ones and levels share the ball equally: box / sqrt(parts)
                x = x / np.sqrt(g.numeric + len(g.groups) + g.intercept)
            else:
                norms = np.linalg.norm(x, axis=1, keepdims=True)
                x = np.where(norms > 0, x * (room / np.where(norms > 0, norms, 1.0)), 0.0)
        return Rows(np.column_stack([np.ones(len(y)), x, y]), g)

    def nudged(self, rows: Rows) -> Rows:
        """The same rows with one or two of their values changed."""
        rng = self.generator
        x, y = rows.z[:, 1:-1].copy(), rows.y.copy()
        count = len(y)
        for _ in range(2):
            if len(self.numeric):
                which = rng.choice(self.numeric, count)
                old = x[np.arange(count), which]
                reach = 1.0 if self.geometry.scaling == "box" else float(np.abs(x).max())
                low, high = self.geometry.value_range if self.geometry.scaling == "corner" else (-reach, reach)
                near = np.clip(old + rng.normal(0, 0.2, count) * reach, low, high)
                far = np.where(old < (low + high) / 2, low, high) if low == 0 else np.sign(old) * reach
                x[np.arange(count), which] = np.choose(rng.integers(4, size=count), [old, near, low + high - old, far])
        for members in self.geometry.groups:
            moved = rng.random(count) < 0.2
            x[np.ix_(moved, members)] = np.eye(len(members))[rng.integers(len(members), size=moved.sum())] * (
                1.0 if self.geometry.scaling == "box" else x[0, list(members)].max()
            )
        y = np.where(rng.random(count) < 0.1, (1 - y) if self.geometry.target == "binary" else -y, y)
        if self.geometry.scaling == "corner" or (self.geometry.scaling == "ball" and self.geometry.groups):
            return Rows(np.column_stack([np.ones(count), x, y]), self.geometry)
        return self.built(x, y)


def moved(query: Polynomial, first: Rows, second: Rows, scale: np.ndarray | float = 1.0) -> np.ndarray:
    """‖change / scale‖₁ of each pair."""
    return np.asarray(np.abs((contributions(query, first, 0) - contributions(query, second, 0)) / scale).sum(axis=1))


def hostile(query: Polynomial, pairs: int = 10_000, seed: int = 0) -> tuple[Rows, Rows]:
    """Pairs of neighbouring rows: 4,000 at random, then 60 rounds in which the 100 worst are nudged to do worse still."""
    near = Neighbours(query.geometry, np.random.default_rng(seed))
    first, second = near.rows(4_000), near.rows(4_000)
    kept_first, kept_second = [first.z], [second.z]
    worst = np.argsort(moved(query, first, second))[-100:]
    first, second = first.take(worst), second.take(worst)
    best = moved(query, first, second)
    for _ in range((pairs - 4_000) // 100):
        a, b = near.nudged(first), near.nudged(second)
        kept_first.append(a.z)
        kept_second.append(b.z)
        now = moved(query, a, b)
        better = (now > best)[:, None]
        best = np.maximum(now, best)
        first = Rows(np.where(better, a.z, first.z), query.geometry)
        second = Rows(np.where(better, b.z, second.z), query.geometry)
    return Rows(np.concatenate(kept_first), query.geometry), Rows(np.concatenate(kept_second), query.geometry)


def along(query: Polynomial, scale: np.ndarray | float = 1.0) -> float:
    """The largest move from the row of largest features (y = 1) to one of equal features t, over t and the other target.

    The search zooms in. No formula of the bounds is used; ALGORITHMS 6.3's attaining pairs all have this form.
    """
    g = query.geometry
    best = 0.0
    for other in (-1.0, 1.0) if g.target == "real" else (0.0, 1.0):
        (low, high), ones = g.value_range, np.ones((201, 1))
        for _ in range(12):
            t = np.linspace(low, high, 201)
            first = Rows(np.hstack([ones, np.full((201, g.features), g.value_range[1]), ones]), g)
            second = Rows(np.column_stack([np.ones(201), np.repeat(t[:, None], g.features, axis=1), np.full(201, other)]), g)
            moves = moved(query, first, second, scale)
            at = int(moves.argmax())
            low, high = t[max(at - 2, 0)], t[min(at + 2, 200)]
        best = max(best, float(moves.max()))
    return best


def released(problem: Any, answer: Any, convention: Any = "monomial") -> Polynomial:
    """The query of an answer of the functional mechanism's family: with y'y at its end, or without."""
    query: Polynomial = problem.polynomial(convention)
    return query if answer.exact.shape[1] == query.size else query.with_square()


@dataclass(frozen=True)
class Adversary:
    """What the tests of sensitivities and of replays share."""

    losses: dict[str, Loss]
    moved: Callable[..., np.ndarray]
    hostile: Callable[..., tuple[Rows, Rows]]
    along: Callable[..., float]
    released: Callable[..., Polynomial]
    neighbours: type[Neighbours]


@pytest.fixture(scope="session")
def adversary() -> Adversary:
    return Adversary({"linear": LINEAR, "logistic": LOGISTIC}, moved, hostile, along, released, Neighbours)
