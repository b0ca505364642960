"""Compare a fit with fits under fresh noise, whose seed nobody can guess.

This finds mechanisms that compute the simulated noise again from its seed, and subtract it. The recorded result of a mechanism
that knows only its noisy answers is one of many that noise could have given. In each run, its distance from the exact fit is
therefore as likely to have any rank among the distances of fits with fresh noise. If it ranks first in run after run, the
mechanism knows more.
"""

import secrets
import time
from collections.abc import Callable, Sequence

import numpy as np
import scipy  # scipy.special is imported when it is first used: mechanisms that ship with dpbench are not checked

from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation

FALSE_ALARMS = 1e-6
"""The probability with which a sound fit is refused."""
REFITS = (9, 19, 49, 99, 199, 399)
"""How often a fit is repeated: the least number with which first ranks in all runs are significant."""
MAX_SECONDS = 5.0

Refit = Callable[[Draws], np.ndarray]
"""Return the weights (runs, D) with these draws."""


def check_fresh_noise(weights: np.ndarray, exact: np.ndarray, runs: Sequence[tuple[int, int]], refit: Refit) -> None:
    """Raise :class:`Violation` if the weights lie nearer to the exact ones than fresh noise would leave them."""
    start = time.process_time()
    fresh: list[np.ndarray] = []
    most = next((count for count in REFITS if _p_value(np.full(len(weights), 1 / (count + 1))) < FALSE_ALARMS), REFITS[-1])
    while len(fresh) < most and time.process_time() - start < MAX_SECONDS:
        fresh.append(_distances(refit(Draws(secrets.randbits(60), "fresh noise", runs)), exact))
    recorded = _distances(weights, exact)
    # ties count against the suspicion: a mechanism may return the same weights under all noise
    shares = (1 + (np.stack(fresh) <= recorded).sum(axis=0)) / (1 + len(fresh))
    if (p_value := _p_value(shares)) < FALSE_ALARMS:
        raise Violation(
            f"With fresh noise the weights lie further from the exact fit than with the recorded noise (p = {p_value:.1g})."
        )


def _distances(weights: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return how far each run's weights are from the exact ones; weights that are not finite are infinitely far."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.nan_to_num(np.abs(weights - exact).sum(axis=1), nan=np.inf, posinf=np.inf))


def _p_value(shares: np.ndarray) -> float:
    """Return the probability of so small shares, which would be independent and uniform (Fisher 1932)."""
    return float(scipy.special.gammaincc(len(shares), -np.log(shares).sum()))
