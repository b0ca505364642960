"""Membership inference: guess from the released model whether a row was among its training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.attack import Attack, AttackTarget
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Problem
from dpbench.data.scaling import Rows
from dpbench.records.metric_info import MetricInfo

from ..metrics.classification import area_under_curve
from ._guess_metrics import Metrics, stack_runs
from ._shadow_fits import Evidence, evidence, members, shadow_block

FALSE_POSITIVE_RATE = 0.01
"""The rate at which tpr_at_1_fpr reads the ROC curve."""
METRICS = (
    MetricInfo("accuracy_train", "attack accuracy on training rows", "The share of members that are guessed right.", "higher"),
    MetricInfo("accuracy_test", "attack accuracy on other rows", "The share of other rows that are guessed right.", "higher"),
    MetricInfo("balanced_accuracy", "balanced attack accuracy", "The mean of the two accuracies.", "higher"),
    MetricInfo("auc", "attack: area under the ROC curve", "How often a member scores higher than another row.", "higher"),
    MetricInfo("advantage", "attack advantage", "The true positive rate minus the false positive rate.", "higher", headline=True),
    MetricInfo(
        "tpr_at_1_fpr",
        "true positive rate at 1 % false ones",
        "The true positive rate at a false positive rate of 1 %.",
        "higher",
    ),
)

NAMES = tuple(info.name for info in METRICS)


def by_loss_alone(info: MetricInfo) -> MetricInfo:
    """Return the information about the same metric of the attack without shadow fits."""
    meaning = f"{info.meaning} By the loss alone."
    return replace(info, name=f"loss/{info.name}", label=f"{info.label}, by the loss alone", meaning=meaning, headline=False)


@dataclass(frozen=True)
class Membership(Attack):
    """Guess which rows trained the model: by a likelihood ratio against shadow fits, and by the loss alone.

    The likelihood-ratio attack (Carlini et al. 2022) fits the same mechanism, with fresh noise, to ``fits`` random splits of
    the table. From these fits it learns, for each of ``targets`` rows, the distribution of x'w with the row and without it: two
    normal laws with one variance. It guesses that a row is a member if the first law is likelier. ``loss/…`` are the same
    metrics without shadow fits: a row is a member if its loss is below the mean loss of the training rows (Yeom et al. 2018).
    The same random rows are evaluated in every run; a row counts as a member if it trained the run.

    advantage is the true positive rate minus the false positive rate at that fixed threshold, so no choice among thresholds
    makes its mean too large. In expectation it is at most ``cap``, (e^ε - 1 + 2δ)/(e^ε + 1), for a release that is (ε, δ)-DP:
    an interval above the cap refutes the guarantee. An advantage far below the cap proves nothing, because these rows are
    ordinary ones and the cap holds for the worst row of the worst table. tpr_at_1_fpr is the true positive rate at a false
    positive rate of 1 %; its limit is e^ε % + δ. accuracy_train and accuracy_test are the shares of members and of other rows
    that are guessed right.

    Reference: Carlini et al. 2022, "Membership inference attacks from first principles", IEEE S&P; Yeom et al. 2018, "Privacy
    risk in machine learning: analyzing the connection to overfitting", CSF.

    Cost: ``fits`` additional fits per cell, in one batch (or per repeat, if the table is redrawn for each repeat), and one
    product of the evaluated rows with all weights.
    """

    name: ClassVar[str] = "membership"
    needs: ClassVar[frozenset[Capability]] = frozenset({"likelihood"})
    metrics = (*METRICS, *(by_loss_alone(info) for info in METRICS))

    targets: int = option(4000, low=2, help="number of evaluated rows, drawn once (at most the rows of the table)")
    fits: int = option(128, low=8, help="number of shadow fits")

    def run(self, target: AttackTarget) -> dict[str, np.ndarray]:
        block = target.block
        metrics: list[Metrics] = []
        evaluated: _EvaluatedRows | None = None
        for run, (repeat, fold) in enumerate(block.runs):
            table = block.rows(repeat)
            if evaluated is None or evaluated.table is not table:  # all repeats share a table unless it is redrawn for each
                evaluated = self._evaluated_rows(target, repeat, table)
            is_member = members(block, repeat, fold, evaluated.positions)
            metrics.append(evaluated.metrics(target.problem, target.weights[run], is_member))
        return stack_runs(metrics)

    def _evaluated_rows(self, target: AttackTarget, repeat: int, table: Rows) -> _EvaluatedRows:
        positions = np.sort(target.stream("membership rows").permutation(table.n)[: self.targets])
        shadows = target.remember(("shadows", self.fits, repeat), lambda: shadow_block(target, repeat, self.fits))
        return _EvaluatedRows(table, positions, table.take(positions), evidence(target, shadows, table, positions))


@dataclass(frozen=True)
class _EvaluatedRows:
    """The rows whose membership is guessed, and what the shadow fits say about them."""

    table: Rows
    positions: np.ndarray
    rows: Rows
    evidence: Evidence

    def metrics(self, problem: Problem, weights: np.ndarray, is_member: np.ndarray) -> Metrics:
        """Return the metrics of one release."""
        x, y = self.rows.x, self.rows.y
        gain = problem.log_likelihood(x, y, weights, 1.0)  # minus the loss
        by_loss = score_metrics(gain, is_member, float(gain[is_member].mean()) if is_member.any() else 0.0)
        by_ratio = score_metrics(self.evidence.log_ratio(x @ weights), is_member, 0.0)
        return {**by_ratio, **{f"loss/{name}": value for name, value in by_loss.items()}}


def score_metrics(score: np.ndarray, is_member: np.ndarray, threshold: float) -> Metrics:
    """Measure how well a score separates members from other rows; rows above the threshold are guessed to be members."""
    if is_member.all() or not is_member.any():
        return dict.fromkeys(NAMES, float("nan"))  # there is nothing to separate
    guess = score > threshold
    true_positives, false_positives = float(guess[is_member].mean()), float(guess[~is_member].mean())
    others = np.sort(score[~is_member])
    strict_threshold = others[len(others) - 1 - int(FALSE_POSITIVE_RATE * len(others))]
    values = (
        true_positives,
        1 - false_positives,
        (true_positives + 1 - false_positives) / 2,
        area_under_curve(is_member.astype(float), score),
        true_positives - false_positives,
        float((score[is_member] > strict_threshold).mean()),
    )
    return dict(zip(NAMES, values, strict=True))


@hookimpl
def dpbench_attacks() -> list[type[Attack]]:
    return [Membership]
