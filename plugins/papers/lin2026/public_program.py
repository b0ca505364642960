"""Fits as the public program of Lin et al. 2026 makes them (Shuronglin/BinAgg, commit 95262ec), and what they truly cost.

It is written anew from a reading of the program, and draws the same random numbers for the same seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from dpbench.accounting.conversion import gdp_of_pure, pure_of_gdp
from dpbench.privacy.procedures.adaptive_tree import PRICE

from .settings import DELTA, MU, Setting

Array = np.ndarray


@dataclass(frozen=True)
class ProgramFit:
    """A fit as the public program makes it: its weights, and the boxes of all bins with the sums' noise."""

    weights: Array
    low: Array
    high: Array


def program(setting: Setting, seed: int, charged: float = 1.0) -> ProgramFit:
    """Fit as the public program does. ``charged`` multiplies the noise of the sums of x, which it charges one by one."""
    x, y, d = setting.x, setting.y, setting.d
    parts = np.array([1, 3, 3, 3]) * (MU / np.sqrt(28))
    leaves = _program_tree(x, pure_of_gdp(parts[0]), seed)
    choose = random.Random(seed)
    while len(leaves) < d + 1:
        _program_cut(x, leaves, choose)
    counts = np.array([len(rows) for _, _, rows in leaves])
    low, high = (np.array(ends) for ends in (list(zip(*leaves, strict=True))[:2]))
    size = np.maximum(np.abs(low), np.abs(high)) * charged
    normal = np.random.RandomState(seed)
    noisy = np.rint(counts + normal.normal(0, 1 / parts[1], len(leaves))).astype(int)
    s = np.array([x[rows].sum(axis=0) for _, _, rows in leaves]) + normal.normal(0, size / parts[2])
    t = np.array([y[rows].sum() for _, _, rows in leaves]) + normal.normal(0, np.abs(y).max() / parts[3], len(leaves))
    chosen = noisy >= 2
    s, t, size = s[chosen], t[chosen], size[chosen]
    w = 1 / np.maximum(_shared_out(noisy[chosen] * (counts.sum() / noisy[chosen].sum()), counts.sum()), 1)
    # the mean over the bins, not the sum, of what the noise adds to S'WS
    correction = np.diag((w[:, None] * size**2).sum(axis=0) / parts[2] ** 2 / len(w))
    return ProgramFit(np.linalg.inv((s.T * w) @ s - correction) @ ((s.T * w) @ t), low, high)


Leaf = tuple[Array, Array, Array]
"""The lower ends, the upper ends and the rows of a bin."""


def _program_tree(x: Array, epsilon: float, seed: int) -> list[Leaf]:
    """Return the bins in the order in which the program finds them: breadth first, with one Laplace draw for each."""
    laplace = np.random.RandomState(seed)
    scale = 3 / epsilon
    step = scale * np.log(2)
    queue, leaves = [(x.min(axis=0), x.max(axis=0) + 1e-8, np.arange(len(x)), 0)], []
    while queue:
        low, high, rows, depth = queue.pop(0)
        if max(len(rows) - step * depth, -step) + laplace.laplace(scale=scale) <= 0:
            leaves.append((low, high, rows))
            continue
        column = int(np.argmax(high - low))
        middle = (low[column] + high[column]) / 2
        # a row on the middle is in both halves
        for lower, upper, inside in (
            (low, _with(high, column, middle), x[rows, column] <= middle),
            (_with(low, column, middle), high, x[rows, column] >= middle),
        ):
            queue.append((lower, upper, rows[inside], depth + 1))
    return leaves


def _program_cut(x: Array, leaves: list[Leaf], choose: random.Random) -> None:
    """Cut the bin of the largest volume along one of its widest columns: its count does not matter."""
    largest = int(np.argmax([np.prod(high - low) for low, high, _ in leaves]))
    low, high, rows = leaves.pop(largest)
    column = choose.choice([int(index) for index in np.flatnonzero(high - low == (high - low).max())])
    middle = (low[column] + high[column]) / 2
    below = x[rows, column] < middle
    leaves += [(low, _with(high, column, middle), rows[below]), (_with(low, column, middle), high, rows[~below])]


def _with(values: Array, column: int, value: float) -> Array:
    changed = values.copy()
    changed[column] = value
    return changed


def _shared_out(values: Array, total: int) -> Array:
    """Round to whole numbers with this sum: those with the largest remainders are rounded up."""
    whole = np.floor(values).astype(int)
    missing = total - whole.sum()
    whole[np.argsort(values - whole)[::-1][:missing]] += 1
    return np.asarray(whole)


def program_costs(setting: Setting) -> tuple[float, float]:
    """Return what a run called μ = 1 costs where a row is added or removed, and where one is replaced: the largest of ten."""
    shares = 9 / 28 * MU**2
    tree = MU / np.sqrt(28)
    replaced = gdp_of_pure(pure_of_gdp(tree) * PRICE / 3)
    within = 0.0
    for seed in range(10):
        fit = program(setting, seed)
        ratio = (fit.high - fit.low) / np.maximum(np.abs(fit.low), np.abs(fit.high))
        within = max(within, float(np.square(ratio).sum(axis=1).max()))
    width = (setting.y.max() - setting.y.min()) / np.abs(setting.y).max()
    sums = shares * max(2 * (2 + setting.d), within + width**2)
    return float(np.sqrt(tree**2 + shares * (2 + setting.d))), float(np.sqrt(replaced**2 + sums))


def rerun_adassp(setting: Setting, seed: int) -> Array:
    """Fit by AdaSSP as the independent re-run describes its own: μ in three equal parts, bounds on the norms from the data."""
    x, y, d = setting.x, setting.y, setting.d
    generator = np.random.default_rng(seed)
    bound, target, mu = np.linalg.norm(x, axis=1).max(), np.abs(y).max(), MU / np.sqrt(3)
    least = np.linalg.eigvalsh(x.T @ x)[0] + bound**2 / mu * generator.standard_normal()
    ridge = max(0.0, np.sqrt(d * np.log(6 / DELTA)) * bound**2 / mu - least)
    z = generator.standard_normal((d, d))
    matrix = x.T @ x + bound**2 / mu * (z + z.T) / np.sqrt(2) + ridge * np.eye(d)
    return np.asarray(np.linalg.solve(matrix, x.T @ y + bound * target / mu * generator.standard_normal(d)))
