"""Designs of simulated tables by name: what the study of intervals compares mechanisms on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.base.errors import check_known
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.table import Table

from .simulated import SimulatedTable

TINY, SMALL, LARGE = 525, 2_100, 21_000
"""Rows of which a hold-out of 1/21 leaves 500, 2,000 and 20,000 for training."""

DESIGNS: Mapping[str, Mapping[str, Any]] = {
    "n2000_d5": {"n": SMALL},
    "n2000_d10": {"n": SMALL, "d": 10},
    "n20000_d5": {"n": LARGE},
    "n20000_d10": {"n": LARGE, "d": 10},
    "lognormal": {"n": LARGE, "features": "lognormal"},
    "binary": {"n": LARGE, "features": "binary"},
    "t4": {"n": LARGE, "errors": "t4"},
    "correlated": {"n": LARGE, "correlation": 0.9},
    "weak": {"n": LARGE, "r_squared": 0.1},
    "lin2026_e1": {"n": SMALL, "d": 3, "coefficients": (1.5, -2.0, 0.5), "r_squared": 0.98187},
    "n2000_d12": {"n": SMALL, "d": 12},
    "n2000_correlated": {"n": SMALL, "correlation": 0.95},
    "n2000_lognormal": {"n": SMALL, "features": "lognormal"},
    "heteroscedastic": {"n": LARGE, "errors": "heteroscedastic"},
    "collinear": {"n": LARGE, "correlation": 0.99},
    "rare_binary": {"n": LARGE, "features": "rare"},
    "skewed": {"n": LARGE, "features": "skewed"},
    "n500_d5": {"n": TINY},
}


@dataclass(frozen=True)
class DesignedTable(Dataset):
    """Synthetic: a simulated table with known coefficients, by the name of its design.

    Each name stands for options of ``dataset=simulated``. Features are uniform, R² is 0.5, d is 5, and the hold-out of 1/21 that
    the study's presets use leaves 20,000 training rows, unless the name says otherwise. ``weak`` has R² = 0.1, ``correlated`` a
    correlation of 0.9 (0.95 with 2,000 rows). ``lin2026_e1`` is the design E1 of Lin et al. 2026, with 2,000 rows. In n2000_d12,
    n2000_correlated and n2000_lognormal the noise hides some direction of the features at small ε, and in ``collinear``, with a
    correlation of 0.99, and ``skewed``, with most values near the lower bound, at every ε up to 3. ``rare_binary`` has features
    that are 1 in 3 % of the rows.
    """

    name: ClassVar[str] = "designs"
    synthetic: ClassVar[bool] = True
    licence: ClassVar[str] = "none needed"
    citation: ClassVar[str] = SimulatedTable.citation

    design: str = option("n20000_d5", help="the name of a design")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known("design of dataset=designs", [self.design], DESIGNS)

    @classmethod
    def variants(cls) -> Sequence[Mapping[str, Any]]:
        return [{"design": name} for name in DESIGNS]

    @property
    def display_name(self) -> str:
        return self.design

    def redrawn(self) -> bool:
        return True

    def load(self, generator: np.random.Generator) -> Table:
        return SimulatedTable(**DESIGNS[self.design]).load(generator)


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [DesignedTable]
