"""Differential privacy with more noise on the coefficients of sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.errors import near_names
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.fitting.noisy_objective import Repair, minimise
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise
from dpbench.privacy.polynomial import Convention, Polynomial, Sensitivity

from .fm import published_ridge


@dataclass(frozen=True)
class SensitiveCoefficients(Mechanism):
    """The functional mechanism with more noise on every coefficient that involves a sensitive attribute.

    Formula: coefficients of w_j w_l and w_j where j (or l) belongs to a sensitive attribute get Lap(Δ/ε_s), the others
    Lap(Δ/ε_n), with ε_s = γ ε_n and ε_n = ε / (1 - β + βγ); β is the sensitive coefficients' share of Δ. γ = 1 is ``fm``.

    Guarantee: ε-DP for replace-one neighbours, of the whole row. Nothing attribute-specific is proved: the protection of the
    sensitive attribute is empirical, and much like that of leaving it out (compare with ``drop_sensitive``).

    Public: n, the bounds, and which attributes are sensitive.

    Cost: that of ``fm``.

    Reference: Wang et al. 2015, "Regression model fitting under differential privacy and model inversion attack", IJCAI.

    Errata: the authors' evaluation picks one of 500 noisy fits by its test error, which costs 500 ε: not copied. Their program's
    ridge, 5 std at ε_s, shrinks everything to nothing: it is ``ridge=code``. Their β was not at hand: ``beta_rule=paper``, β =
    k/D, is inferred from their constants, and leaves a part of ε unspent.

    Proof: let A and B be the L1 changes of the sensitive and of the other coefficients, Δ >= sup (A + B), Δ_n >= sup B (the
    objective without the sensitive columns), β = 1 - Δ_n/Δ. The loss is (ε_n/Δ)(B + γA) = (ε_n/Δ)((1 - γ) B + γ (A + B)) <=
    ε_n ((1 - γ)(1 - β) + γ) = ε. It needs upper bounds only, so it holds for one-hot groups, the ball, an intercept, and every
    convention and sensitivity.

    ``beta_rule=share`` is that β: 1 - ((D-k)² + 2(D-k)) / (D² + 2D) for k of D columns by the published count (linear), and 1
    - (D-k+1)²/(D+1)² with ``sensitivity=tight``. ``paper`` is valid with the published counts, where the true share is larger. D
    counts noised columns, the intercept included. ``ridge=auto`` is fm's, at ε_n. With ``repair=floor``, ridge and floor act on
    the columns multiplied by γ where they are sensitive, so that the noise is even.
    """

    name: ClassVar[str] = "dpc"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})

    gamma: float = option(0.01, low=0.001, high=1, help="γ = ε_s / ε_n; 1 is fm")
    beta_rule: Literal["share", "paper"] = option("share", help="the sensitive share of Δ, or the k of D columns")
    sensitive: tuple[str, ...] = option((), help="the sensitive attributes; empty: those the dataset declares")
    convention: Convention = option("monomial", help="which numbers are noised, as in fm")
    sensitivity: Sensitivity = option("paper", help="as printed, as in the authors' program, or the supremum")
    ridge: Literal["auto", "code"] | float = option("auto", low=0, help="multiples of the std at ε_n; auto: fm's; code: 5 at ε_s")
    repair: Repair = option("trim", help="what is done to eigenvalues that are not positive")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return not_sensitive(self.sensitive, geometry)

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial(self.convention)
        named = sensitive_attributes(self.sensitive, curator.geometry)
        ordinary = np.ones(curator.geometry.dimension)
        for attribute in named:
            ordinary[list(curator.geometry.positions(attribute))] = 0.0
        total = objective.l1_bound(self.sensitivity)
        epsilon_n = budget.epsilon / (1 - self._beta(objective, named, ordinary) * (1 - self.gamma))
        scales = total / epsilon_n, total / (self.gamma * epsilon_n)
        noise = Noise(Laplace(), np.where(objective.products(ordinary) > 0, *scales), budget.epsilon, self._proof(objective))
        coefficients = curator.release(objective, noise)
        # the noise's largest std is the sensitive one, 1/γ times the other; in even space there is only the other
        even = np.where(ordinary > 0, 1.0, self.gamma) if self.repair == "floor" else None
        ridge = self._ridge() * (self.gamma if even is None else 1.0)
        return minimise(problem, objective, coefficients, noise, ridge, self.repair, columns=even)

    def _beta(self, objective: Polynomial, named: tuple[str, ...], ordinary: np.ndarray) -> float:
        counted: Sensitivity = "tight" if self.sensitivity == "tight" else "code"  # the constant is not noised
        rest = replace(objective, geometry=objective.geometry.without(named))
        share = 1 - rest.l1_bound(counted) / objective.l1_bound(counted)
        # a larger β would overspend: k/D is one where columns are not counted alike (one-hot groups, the ball; tight only)
        return share if self.beta_rule == "share" else min(share, float(1 - ordinary.mean()))

    def _proof(self, objective: Polynomial) -> str:
        return f"ε_n (1 - β + βγ), β at most the sensitive coefficients' share; Δ: {objective.proof(self.sensitivity)}"

    def _ridge(self) -> float:
        """Multiples of the std at ε_n."""
        if self.ridge == "code":
            return 5.0 / self.gamma
        return published_ridge(self.convention, self.repair) if self.ridge == "auto" else self.ridge


def sensitive_attributes(named: tuple[str, ...], geometry: Geometry) -> tuple[str, ...]:
    """The attributes that an option names, or else those the dataset declares."""
    return named or geometry.sensitive


def not_sensitive(named: tuple[str, ...], geometry: Geometry) -> str | None:
    """Why there is no sensitive attribute on such a table, as the end of a sentence; None where there is one."""
    known = set(geometry.attributes or geometry.columns)
    missing = [name for name in named if name not in known]
    reason = None
    if missing:
        reason = f"the table has no attribute named {missing[0]!r}.{near_names(missing[0], known)}"
    elif not sensitive_attributes(named, geometry):
        reason = f"the dataset declares no sensitive attribute. Name one with mechanism.sensitive=[...].{near_names('', known)}"
    return reason and reason.removesuffix(".")


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [SensitiveCoefficients]
