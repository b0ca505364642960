"""Logistic regression by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.fit import DIVERGED, OK, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import TargetKind
from dpbench.data.samples import CHUNK, Sample
from dpbench.privacy.curator import Curator
from dpbench.privacy.polynomial import Loss

from ._remembered import remembered

STEPS = 50
"""Newton steps before a run is called diverged; a fit that exists takes 5 to 10, to find that there is none about 20."""
TOLERANCE = 1e-8
"""A fit has converged when a step moves x'w by less, root mean square over its rows; the next one would by its square."""
NEGLIGIBLE = 1e-6
"""A gain in log-likelihood that no statistic notices. While it falls slower than tenfold a step from there, there is no minimum:
where one exists each gain is of the order of the last one's square, along a direction that separates it is the last one's 1/e."""
POINTS = 101
"""Points of a ROC curve, at even false positive rates from 0 to 1."""
DAMPING = 1e-6
"""Added to the Hessian's diagonal, not to the objective: flat directions stay put, and the fit is still the exact one."""


class Likelihood(Problem):
    """The summed log loss log(1 + exp(x'w)) - y x'w, y in {0, 1}; scored on the test rows themselves."""

    # Zhang et al. 2012, section 5.1: log 2 + (½ - y) x'w + (x'w)²/8
    loss = Loss(curvature=1 / 8, slope=(0.5, -1.0), printed_slope=1.5, printed_constant=0.0, exact=False)

    @remembered
    def exact(self, sample: Sample) -> Fit:
        weights, status = [], []
        for run in range(sample.runs):
            rows = sample.rows(run)
            found, converged = most_likely(rows.x, rows.y)
            weights.append(found)
            status.append(OK if converged else DIVERGED)
        return Fit(np.stack(weights), np.array(status))

    def predict(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """P[y = 1] of each row."""
        return probability(x @ weights)

    def score(self, weights: np.ndarray, test: Sample) -> dict[str, np.ndarray]:
        scores, curves = [], []
        for run, vector in enumerate(weights):
            rows = test.rows(run)
            y, log_odds = rows.y, rows.x @ vector
            error = np.mean((log_odds >= 0) != (y > 0.5))
            classes = _by_class(y, log_odds)
            scores.append((error, _area(*classes), np.mean(log_loss(y, log_odds))))
            curves.append(_curve(*classes))
        return {**dict(zip(("error_rate", "auc", "log_loss"), np.array(scores).T, strict=True)), "roc": np.stack(curves)}

    def reference(self, train: Sample, test: Sample) -> dict[str, np.ndarray]:
        # a training set of one class would promise certainty: the rate keeps half a row away from 0 and 1
        base = np.clip(train.moments.y / train.n, 0.5 / train.n, 1 - 0.5 / train.n)
        positive = test.moments.y / test.n
        return {
            "error_rate": np.where(base >= 0.5, 1 - positive, positive),
            "auc": np.where((positive > 0) & (positive < 1), 0.5, np.nan),
            "roc": np.tile(np.linspace(0, 1, POINTS), (len(positive), 1)),
            "log_loss": -(positive * np.log(base) + (1 - positive) * np.log1p(-base)),
        }

    def gradient(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d loss / d x'w of each row."""
        return np.asarray(probability(x @ weights) - y)

    def curvature(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d² loss / d (x'w)² of each row."""
        small = np.exp(-np.abs(x @ weights))
        return np.asarray(small / np.square(1 + small))

    def weighted(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The fit of weighted rows; weights are not negative, y may be anything from 0 to 1."""
        if (weight < 0).any():
            raise ValueError("Logistic regression cannot be fitted to rows of negative weight: the objective is not convex.")
        kept = weight > 0
        return most_likely(x[kept], y[kept], weight[kept])[0]

    def log_likelihood(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray, variance: float) -> np.ndarray:
        """Log probability of each row's class; there is no variance to know."""
        return -log_loss(y, x @ weights)


@dataclass(frozen=True)
class Logistic(Model):
    """Logistic regression: which of two classes a row belongs to.

    Minimises the sum of log(1 + exp(x'w)) - y x'w, with y = 1 where the target exceeds the table's threshold. Predictions are
    P[y = 1]. Metrics: error_rate (class 1 where P >= ½), log_loss, and auc, where ties count half (left out where the test rows
    are of one class), with the curve behind it, roc.

    The exact fit is Newton's method from w = 0 with halved steps, so it depends on the run's training rows alone. Where the
    classes can be separated, by a column or a level of one class only too, no minimum exists: the method stops where a step gains
    less than 1e-6 in log-likelihood and more are to come, with finite weights, and the run is ``diverged``.
    Directions that no row has stay at 0.

    Mechanisms on polynomials see the loss up to order 2 around w = 0 (Zhang et al. 2012,
    section 5.1; the truncation error they bound by 0.015 is 0.030, and needs |x'w| <= 1, which nothing enforces).

    Cost: about 7 passes over the training rows a run, one over its test rows a score; rows of one run at a time are in memory.
    250 runs take 0.4 s on 4,898 rows of 11 features, 60 s on 370,000 of 13, and 4 s a score there.
    """

    name: ClassVar[str] = "logistic"
    target: ClassVar[TargetKind] = "binary"
    primary: ClassVar[str] = "error_rate"
    provides: ClassVar[frozenset[Capability]] = frozenset({"polynomial", "truncation", "gradient", "weighted", "likelihood"})

    def prepare(self, curator: Curator) -> Problem:
        return Likelihood(curator.geometry, curator.n)


def most_likely(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
    """The maximum of the likelihood of (weighted) rows, and whether it was reached."""
    w = np.zeros(x.shape[1])
    total = float(len(x) if weight is None else weight.sum())
    if not total:
        return w, True
    here = _Expansion(x, y, weight, w)
    spread = 4 * here.hessian / total  # at w = 0 every row has curvature ¼: this is X'X / n
    before = np.inf
    for _ in range(STEPS):
        step = -np.linalg.solve(here.hessian + DAMPING * np.eye(len(w)), here.gradient)
        slope = float(here.gradient @ step)
        if -slope < NEGLIGIBLE and -slope > before / 10 and step @ spread @ step > TOLERANCE**2:
            break
        before, share = -slope, 1.0
        there = _Expansion(x, y, weight, w + step)
        while there.loss > here.loss * (1 + 1e-12) + 1e-4 * share * slope and share > 1e-9:
            share /= 2
            there = _Expansion(x, y, weight, w + share * step)
        w, here = w + share * step, there
        if step @ spread @ step <= TOLERANCE**2:
            return w, True
    return w, False


class _Expansion:
    """The summed loss at w, with its gradient and Hessian."""

    def __init__(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, w: np.ndarray) -> None:
        self.loss = 0.0
        self.gradient = np.zeros(len(w))
        self.hessian = np.zeros((len(w), len(w)))
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            design, target = x[part], y[part]
            log_odds = design @ w
            small = np.exp(-np.abs(log_odds))
            loss = np.maximum(log_odds, 0) + np.log1p(small) - target * log_odds
            share = 1 / (1 + small)
            slope = np.where(log_odds >= 0, share, small * share) - target
            curvature = small * share * share
            if weight is not None:
                loss, slope, curvature = loss * weight[part], slope * weight[part], curvature * weight[part]
            self.loss += float(loss.sum())
            self.gradient += slope @ design
            self.hessian += design.T @ (design * curvature[:, None])


def probability(log_odds: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-t)), without overflow."""
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0, 1.0, small) / (1 + small))


def log_loss(y: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """-log P[y] of each row, without overflow."""
    return np.asarray(np.maximum(log_odds, 0) + np.log1p(np.exp(-np.abs(log_odds))) - y * log_odds)


def area_under_curve(y: np.ndarray, score: np.ndarray) -> float:
    """How often a positive row scores higher than a negative one, ties counting half; NaN when there are no such pairs."""
    return _area(*_by_class(y, score))


def _by_class(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted scores of the positive and of the negative rows."""
    return np.sort(score[y > 0.5]), np.sort(score[y <= 0.5])


def _area(positive: np.ndarray, negative: np.ndarray) -> float:
    if not len(positive) or not len(negative):
        return float("nan")
    below = np.searchsorted(negative, positive, "left").sum() + np.searchsorted(negative, positive, "right").sum()
    return float(below) / (2 * len(positive) * len(negative))


def _curve(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """The true positive rate at even false positive rates: straight between the steps, so that a tie counts half here too."""
    if not len(positive) or not len(negative):
        return np.full(POINTS, np.nan)
    rate = np.linspace(0, 1, POINTS)
    # the step that a false positive rate falls on is that of this negative row's score
    at = negative[::-1][np.clip(np.ceil(rate * len(negative) - 1e-9).astype(int) - 1, 0, None)]
    above, with_it = (
        [1 - np.searchsorted(scores, at, side) / len(scores) for scores in (negative, positive)] for side in ("right", "left")
    )
    share = (rate - above[0]) / (with_it[0] - above[0])
    curve = above[1] + share * (with_it[1] - above[1])
    curve[-1] = 1  # who takes every negative row takes every positive one
    return np.asarray(curve)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Logistic]
