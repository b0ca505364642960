"""Fit diffprivlib's LinearRegression many times; run by dpbench.base.outside_package in diffprivlib's own environment.

Each row of ``weights`` is a fit: the intercept, if there is one, and the coefficients. ``answers`` are the numbers that its noise
mechanisms returned, ``epsilons`` the ε that each of them was built with, and ``sensitivities`` theirs, in the order of the calls.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib import BudgetAccountant, mechanisms
from diffprivlib.models import LinearRegression


def main() -> None:
    folder = Path(sys.argv[1])
    options = json.loads((folder / "options.json").read_text())
    with np.load(folder / "arrays.npz") as arrays:
        features, target = arrays["features"], arrays["target"]
    calls = record_calls()
    warnings.simplefilter("ignore")
    random = np.random.RandomState(options["seed"])
    bounds = {"bounds_X": tuple(options["bounds_x"]), "bounds_y": tuple(options["bounds_y"])}
    weights, answers = [], []
    for _ in range(options["runs"]):
        calls.clear()
        model = LinearRegression(
            epsilon=options["epsilon"],
            fit_intercept=options["intercept"],
            random_state=random,
            accountant=BudgetAccountant(),
            **bounds,
        )
        model.fit(features, target)
        weights.append([*[float(model.intercept_)][: options["intercept"]], *model.coef_])
        answers.append([answer for answer, *_ in calls])
    epsilons, sensitivities = zip(*(budget for _, *budget in calls), strict=True)
    np.savez(folder / "results.npz", weights=weights, answers=answers, epsilons=epsilons, sensitivities=sensitivities)


def record_calls() -> list[tuple[float, float, float]]:
    """Return a list to which every noise mechanism writes what it returned, its ε and its sensitivity."""
    calls: list[tuple[float, float, float]] = []

    def recording(cls: type) -> None:
        randomise = cls.randomise
        depth = 0

        def recorded(self, value):
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
