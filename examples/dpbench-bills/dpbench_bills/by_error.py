"""The attack: who is in the table?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench import Attack, MetricInfo


@dataclass(frozen=True)
class ByError(Attack):
    """Guess that the households whose bill is predicted better than the middle one of all are those that trained the model.

    The control guesses in the same way from the bills alone, without the model: the attack's gain over it was given away.

    Reference: Yeom et al. 2018, "Privacy risk in machine learning", CSF.
    """

    name: ClassVar[str] = "by_error"
    metrics: ClassVar[tuple[MetricInfo, ...]] = (
        MetricInfo(
            "advantage", "attack advantage", "The true positive rate minus the false positive rate.", "higher", headline=True
        ),
        MetricInfo("control/zero/advantage", "advantage of the control", "The same if every prediction is zero.", "neither"),
    )

    def refuses(self, model, geometry):
        return None if model.target == "real" else "it compares errors, and a class has none"

    def run(self, target):
        zero = np.zeros_like(target.weights)
        guesses = {"advantage": target.weights, "control/zero/advantage": zero}
        runs = range(len(target.weights))
        return {name: np.array([advantage(target, weights[run], run) for run in runs]) for name, weights in guesses.items()}


def advantage(target, weights, run):
    """Return the share of training rows that are guessed right, minus the share of other rows that are guessed wrong."""
    trained, others = (errors(sample, weights, run) for sample in (target.train, target.test))
    middle = np.median(np.concatenate([trained, others]))
    return np.mean(trained <= middle) - np.mean(others <= middle)


def errors(sample, weights, run):
    y, (prediction,) = sample.scores(run, [weights])
    return np.abs(y - prediction)
