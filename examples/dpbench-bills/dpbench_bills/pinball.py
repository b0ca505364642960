"""The metric: how good a prediction of an upper bound is."""

import numpy as np

from dpbench import Metric

LEVEL = 0.8
"""The share of targets that should lie below their predictions."""


def pinball_loss(rows):
    """Return the mean of 0.8 times what targets lie above their prediction, or 0.2 times what they lie below it."""
    error = rows.y - rows.score
    return np.mean(np.maximum(LEVEL * error, (LEVEL - 1) * error))


MEANING = "The mean pinball loss at 0.8: smallest where 80 % of the test targets lie below their predictions (Koenker 1978)."
PINBALL = Metric("pinball", "pinball loss", MEANING, "lower", compute_run=pinball_loss, low=0)
