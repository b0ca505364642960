"""Model inversion: guessing a person's sensitive attribute from the released model and everything else about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.attack import Attack, Target
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model
from dpbench.data.geometry import Geometry
from dpbench.data.samples import CHUNK
from dpbench.data.scaling import Rows

from ._attribute import Attribute, chosen, not_there
from ._imputation import discriminant
from ._judging import guessed, judged, stacked
from ._likelihoods import LIKELIHOODS, Kind

Posterior = Callable[[Rows], np.ndarray]
"""From rows, whose own attribute is not looked at, to log posteriors of the candidates: (rows, candidates)."""


@dataclass(frozen=True)
class ModelInversion(Attack):
    """Guesses a sensitive attribute from the model, the other attributes and the target, as the papers do, beside their controls.

    The guess is v̂ = argmax p(v) π(y, f(x with v)) over the attribute's values v (Fredrikson et al. 2014). π is the normal density
    of y - f at the training mean square (real targets); for two classes ``hard``, the share of class y among training rows with
    the same predicted class, as Wang et al. 2015 and Fang et al. 2019 take it, or ``soft``, the model's own probability of y. The
    adversary is given p and π: marginals, confusion matrix and mean square of the training rows are not paid for by ε.

    A one-hot group is guessed as a whole; a column with at most ``bins`` declared values is one of them, another one the middle
    of one of ``bins`` equal bins between its bounds. Attacked are ``share`` of each run's training rows (Fang et al., V-E) and
    its test rows (Wang et al.). auc, balanced_accuracy and advantage (accuracy less that of the commonest value) are those of
    training rows.

    **What it shows.** That the model relates the attribute to the target, which it does for rows that never trained as well:
    an accuracy above the prior is no breach of differential privacy, and noise lowers it only by making the model worse. What ε
    limits is ``gap``, accuracy_train less accuracy_test, by ``cap``. The papers leave out the controls that say so:
    ``control/majority`` (the commonest value), ``control/imputation`` (linear discriminant analysis from the other attributes
    and the target, fitted to training rows that are not attacked: no model, and usually far stronger than the attack; see
    Jayaraman and Evans 2022), and ``control/without_sensitive`` (the exact fit without the attribute: what the attack gets out
    of it, which is the prior, and its scores).

    Cost: one pass over the training rows of each run, one run in memory at a time; the controls once for all cells of a unit.
    """

    name: ClassVar[str] = "model_inversion"
    needs: ClassVar[frozenset[Capability]] = frozenset({"likelihood"})

    sensitive: str = option("", help="the attribute; empty: the first that the dataset declares sensitive")
    likelihood: Literal["auto", "hard", "soft"] = option("auto", help="π for two classes; auto: hard, as in the papers")
    prior: Literal["training", "uniform"] = option("training", help="p: the training marginal, or all values that occur alike")
    bins: int = option(16, low=2, high=256, help="bins of a continuous attribute, or of one with more values")
    share: float = option(0.2, low=0, high=1, open_low=True, help="share of each run's training rows that is attacked")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if self.likelihood == "hard" and model.target != "binary":
            return "the hard likelihood counts predicted classes, and the target is real (likelihood=soft)"
        return not_there(self.sensitive, geometry)

    def run(self, target: Target) -> dict[str, np.ndarray]:
        own = _Inversion(self, target)
        controls = target.remember(("model_inversion controls", self), own.controls)
        return {**own.attacked(own.inverted(target.weights)), **controls}


class _Inversion:
    """The attack on one block of runs."""

    def __init__(self, attack: ModelInversion, target: Target) -> None:
        self.options = attack
        self.target = target
        geometry = target.problem.geometry
        self.attribute = Attribute.of(chosen(attack.sensitive, geometry), geometry, attack.bins)
        self.others = np.setdiff1d(np.arange(1, geometry.features + 2), 1 + self.attribute.features)

    def attacked(self, learn: Callable[[int, Rows, np.ndarray], Posterior]) -> dict[str, np.ndarray]:
        """The numbers of each run; ``learn`` gets the run, its training rows and which of them are attacked."""
        target, level = self.target, self.attribute.level
        numbers = []
        for run in range(target.train.runs):
            train = target.train.rows(run)
            picked = self._picked(run, train.n)
            posterior = learn(run, train, picked)
            inside, outside = train.take(picked), target.test.rows(run)
            majority = int(guessed(self._log_prior(train, "training")[None])[0])
            numbers.append(
                judged((_chunked(posterior, inside), level(inside)), (_chunked(posterior, outside), level(outside)), majority)
            )
        return stacked(numbers)

    def inverted(self, weights: np.ndarray) -> Callable[[int, Rows, np.ndarray], Posterior]:
        """p(v) π(y, f(x with v)) for one weight vector a run."""
        problem, attribute = self.target.problem, self.attribute
        auto: Kind = "hard" if problem.geometry.target == "binary" else "soft"
        kind = auto if self.options.likelihood == "auto" else self.options.likelihood

        def learn(run: int, train: Rows, picked: np.ndarray) -> Posterior:
            vector = weights[run]
            own = vector[attribute.features + problem.geometry.intercept]
            likelihood = LIKELIHOODS[kind](problem, train.y, train.x @ vector)
            log_prior = self._log_prior(train, self.options.prior)

            def posterior(rows: Rows) -> np.ndarray:
                rest = rows.x @ vector - rows.z[:, 1 + attribute.features] @ own
                found = likelihood(rows.y, rest[:, None] + attribute.values @ own)
                # less the largest first: equal likelihoods leave the prior alone, to the last bit
                return np.asarray(found - found.max(axis=1, keepdims=True) + log_prior)

            return posterior

        return learn

    def controls(self) -> dict[str, np.ndarray]:
        """What needs no released weights."""
        fit, scores = self._without()
        found = {
            "majority": self.attacked(self._majority),
            "imputation": self.attacked(self._imputed),
            "without_sensitive": {
                **self.attacked(self.inverted(fit)),
                **{f"utility/{name}": values for name, values in scores.items()},
            },
        }
        return {f"control/{control}/{name}": values for control, numbers in found.items() for name, values in numbers.items()}

    def _majority(self, run: int, train: Rows, picked: np.ndarray) -> Posterior:
        log_prior = self._log_prior(train, "training")
        return lambda rows: np.broadcast_to(log_prior, (rows.n, len(log_prior)))

    def _imputed(self, run: int, train: Rows, picked: np.ndarray) -> Posterior:
        free = np.ones(train.n, dtype=bool)
        free[picked] = len(picked) == train.n  # where all are attacked there is nobody else to learn from
        rest = train.take(np.flatnonzero(free))
        guess = discriminant(rest.z[:, self.others], self.attribute.level(rest), self.attribute.size)
        return lambda rows: guess(rows.z[:, self.others])

    def _without(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The exact fit of the other columns with zeros put back, and its scores on the test rows."""
        target, geometry = self.target, self.target.problem.geometry
        weights = np.zeros((target.train.runs, geometry.dimension))
        train, test = (sample.without([self.attribute.name]) for sample in (target.train, target.test))
        if not train.geometry.dimension:
            return weights, {}
        problem = target.problem.on(train.geometry)
        fit = problem.exact(train).weights
        kept = np.setdiff1d(np.arange(geometry.dimension), self.attribute.features + geometry.intercept)
        weights[:, kept] = np.where(np.isfinite(fit), fit, 0.0)
        return weights, problem.score(weights[:, kept], test)

    def _picked(self, run: int, n: int) -> np.ndarray:
        """The attacked training rows of a run, the same for every mechanism and ε."""
        repeat, fold = self.target.block.runs[run]
        generator = self.target.stream("model_inversion rows", repeat, fold)
        return np.sort(generator.choice(n, max(1, round(self.options.share * n)), replace=False))

    def _log_prior(self, train: Rows, kind: str) -> np.ndarray:
        counts = np.bincount(self.attribute.level(train), minlength=self.attribute.size)
        share = counts / counts.sum() if kind == "training" else (counts > 0) / (counts > 0).sum()
        with np.errstate(divide="ignore"):  # a value that nobody has is never guessed
            return np.asarray(np.log(share))


def _chunked(posterior: Posterior, rows: Rows) -> np.ndarray:
    starts = range(0, rows.n, CHUNK)
    return np.concatenate([posterior(replace(rows, z=rows.z[start : start + CHUNK])) for start in starts])


@hookimpl
def dpbench_attacks() -> list[type[Attack]]:
    return [ModelInversion]
