"""diffprivlib's estimators as they are released, in an environment of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.accounting.costs import Pure
from dpbench.base.options import option
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

NO_INTERVALS = "diffprivlib returns weights alone, without the noisy numbers that it made them of"
"""Why there are no intervals."""
REQUIREMENTS = ("diffprivlib==0.6.6", "scikit-learn<1.6", "numpy<2.3")
PROGRAM = Path(__file__).with_name("_diffprivlib_program.py")
REASON = "the program sees the rows, and what it claims is not proven here"


def package() -> OutsidePackage:
    """Return the package with its environment, which need not exist."""
    return OutsidePackage("diffprivlib", REQUIREMENTS, cache_folder("packages", "diffprivlib"))


@dataclass(frozen=True)
class Diffprivlib(Mechanism):
    """Fit LinearRegression or LogisticRegression of diffprivlib 0.6.6, an outside program whose claim is not proven here.

    Formula: LinearRegression adds Laplace noise, folded on the diagonal, to each entry of the second moments, with ε shared
    equally among them, and minimises without a ridge. LogisticRegression perturbs the objective (Chaudhuri et al. 2011) with
    rows clipped to the norm √S that the bounds allow. ``intercept=column`` passes the intercept as a feature of its own.

    Guarantee: ε-DP is claimed by its authors, and every record says UNPROVEN: the program sees the rows.

    Public: n, the bounds, and the classes of the target.

    Cost: a process, and about a millisecond per fit of a thousand rows for linear models, ten for logistic ones.

    Reference: Holohan et al. 2019, "Diffprivlib: the IBM differential privacy library", arXiv 1907.02444.

    Errata: the sensitivity of the diagonal of X'X takes the lower bound twice, so that bounds (0, b) release it exactly; here
    all bounds are (-1, 1). With its own intercept a linear fit spends ε(d + 2)/(d + 1), not ε, and shifted bounds are no longer
    symmetric. LogisticRegression bounds the curvature by the norm of a row instead of its square, which is too little for norms
    above 1, and scikit-learn does not penalise the intercept, so the objective is not strongly convex in that direction. It does
    not run with scikit-learn 1.6.
    """

    name: ClassVar[str] = "diffprivlib"
    guarantee: ClassVar[str] = "ε-DP, claimed by its authors"

    intercept: Literal["own", "column"] = option("own", help="how the intercept is fitted: by the program, or as a feature")
    C: float = option(1.0, low=0, open_low=True, help="the same option of LogisticRegression: a smaller one penalises more")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return None if model.name in ("linear", "logistic") else "diffprivlib fits linear and logistic only"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        geometry = curator.geometry
        own = geometry.intercept and self.intercept == "own"
        column = geometry.intercept and not own
        options: dict[str, Any] = {"epsilon": budget.epsilon, "fit_intercept": own}
        if geometry.target == "binary":
            norm = geometry.squared_norm - (geometry.constant**2 if own else 0)
            options |= {"estimator": "logistic", "data_norm": float(np.sqrt(norm)), "C": self.C}
        else:
            options |= {"estimator": "linear", "bounds_X": (-1.0, 1.0), "bounds_y": (-1.0, 1.0)}

        def program(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
            if column:
                constant = np.full((len(arrays["target"]), 1), geometry.constant)
                arrays = {**arrays, "features": np.hstack([constant, arrays["features"]])}
            return package().run(PROGRAM, arrays, **options)["weights"]

        weights = curator.ask(OutsideProgram(self.name, program, str(options), Pure(budget.epsilon), REASON)).copy()
        if own:
            weights[:, 0] /= geometry.constant
        return Fit.good(weights).knowing(NO_INTERVALS)


MECHANISM = Diffprivlib
"""What is offered where the package is installed, and documented everywhere."""


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    package().require()
    return [MECHANISM]
