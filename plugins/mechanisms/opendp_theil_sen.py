"""OpenDP's Theil–Sen regression on one feature, in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpbench.accounting.costs import Pure
from dpbench.base.errors import Unfinished
from dpbench.base.outside_package import OutsidePackage
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.files.download_cache import cache_folder
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.procedures.outside_program import OutsideProgram

NO_INTERVALS = "it returns private medians of slopes, and OpenDP releases nothing about their spread"
"""Why there are no intervals."""
REQUIREMENTS = ("opendp[scikit-learn]==0.16.0",)
PROGRAM = Path(__file__).with_name("_opendp_program.py")
REASON = "the program sees the rows, and what its own map claims is not proven here"
BOUNDS = (-1.0, 1.0)


def package() -> OutsidePackage:
    """Return the package with its environment, which need not exist."""
    return OutsidePackage("opendp", REQUIREMENTS, cache_folder("packages", "opendp"))


@dataclass(frozen=True)
class OpendpTheilSen(Mechanism):
    """Fit OpenDP's Theil–Sen regression to one feature, an outside program whose claim is not proven here.

    Formula: rows are paired at random. The line through each pair predicts the target at the quartiles of the feature's range,
    and the fit is the line through the private medians of both predictions, each chosen among 100 candidates.

    Guarantee: ε-DP by OpenDP's own map, for replacing a row as one removal and one addition. Every record says UNPROVEN: the
    program sees the rows.

    Public: n and the bounds.

    Cost: a process, and a few milliseconds per fit of a thousand rows.

    Reference: Alabi et al. 2022, "Differentially private simple linear regression", PoPETs; OpenDP 0.16.0.

    Errata: if the rows lie on a line exactly, all pairs predict the same value, every other candidate scores alike, and the fit
    is a random line at any ε. Its noise comes from the operating system: the same command gives other numbers each time.
    """

    name: ClassVar[str] = "opendp_theil_sen"
    guarantee: ClassVar[str] = "ε-DP, claimed by its authors"

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if model.name != "linear" or not geometry.intercept:
            return "OpenDP fits linear with an intercept only"
        return None if geometry.features == 1 else f"it has one feature, and the table has {geometry.features}"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        options: dict[str, Any] = {"epsilon": budget.epsilon, "bounds_x": BOUNDS, "bounds_y": BOUNDS}

        def program(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
            results = package().run(PROGRAM, arrays, **options)
            if not results["epsilon"] <= budget.epsilon:
                raise Unfinished(f"OpenDP's map says ε = {float(results['epsilon']):g}, above the budget of {budget.epsilon:g}.")
            return results["weights"]

        ask = OutsideProgram(self.name, program, str(options), Pure(budget.epsilon), REASON)
        return Fit.good(curator.ask(ask) / [curator.geometry.constant, 1.0]).knowing(NO_INTERVALS)


MECHANISM = OpendpTheilSen
"""What is offered where the package is installed, and documented everywhere."""


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    package().require()
    return [MECHANISM]
