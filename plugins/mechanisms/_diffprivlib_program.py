"""Fit diffprivlib's estimators many times; run by dpbench.base.outside_package in diffprivlib's own environment.

Each row of ``weights`` is a fit: the intercept, if there is one, and the coefficients. ``answers`` are the numbers that the noise
mechanisms of LinearRegression returned, ``epsilons`` the ε that each of them was built with in the last fit, and
``sensitivities`` theirs, in the order of the calls.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib import BudgetAccountant, mechanisms
from diffprivlib.models import LinearRegression, LogisticRegression

ESTIMATORS = {"linear": LinearRegression, "logistic": LogisticRegression}


def main() -> None:
    folder = Path(sys.argv[1])
    written = json.loads((folder / "options.json").read_text())
    options: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in written.items()}
    with np.load(folder / "arrays.npz") as arrays:
        tables = [np.split(arrays[name], arrays["ends"][:-1]) for name in ("features", "target")]
        seeds = np.split(arrays["seeds"], np.cumsum(arrays["fits"])[:-1])
    estimator = ESTIMATORS[options.pop("estimator")]
    calls = record_calls()
    warnings.simplefilter("ignore")
    weights, answers = [], []
    for features, target, seeds_here in zip(*tables, seeds, strict=True):
        for seed in seeds_here:
            calls.clear()
            model = estimator(random_state=np.random.RandomState(seed), accountant=BudgetAccountant(), **options)
            model.fit(features, target)
            intercept = np.ravel(model.intercept_)[: options["fit_intercept"]]
            weights.append(np.concatenate([intercept, np.ravel(model.coef_)]))
            answers.append([answer for answer, *_ in calls])
    _, epsilons, sensitivities = np.reshape(calls, (-1, 3)).T
    np.savez(folder / "results.npz", weights=weights, answers=answers, epsilons=epsilons, sensitivities=sensitivities)


def record_calls() -> list[tuple[float, float, float]]:
    """Return a list to which every noise mechanism writes what it returned, its ε and its sensitivity."""
    calls: list[tuple[float, float, float]] = []

    def recording(cls: Any) -> None:
        randomise = cls.randomise
        depth = 0

        def recorded(self: Any, value: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                answer = randomise(self, value)
            finally:
                depth -= 1
            if type(self) is cls and depth == 0:
                calls.append((float(answer), self.epsilon, self.sensitivity))
            return answer

        cls.randomise = recorded

    for name in ("Laplace", "LaplaceTruncated", "LaplaceFolded"):
        recording(getattr(mechanisms, name))
    return calls


if __name__ == "__main__":
    main()
