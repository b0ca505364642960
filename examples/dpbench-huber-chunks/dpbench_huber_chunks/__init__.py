"""scikit-learn's HuberRegressor as a mechanism: fits of chunks, whose mean is released with noise."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench import Fit, Mechanism, hookimpl, option
from dpbench.noise import Pure
from dpbench.procedures import OutsideProgram

REASON = "the fits see the rows, so dpbench cannot check what they release"


@dataclass(frozen=True)
class HuberChunks(Mechanism):
    """Fit scikit-learn's HuberRegressor to chunks of the rows, and add Laplace noise to the mean of their clipped weights.

    Formula: rows are dealt at random into k = max(1, floor(n/r)) chunks, r = ``rows_per_chunk``. Each of the D weights of a
    chunk's fit is clipped to [-C, C], C = ``largest_weight``. The release is the mean over the chunks plus Lap(2CD/(kε)).

    Guarantee: ε-DP for replace-one neighbours, as claimed here: a replaced row changes the fit of one chunk, and so each of the
    D means by at most 2C/k. Every record says UNPROVEN, because scikit-learn sees the rows.

    Public: n, D, and the columns' bounds.

    Cost: k fits of scikit-learn, a few milliseconds each.

    Reference: Smith 2011, "Privacy-preserving statistical estimation with optimal convergence rates", STOC, for means of
    estimates on chunks; Huber 1964, "Robust estimation of a location parameter", for the loss.
    """

    name: ClassVar[str] = "huber_chunks"
    guarantee: ClassVar[str] = "ε-DP, claimed"
    expected_failures: ClassVar[Mapping[str, str]] = {
        "ledger within budget": "an outside program is never proven",
        "limit": "Huber's loss on chunks is not the least squares fit of all rows",
    }

    rows_per_chunk: int = option(50, low=2, help="r: more rows make better fits, and fewer chunks more noise")
    largest_weight: float = option(1.0, low=0, open_low=True, help="C: weights beyond it are clipped")

    def refuses(self, model, geometry):
        return None if model.name == "linear" else "HuberRegressor predicts a real target, without a penalty of dpbench"

    def fit(self, curator, problem, budget):
        geometry = curator.geometry

        def fit_table(features, target, seed):
            """Return the private weights of one table, the intercept first."""
            generator = np.random.default_rng(seed)
            chunks = np.array_split(generator.permutation(len(target)), max(1, len(target) // self.rows_per_chunk))
            weights = np.stack([huber_weights(features[rows], target[rows], geometry.intercept) for rows in chunks])
            mean = weights.clip(-self.largest_weight, self.largest_weight).mean(axis=0)
            scale = 2 * self.largest_weight * len(mean) / (len(chunks) * budget.epsilon)
            return mean + generator.laplace(0, scale, len(mean))

        settings = f"r = {self.rows_per_chunk}, C = {self.largest_weight}, ε = {budget.epsilon}"
        weights = curator.ask(OutsideProgram.of_tables(self.name, fit_table, settings, Pure(budget.epsilon), REASON)).copy()
        if geometry.intercept:
            weights[:, 0] /= geometry.constant  # dpbench's column of the intercept holds this constant, scikit-learn's holds 1
        return Fit.good(weights).knowing("the noise is known, and how much the chunks' fits vary is not released")


def huber_weights(features, target, intercept):
    """Return the weights of scikit-learn's fit of one chunk; zeros where it fails, because an error would tell about the rows."""
    from sklearn.linear_model import HuberRegressor  # here, so that listing the plugin imports nothing heavy

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that did not converge: they are clipped like all others
            fitted = HuberRegressor(fit_intercept=intercept).fit(features, target)
    except ValueError:
        return np.zeros(features.shape[1] + intercept)
    return np.nan_to_num(np.append([fitted.intercept_] if intercept else [], fitted.coef_))


@hookimpl
def dpbench_mechanisms():
    return [HuberChunks]
