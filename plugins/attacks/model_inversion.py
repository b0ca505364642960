"""Model inversion: guess a person's sensitive attribute from the released model and everything else about the person."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.attack import Attack, AttackTarget
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.records.metric_info import MetricInfo

from .._sensitive import lacks_sensitive
from ._attribute import Attribute
from ._guess_metrics import METRICS, guess_metrics, likeliest, stack_runs
from ._imputation import discriminant
from ._likelihoods import LIKELIHOODS, Kind
from ._unknown import Unknown

Posterior = Callable[[Rows], np.ndarray]
"""From rows to log posteriors of the candidates, (rows, candidates). It does not use the rows' own values of the attribute."""
Learner = Callable[[int, Rows, np.ndarray], Posterior]
"""From a run, its training rows and the positions of the attacked ones to a posterior."""

MAX_UNKNOWN = 4096
"""The most combinations of values of the unknown attributes: each is tried for each row and each value of the guessed one."""
CONTROLS = ("majority", "imputation", "without_sensitive")


def of_control(control: str, info: MetricInfo) -> MetricInfo:
    """Return the information about the same metric of a control."""
    label = control.replace("_", " ")
    meaning = f"{info.meaning} Of the control {label}, which needs no release."
    headline = info.name == "advantage"
    return MetricInfo(f"control/{control}/{info.name}", f"control: {label}", meaning, info.better, headline=headline)


@dataclass(frozen=True)
class ModelInversion(Attack):
    """Guess a sensitive attribute from the model, the other attributes and the target, with the controls that papers leave out.

    The guess is v̂ = argmax p(v) π(y, f(x with v)) over the attribute's values v (Fredrikson et al. 2014). For real targets, π is
    the normal density of y - f with the training mean square as variance. For two classes it is ``hard``, the share of class y
    among training rows with the same predicted class (Wang et al. 2015, Fang et al. 2019), or ``soft``, the model's own
    probability of y. The adversary knows p and π: no ε pays for the marginals, the confusion matrix and the mean square of the
    training rows.

    A one-hot group is guessed as a whole. A column with at most ``bins`` declared values is guessed as one of them, any other
    column as the middle of one of ``bins`` equal bins between its bounds. The attack guesses the attribute of ``share`` of each
    run's training rows (Fang et al., V-E) and of its test rows (Wang et al.). auc, balanced_accuracy and advantage (accuracy
    minus that of guessing the commonest value) refer to the training rows.

    ``unknown`` names attributes that the adversary does not know either: they are summed out, v̂ = argmax Σ_u p(v, u) π(y, f(x
    with v and u)), and imputation does not use them. Fredrikson et al. weigh by the product of the marginals, which is the same
    for independent attributes. p(v, u) is the share of training rows, because the columns of one attribute exclude each other: by
    the product, a person would be single and married at once.

    **What it shows.** It shows that the model relates the attribute to the target, for rows that never trained as well. An
    accuracy above the prior is no breach of differential privacy, and noise lowers it only by making the model worse. What ε
    limits is ``gap``, accuracy_train minus accuracy_test, by ``cap``. Three controls, which the papers leave out, show this:
    ``control/majority`` guesses the commonest value. ``control/imputation`` guesses from the other attributes and the target
    without a model, by linear discriminant analysis fitted to training rows that are not attacked; it is usually far stronger
    than the attack (see Jayaraman and Evans 2022). ``control/without_sensitive`` attacks the exact fit without the attribute,
    which yields the prior, and also holds that fit's scores.

    Reference: Fredrikson et al. 2014, "Privacy in pharmacogenetics", USENIX Security; Wang et al. 2015, "Regression model
    fitting under differential privacy and model inversion attack", IJCAI; Jayaraman and Evans 2022, "Are attribute inference
    attacks just imputation?", CCS.

    Cost: one pass over the training rows of each run, with one run in memory at a time; the controls once for all cells of a work
    unit.
    """

    name: ClassVar[str] = "model_inversion"
    needs: ClassVar[frozenset[Capability]] = frozenset({"likelihood"})
    metrics = (*METRICS, *(of_control(control, info) for control in CONTROLS for info in METRICS))

    sensitive: str = option("", names_attributes=True, help="the attribute; empty: the first that the dataset declares sensitive")
    unknown: tuple[str, ...] = option(
        (), names_attributes=True, help="further attributes that the attacker does not know, such as is_single"
    )
    likelihood: Literal["auto", "hard", "soft"] = option("auto", help="π for two classes; auto: hard, as in the papers")
    prior: Literal["training", "uniform"] = option(
        "training", help="p: the training marginal, or equal for all values that occur"
    )
    bins: int = option(16, low=2, high=256, help="bins of a continuous attribute, or of one with more values")
    share: float = option(0.2, low=0, high=1, open_low=True, help="share of each run's training rows that are attacked")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if self.likelihood == "hard" and model.target != "binary":
            return "the hard likelihood counts predicted classes, and the target is real (likelihood=soft)"
        if reason := lacks_sensitive(self.named, geometry, "attack.sensitive=…"):
            return reason
        if self.unknown and (reason := lacks_sensitive(self.unknown, geometry, "attack.unknown=[…]")):
            return reason
        if self.guessed(geometry) in self.unknown:
            return f"the attribute {self.guessed(geometry)!r} is guessed, so attack.unknown cannot name it"
        combinations = math.prod(Attribute.of(name, geometry, self.bins).size for name in self.unknown)
        if combinations > MAX_UNKNOWN:
            return f"the attributes of attack.unknown have {combinations:,} combinations of values, more than {MAX_UNKNOWN:,}"
        return None

    def remarks(self, geometry: Geometry) -> tuple[str, ...]:
        attributes = (Attribute.of(name, geometry, self.bins) for name in (self.guessed(geometry), *self.unknown))
        binned = [attribute.name for attribute in attributes if not attribute.declared]
        if not binned:
            return ()
        text = f"{self.name} treats {' and '.join(binned)} as {self.bins} equal bins and takes the middle of a bin for its value"
        return (f"{text}, which may never occur. Declare a column with few values by them: kind: integer, or levels.",)

    def guessed(self, geometry: Geometry) -> str:
        """Return the attribute that is guessed: the one that the option names, or the dataset's first sensitive one."""
        return (*self.named, *geometry.sensitive)[0]

    @property
    def named(self) -> tuple[str, ...]:
        """The attribute that the option names, if it names one."""
        return (self.sensitive,) if self.sensitive else ()

    def run(self, target: AttackTarget) -> dict[str, np.ndarray]:
        inversion = _Inversion(self, target)
        controls = target.remember(("model_inversion controls", self), inversion.controls)
        return {**inversion.metrics(inversion.invert(target.weights)), **controls}


class _Inversion:
    """The attack on one block of runs."""

    def __init__(self, attack: ModelInversion, target: AttackTarget) -> None:
        self.options = attack
        self.target = target
        geometry = target.problem.geometry
        self.attribute = Attribute.of(attack.guessed(geometry), geometry, attack.bins)
        self.unknown = Unknown([Attribute.of(name, geometry, attack.bins) for name in attack.unknown])
        # the features that the attacker knows, and the target, as columns of Rows.z
        hidden = np.concatenate([self.attribute.features, self.unknown.features])
        self.others = np.setdiff1d(np.arange(1, geometry.features + 2), 1 + hidden)

    def metrics(self, learn: Learner) -> dict[str, np.ndarray]:
        """Return the metrics of each run when the attacker uses the learned posteriors."""
        target, truth = self.target, self.attribute.candidates
        runs = []
        for run in range(target.train.runs):
            train = target.train.rows(run)
            positions = self._attacked_positions(run, train.n)
            posterior = learn(run, train, positions)
            attacked, test = train.take(positions), target.test.rows(run)
            on_train, on_test = ((_in_chunks(posterior, rows), truth(rows)) for rows in (attacked, test))
            majority = int(likeliest(self._log_prior(train, "training")[None])[0])
            runs.append(guess_metrics(on_train, on_test, majority))
        return stack_runs(runs)

    def invert(self, weights: np.ndarray) -> Learner:
        """Return the attack of Fredrikson et al., p(v) π(y, f(x with v)), on the weights of each run."""
        problem, attribute = self.target.problem, self.attribute
        auto: Kind = "hard" if problem.geometry.target == "binary" else "soft"
        kind = auto if self.options.likelihood == "auto" else self.options.likelihood

        def learn(run: int, train: Rows, positions: np.ndarray) -> Posterior:
            vector = weights[run]
            weight = vector[problem.geometry.intercept :]  # of the features
            likelihood = LIKELIHOODS[kind](problem, train.y, train.x @ vector)
            log_prior = self._log_prior(train, self.options.prior)
            values = attribute.values @ weight[attribute.features]
            combinations = self.unknown.combinations(train, attribute.candidates(train), attribute.size)

            def posterior(rows: Rows) -> np.ndarray:
                known = rows.x @ vector - rows.z[:, 1 + attribute.features] @ weight[attribute.features]
                if not combinations:
                    fit = likelihood(rows.y, known[:, None] + values)
                else:
                    hidden = self.unknown.features
                    known -= rows.z[:, 1 + hidden] @ weight[hidden]
                    sums = ((known[:, None] + values + part @ weight[hidden], share) for part, share in combinations)
                    fit = np.logaddexp.reduce([likelihood(rows.y, linear) + share for linear, share in sums])
                # subtract the largest first: if all likelihoods are equal, the result is the prior to the last bit
                return np.asarray(fit - fit.max(axis=1, keepdims=True) + log_prior)

            return posterior

        return learn

    def controls(self) -> dict[str, np.ndarray]:
        """Return the metrics of the controls, which need no released weights."""
        weights, scores = self._fit_without_attribute()
        controls = {
            "majority": self.metrics(self._majority),
            "imputation": self.metrics(self._imputation),
            "without_sensitive": {
                **self.metrics(self.invert(weights)),
                **{f"utility/{name}": values for name, values in scores.items()},
            },
        }
        return {f"control/{control}/{name}": values for control, metrics in controls.items() for name, values in metrics.items()}

    def _majority(self, run: int, train: Rows, positions: np.ndarray) -> Posterior:
        log_prior = self._log_prior(train, "training")
        return lambda rows: np.broadcast_to(log_prior, (rows.n, len(log_prior)))

    def _imputation(self, run: int, train: Rows, positions: np.ndarray) -> Posterior:
        unattacked = np.ones(train.n, dtype=bool)
        unattacked[positions] = len(positions) == train.n  # if all rows are attacked, there are no others to learn from
        known = train.take(np.flatnonzero(unattacked))
        guess = discriminant(known.z[:, self.others], self.attribute.candidates(known), self.attribute.size)
        return lambda rows: guess(rows.z[:, self.others])

    def _fit_without_attribute(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the exact fit of the other columns, with zeros for the attribute's, and its scores on the test rows."""
        target, geometry = self.target, self.target.problem.geometry
        weights = np.zeros((target.train.runs, geometry.dimension))
        train, test = (sample.without([self.attribute.name]) for sample in (target.train, target.test))
        if not train.geometry.dimension:
            return weights, {}
        problem = target.problem.with_geometry(train.geometry)
        fit = problem.exact(train).weights
        others = np.setdiff1d(np.arange(geometry.dimension), self.attribute.features + geometry.intercept)
        weights[:, others] = np.where(np.isfinite(fit), fit, 0.0)
        return weights, target.evaluate(weights[:, others], test)

    def _attacked_positions(self, run: int, n: int) -> np.ndarray:
        """Return which training rows of a run are attacked: the same ones for every mechanism and ε."""
        repeat, fold = self.target.block.runs[run]
        generator = self.target.stream("model_inversion rows", repeat, fold)
        return np.sort(generator.choice(n, max(1, round(self.options.share * n)), replace=False))

    def _log_prior(self, train: Rows, kind: str) -> np.ndarray:
        counts = np.bincount(self.attribute.candidates(train), minlength=self.attribute.size)
        share = counts / counts.sum() if kind == "training" else (counts > 0) / (counts > 0).sum()
        with np.errstate(divide="ignore"):  # a value that no row has is never guessed: log 0
            return np.asarray(np.log(share))


def _in_chunks(posterior: Posterior, rows: Rows) -> np.ndarray:
    """Compute the posterior chunk by chunk, because its intermediate arrays are (rows, candidates)."""
    return np.concatenate([posterior(chunk) for chunk in rows.chunks()])


@hookimpl
def dpbench_attacks() -> list[type[Attack]]:
    return [ModelInversion]
