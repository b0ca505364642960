"""Turn the requested ε into a mechanism's budget: as its paper counts ε, or so that the accounted ε is the requested one."""

from dataclasses import replace

import numpy as np

from dpbench.accounting.calibration import calibrated
from dpbench.accounting.composition import compose
from dpbench.accounting.costs import Cost
from dpbench.base.read_only import read_only
from dpbench.cells.cell import Settings
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws

MAX_MADE_UP_ROWS = 2**20
"""Rows of a made-up table: no more, so that matching a budget takes little memory however large the table is."""


def budget_of(settings: Settings, mechanism: Mechanism, model: Model, geometry: Geometry, n: int) -> Budget:
    """Return the budget: ``claimed`` is ε in the mechanism's own currency, ``matched`` what is accounted as (ε, δ).

    Matching reads no private row: it runs the mechanism on made-up rows of the same geometry, because the cost of a call may
    depend on public facts only. Pure ε is accounted as (ε, 0), so for pure mechanisms the two are the same.
    """
    claimed = Budget(settings.epsilon, settings.delta, mechanism.counted(), settings.accounting)
    if settings.budget == "claimed" or claimed.currency == "pure":
        return claimed
    sample = _MadeUpSample(geometry, n)

    def accounted(epsilon: float) -> float:
        return compose(_costs(mechanism, model, sample, replace(claimed, epsilon=epsilon)), settings.delta).epsilon

    return replace(claimed, epsilon=calibrated(settings.epsilon, settings.delta, claimed.currency, accounted))


def costs_on_made_up_rows(settings: Settings, mechanism: Mechanism, model: Model, geometry: Geometry, n: int) -> list[Cost]:
    """Return what the answers of one fit will cost, before any is drawn from the private rows."""
    return _costs(mechanism, model, _MadeUpSample(geometry, n), budget_of(settings, mechanism, model, geometry, n))


def _costs(mechanism: Mechanism, model: Model, sample: WholeSample, budget: Budget) -> list[Cost]:
    """Return the costs of the answers to one fit."""
    curator = Curator(sample, Draws(0, "made up", [(0, 0)]), budget)
    fit_closed(mechanism, model.prepare(closed(curator)), curator, curator.ledger.budget)
    return [entry.cost for entry in curator.ledger.entries]


class _MadeUpSample(WholeSample):
    """Made-up rows that count as n, which for the largest tables is more than there are: no cost may depend on rows."""

    def __init__(self, geometry: Geometry, n: int) -> None:
        super().__init__(made_up(geometry, min(n, MAX_MADE_UP_ROWS)))
        self._n = n

    @property
    def n(self) -> np.ndarray:
        return read_only(np.array([float(self._n)]))


def made_up(geometry: Geometry, n: int) -> Rows:
    """Return rows of a geometry that are drawn at random, always the same ones."""
    generator = np.random.default_rng(0)
    z = np.ones((n, geometry.features + 2))
    z[:, 1:-1] = geometry.from_box(generator.uniform(-1, 1, (n, geometry.features)))
    for members in geometry.groups:
        levels = 1 + np.array(members)
        z[:, levels] = 0.0
        z[np.arange(n), generator.choice(levels, n)] = 1.0
    if geometry.scaling == "ball":
        z[:, 1:-1] /= np.sqrt(geometry.numeric + len(geometry.groups) + geometry.intercept)
    z[:, -1] = generator.uniform(-1, 1, n) if geometry.target == "real" else generator.integers(0, 2, n)
    return Rows(z, geometry)
