"""Draw plausible tables: rows that agree with the public facts, and differ in everything that these leave open.

Each numeric column has the Beta law between its bounds whose mean and standard deviation are its typical value and its spread.
Columns depend on each other through one factor, of which each has a random share, and the target is linear in them. A scenario
fixes how the coefficients are distributed over the columns, and R². What is not known of a column is drawn for each table.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from dpbench.base.random_streams import stream
from dpbench.choosing.public_facts import PublicFacts
from dpbench.data.scaling import Rows, truncate
from dpbench.data.table import Column
from dpbench.files.column_knowledge import NOTHING_KNOWN, ColumnKnowledge

Coefficients = Literal["aligned", "mixed", "normal", "sparse"]

COEFFICIENTS: tuple[Coefficients, ...] = ("aligned", "mixed", "normal", "sparse")
"""Per standard deviation of a column: as the factor moves it, that plus a normal number, a normal number alone, or one for a
quarter of the columns and 0 for the others."""
SPARSE_SHARE = 0.25
DRAWS = 3
"""Tables of each scenario, with other dependences and coefficients."""
QUANTILES = 1001
"""Points at which the quantile function of a column is computed; between them it is interpolated."""
DIGITS = 9
"""Decimals of what is known of a column, on the unit interval: the same knowledge in another unit gives the same numbers."""
MOST_SPREAD = 0.95
"""The largest standard deviation of a column, as a share of the one of a column that is always at one of its bounds."""
UNKNOWN_TYPICAL = (0.1, 0.9)
"""Where between its bounds the mean of an unknown column may be."""
UNKNOWN_SPREAD = (0.05, 0.3)
"""The standard deviation of an unknown column, as a share of the distance between its bounds; evenly in logarithms."""

Array = np.ndarray
_LATENT = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)


@dataclass(frozen=True)
class Scenario:
    """What the public facts leave open, fixed for one plausible table."""

    number: int
    """Names the table in the random streams."""
    coefficients: Coefficients
    r_squared: float


@dataclass(frozen=True)
class PlausibleTable:
    """A plausible table: rows to fit, and as many other rows to measure errors on."""

    scenario: Scenario
    train: Rows
    test: Rows


def scenarios(facts: PublicFacts) -> list[Scenario]:
    """Return every combination of coefficients with the ends and the middle of the range of R², each of them several times."""
    low, high = facts.r_squared
    combinations = itertools.product(range(DRAWS), COEFFICIENTS, (low, (low + high) / 2, high))
    return [Scenario(number, kind, r_squared) for number, (_, kind, r_squared) in enumerate(combinations)]


def plausible_tables(facts: PublicFacts, rows: int) -> Iterator[PlausibleTable]:
    """Yield one table for each scenario, with this number of rows to fit."""
    for scenario in scenarios(facts):
        z = _draw(facts, scenario, 2 * rows)
        yield PlausibleTable(scenario, Rows(z[:rows].copy(), facts.geometry), Rows(z[rows:].copy(), facts.geometry))


def _draw(facts: PublicFacts, scenario: Scenario, rows: int) -> Array:
    """Return scaled rows: ones, the features, the target."""
    generator = stream("choose", scenario.number)
    names = list(dict.fromkeys(column.attribute for column in facts.columns))
    moves, latent = _latent(len(names), rows, generator)
    parts, directions = [], []
    for at, name in enumerate(names):
        columns = [column for column in facts.columns if column.attribute == name]
        known = facts.knowledge.get(name, NOTHING_KNOWN)
        values = _levels(columns, known, latent[:, at], generator)[:, : len(columns)]
        parts.append(values if columns[0].group else _values(columns[0], known, latent[:, at], generator)[:, None])
        directions += [moves[at]] * len(columns)
    features = np.hstack(parts)
    z = np.column_stack([np.ones(rows), features, _target(facts, scenario, features, np.array(directions), generator)])
    truncate(z[:, 1:])
    return z


def _latent(columns: int, rows: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Return how the factor moves each column, and correlated normal numbers: (rows, columns)."""
    signs, shared = generator.choice([-1.0, 1.0], columns), generator.uniform(0, 1, columns)
    factor, own = generator.standard_normal((rows, 1)), generator.standard_normal((rows, columns))
    moves = signs * np.sqrt(shared)
    return moves, moves * factor + np.sqrt(1 - shared) * own


def _values(column: Column, known: ColumnKnowledge, latent: Array, generator: np.random.Generator) -> Array:
    """Return scaled values of a numeric column, in the order of its latent normal numbers."""
    mean, deviation = _moments(column, known, generator)
    unit = _beta_quantiles(mean, deviation)
    if column.kind != "continuous":
        steps = column.high - column.low
        unit = np.rint(unit * steps) / steps
    # without a transform the scaled value follows from the unit interval alone, whatever the column's unit
    scaled = 2 * unit - 1 if column.transform is None else column.to_box(column.low + unit * (column.high - column.low))
    if column.levels and column.levels <= QUANTILES:  # whole numbers stay whole
        return np.asarray(scaled[np.searchsorted(_LATENT, latent).clip(0, QUANTILES - 1)])
    return np.asarray(np.interp(latent, _LATENT, scaled))


def _moments(column: Column, known: ColumnKnowledge, generator: np.random.Generator) -> tuple[float, float]:
    """Return the mean and the standard deviation of a column on the unit interval: what is known, or drawn."""
    width = column.high - column.low
    mean, log_spread = generator.uniform(*UNKNOWN_TYPICAL), generator.uniform(*np.log(UNKNOWN_SPREAD))
    deviation = float(np.exp(log_spread))
    if known.typical is not None:
        mean = round((known.typical - column.low) / width, DIGITS)
    if known.spread is not None:
        deviation = round(known.spread / width, DIGITS)
    return float(mean), deviation


def _beta_quantiles(mean: float, deviation: float) -> Array:
    """Return the quantiles at even steps of the Beta law with these moments."""
    from scipy.stats import beta

    mean = min(max(mean, 0.01), 0.99)  # a typical value that is rounded to a bound lies near it
    variance = min(deviation, MOST_SPREAD * np.sqrt(mean * (1 - mean))) ** 2
    concentration = mean * (1 - mean) / variance - 1
    return np.asarray(beta.ppf(ndtr(_LATENT), mean * concentration, (1 - mean) * concentration))


def _levels(columns: list[Column], known: ColumnKnowledge, latent: Array, generator: np.random.Generator) -> Array:
    """Return one column of 0 and 1 for each level."""
    shares = generator.dirichlet(np.ones(len(columns)))
    if known.shares:
        shares = np.array(known.shares)
    level = np.searchsorted(np.cumsum(shares)[:-1], ndtr(latent), side="right")
    return np.asarray(level[:, None] == np.arange(len(columns)), dtype=float)


def _target(facts: PublicFacts, scenario: Scenario, features: Array, directions: Array, generator: np.random.Generator) -> Array:
    """Return the scaled target: linear in the features, with normal errors, or its class."""
    column, known = facts.target, facts.knowledge.get(facts.target.name, NOTHING_KNOWN)
    deviations = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    signal = standard @ _coefficients(scenario.coefficients, directions, generator)
    signal /= max(float(signal.std()), 1e-12)
    errors = generator.standard_normal(len(signal))
    whole = np.sqrt(scenario.r_squared) * signal + np.sqrt(1 - scenario.r_squared) * errors
    if column.kind == "binary" and facts.model.target == "binary":
        share = known.shares[1] if known.shares else generator.uniform(*UNKNOWN_TYPICAL)
        return np.asarray(whole > np.quantile(whole, min(max(1 - share, 0.01), 0.99)), dtype=float)
    mean, deviation = _moments(column, known, generator)
    if known.shares:  # the classes as numbers
        mean, deviation = known.shares[1], float(np.sqrt(known.shares[0] * known.shares[1]))
    unit = np.clip(mean + deviation * whole, 0, 1)
    if facts.model.target == "binary":
        assert facts.threshold is not None
        return np.asarray(column.low + unit * (column.high - column.low) > facts.threshold, dtype=float)
    return 2 * unit - 1 if column.transform is None else column.to_box(column.low + unit * (column.high - column.low))


def _coefficients(kind: Coefficients, directions: Array, generator: np.random.Generator) -> Array:
    """Return the coefficient of each column per standard deviation."""
    normal = generator.standard_normal(len(directions))
    if kind == "aligned":
        return directions
    if kind == "mixed":
        return directions + normal
    if kind == "sparse":
        order = generator.permutation(len(directions))
        normal[order[max(1, round(SPARSE_SHARE * len(directions))) :]] = 0.0
    return normal
