"""The functional mechanism with more noise on the coefficients of sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.fitting.noisy_objective import Repair, minimise
from dpbench.inference.released_moments import released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise
from dpbench.privacy.queries.polynomial import Convention, Polynomial, Sensitivity

from .._sensitive import lacks_sensitive
from .fm import published_ridge


@dataclass(frozen=True)
class SensitiveCoefficients(Mechanism):
    """Run the functional mechanism with more noise on every coefficient that involves a sensitive attribute.

    Formula: coefficients of w_j w_l and w_j get Lap(Δ/ε_s) if j (or l) belongs to a sensitive attribute, otherwise Lap(Δ/ε_n),
    with ε_s = γ ε_n and ε_n = ε / (1 - β + βγ). β is the sensitive coefficients' share of Δ. γ = 1 is ``fm``. Linear models in
    the box also get y'y + Lap(Δ/ε_n), at no cost, unless all columns are sensitive.

    Guarantee: ε-DP for replace-one neighbours, for the whole row. Nothing specific to the attribute is proved: the protection of
    the sensitive attribute is empirical, and similar to that of leaving it out (compare with ``drop_sensitive``).

    Public: n, the bounds, and which attributes are sensitive.

    Cost: that of ``fm``.

    Reference: Wang et al. 2015, "Regression model fitting under differential privacy and model inversion attack", IJCAI.

    Errata: the authors' evaluation selects one of 500 noisy fits by its test error, which costs 500 ε; this is not copied. The
    ridge of their program, 5 std at ε_s, shrinks all weights to almost nothing; it is available as ``ridge=code``. Without it
    single fits explode, because the noise of the sensitive coefficients is 1/γ times what the ridge is made for: linear on
    ``brazil`` at ε = 1.6, the squared error has the median .114 and the mean 134 over 50 fits, with ``ridge=code`` .164 and .166.
    Their β was not available: ``beta_rule=paper``, β = k/D, is inferred from their constants and leaves a part of ε unspent.

    Proof: let A and B be the L1 changes of the sensitive and of the other coefficients, Δ >= sup (A + B), Δ_n >= sup B (the
    objective without the sensitive columns), and β = 1 - Δ_n/Δ. The privacy loss is (ε_n/Δ)(B + γA) = (ε_n/Δ)((1 - γ) B + γ (A
    + B)) <= ε_n ((1 - γ)(1 - β) + γ) = ε. The proof needs upper bounds only, so it holds for one-hot groups, the ball, the
    corner, an intercept, and every convention and sensitivity.

    ``beta_rule=share`` is that β: 1 - ((D-k)² + 2(D-k)) / (D² + 2D) for k of D columns by the published count (linear), and 1 -
    (D-k+1)²/(D+1)² with ``sensitivity=tight``. ``paper`` is valid with the published counts, where the true share is larger. D
    is the number of noised columns, including the intercept. ``ridge=auto`` is the ridge of fm at ε_n. With ``repair=floor``,
    ridge and floor act on an objective whose sensitive columns are multiplied by γ, because the noise is even there.
    """

    name: ClassVar[str] = "dpc"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    published_sensitivity: ClassVar[Sensitivity] = "fang"  # the program of Wang et al. has D²/4 + 3D, as Fang et al. print it

    gamma: float = option(0.01, low=0.001, high=1, help="γ = ε_s / ε_n; 1 is fm")
    beta_rule: Literal["share", "paper"] = option("share", help="β: the sensitive share of Δ, or of the columns (k/D)")
    sensitive: tuple[str, ...] = option(
        (), names_attributes=True, help="the sensitive attributes; empty: those that the dataset declares"
    )
    convention: Convention = option("monomial", help="which numbers get noise, as in fm")
    sensitivity: Sensitivity = option("auto", help="the bound Δ: Zhang's, Fang's, the program's, the supremum; auto: by the key")
    ridge: Literal["auto", "code"] | float = option(
        "auto", low=0, help="multiples of the std at ε_n; auto: as fm; code: 5 at ε_s"
    )
    repair: Repair = option("trim", help="what happens to eigenvalues that are not positive; see fm")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return lacks_sensitive(self.sensitive, geometry, "mechanism.sensitive=[...]")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial(self.convention)
        sensitive = self.sensitive or curator.geometry.sensitive
        ordinary = np.ones(curator.geometry.dimension)
        for attribute in sensitive:
            ordinary[list(curator.geometry.positions(attribute))] = 0.0
        total = objective.l1_bound(self.sensitivity)
        epsilon_n = budget.epsilon / (1 - self._beta(objective, sensitive, ordinary) * (1 - self.gamma))
        if ordinary.any():  # y'y is free among the coefficients of other columns
            objective = objective.with_square()
        scales = total / epsilon_n, total / (self.gamma * epsilon_n)
        noise = Noise(Laplace(), np.where(objective.products(ordinary) > 0, *scales), budget.epsilon, self._proof(objective))
        coefficients = curator.release(objective, noise)
        # Sensitive coefficients have the largest std, 1/γ times the other one, and ridges are multiples of the largest. With the
        # sensitive columns multiplied by γ, all noise has the smaller std.
        even = np.where(ordinary > 0, 1.0, self.gamma) if self.repair == "floor" else None
        ridge = self._ridge() * (self.gamma if even is None else 1.0)
        noisy = objective.quadratic(coefficients, problem.n)
        fit = minimise(problem, objective, noisy, noise, ridge, self.repair, columns=even)
        return fit.knowing(released_moments(problem, objective.moments(coefficients, noise, problem.n), noisy))

    def _beta(self, objective: Polynomial, sensitive: tuple[str, ...], ordinary: np.ndarray) -> float:
        # "fang" is "paper" without the loss's constant term, which gets no noise
        sensitivity: Sensitivity = "fang" if self.sensitivity == "paper" else self.sensitivity
        others = replace(objective, geometry=objective.geometry.without(sensitive))
        share = 1 - others.l1_bound(sensitivity) / objective.l1_bound(sensitivity)
        # a β above the share would overspend; with sensitivity=tight k/D can exceed it (one-hot groups, the ball)
        return share if self.beta_rule == "share" else min(share, float(1 - ordinary.mean()))

    def _proof(self, objective: Polynomial) -> str:
        return f"ε_n (1 - β + βγ), β at most the sensitive coefficients' share; Δ: {objective.proof(self.sensitivity)}"

    def _ridge(self) -> float:
        """Return the ridge in multiples of the std at ε_n."""
        if self.ridge == "code":
            return 5.0 / self.gamma
        return published_ridge(self.convention, self.repair) if self.ridge == "auto" else self.ridge


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [SensitiveCoefficients]
