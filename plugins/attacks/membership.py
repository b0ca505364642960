"""Membership inference: guessing from the released model whether a row was among those that trained it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.attack import Attack, Target
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Problem
from dpbench.data.scaling import Rows

from ..models.logistic import area_under_curve
from ._judging import Numbers, stacked
from ._shadows import Evidence, evidence, members, shadow_block

FALSE_ALARMS = 0.01
NAMES = ("accuracy_train", "accuracy_test", "balanced_accuracy", "auc", "advantage", "tpr_at_1_fpr")


@dataclass(frozen=True)
class Membership(Attack):
    """Guesses which rows trained the model: by a likelihood ratio against shadow fits, and by the loss alone.

    The likelihood-ratio attack (Carlini et al. 2022) fits the same mechanism to ``fits`` random splits of the table, with noise
    of its own, and learns for each of ``targets`` rows how x'w is distributed with the row and without it: two normal laws of
    one variance. A row is accused where the first is likelier. ``loss/…`` are the same numbers without shadows: a row is
    accused where its loss is below the mean loss of those that trained (Yeom et al. 2018). Judged are the same random rows in
    all runs, as members where they trained the run.

    advantage is true less false positives at that fixed threshold, so its mean is not flattered by a choice among thresholds, and
    for a release that is (ε, δ)-DP it is at most ``cap``, (e^ε - 1 + 2δ)/(e^ε + 1), in expectation: an interval above the cap
    refutes the guarantee. An advantage far below it proves nothing: these rows are ordinary ones, the cap is about the worst
    row of the worst table. tpr_at_1_fpr, the true positives at 1 % false ones, is at most e^ε % + δ.
    accuracy_train and accuracy_test are the members and the others that are told rightly.

    Cost: ``fits`` further fits a cell, in one batch (a table redrawn for each repeat: for each), then one product of the judged
    rows with all weights.
    """

    name: ClassVar[str] = "membership"
    needs: ClassVar[frozenset[Capability]] = frozenset({"likelihood"})

    targets: int = option(4000, low=2, help="rows that are judged, drawn once; fewer where the table has fewer")
    fits: int = option(128, low=8, help="shadow fits")

    def run(self, target: Target) -> dict[str, np.ndarray]:
        block = target.block
        numbers: list[Numbers] = []
        judged: _Judged | None = None
        for run, (repeat, fold) in enumerate(block.runs):
            table = block.rows(repeat)
            if judged is None or judged.table is not table:  # one table for all repeats, unless it is drawn anew for each
                judged = self._judged(target, repeat, table)
            inside = members(block, repeat, fold, judged.picked)
            numbers.append(judged.told(target.problem, target.weights[run], inside))
        return stacked(numbers)

    def _judged(self, target: Target, repeat: int, table: Rows) -> _Judged:
        picked = np.sort(target.stream("membership rows").permutation(table.n)[: self.targets])
        shadows = target.remember(("shadows", self.fits, repeat), lambda: shadow_block(target, repeat, self.fits))
        return _Judged(table, picked, table.take(picked), evidence(target, shadows, table, picked))


@dataclass(frozen=True)
class _Judged:
    """The rows that are judged, and what the shadows say about them."""

    table: Rows
    picked: np.ndarray
    rows: Rows
    evidence: Evidence

    def told(self, problem: Problem, weights: np.ndarray, inside: np.ndarray) -> Numbers:
        """The numbers of one release."""
        x, y = self.rows.x, self.rows.y
        gain = problem.log_likelihood(x, y, weights, 1.0)  # the loss with its sign turned
        by_loss = told(gain, inside, float(gain[inside].mean()) if inside.any() else 0.0)
        by_ratio = told(self.evidence.log_ratio(x @ weights), inside, 0.0)
        return {**by_ratio, **{f"loss/{name}": value for name, value in by_loss.items()}}


def told(score: np.ndarray, member: np.ndarray, threshold: float) -> Numbers:
    """How well a score that is larger for members tells them from others; accused is who lies above the threshold."""
    if member.all() or not member.any():
        return dict.fromkeys(NAMES, float("nan"))  # nobody to tell from anybody
    accused = score > threshold
    found, alarms = float(accused[member].mean()), float(accused[~member].mean())
    others = np.sort(score[~member])
    strict = others[len(others) - 1 - int(FALSE_ALARMS * len(others))]
    area, sure = area_under_curve(member.astype(float), score), float((score[member] > strict).mean())
    return dict(zip(NAMES, (found, 1 - alarms, (found + 1 - alarms) / 2, area, found - alarms, sure), strict=True))


@hookimpl
def dpbench_attacks() -> list[type[Attack]]:
    return [Membership]
