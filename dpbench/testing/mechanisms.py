"""Checks of what a mechanism does: its fits, on ordinary and on hard tables, and how they depend on the seed and on ε."""

from itertools import pairwise
from typing import get_args

import numpy as np

from dpbench.accounting.costs import Currency
from dpbench.audit.deterministic_checks import check_runs_alone, fit_batch
from dpbench.base.errors import described, near_names
from dpbench.contracts.fit import FAILED_TEST, OK
from dpbench.contracts.model import Capability
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Noise
from dpbench.registry.lookup import registry
from dpbench.testing.checks import Failure, NotApplicable, law
from dpbench.testing.designs import design_rows, every_design
from dpbench.testing.guarded import guarded
from dpbench.testing.mechanism_case import CheckedFit, MechanismCase, named_tables

EPSILONS = (0.1, 1.0, 10.0)
VANISHING_NOISE = 1e9
"""The ε at which the noise of every built-in mechanism can no longer be seen."""
LIMIT_TOLERANCE = 0.01
"""How far predictions may then lie from the non-private fit's, on a target in [-1, 1]."""


@law(
    "The needed capabilities exist, some model has them, and the currency is one that dpbench counts in.",
    "Set needs to capabilities that models provide, and currency to pure, approx, zcdp or gdp; refuses(model, geometry) must "
    "leave "
    "some model.",
    needed=True,
)
def capabilities(case: MechanismCase) -> None:
    for name in case.component.needs:
        if name not in get_args(Capability):
            raise Failure(f"It needs {name!r}, which is no capability.{near_names(str(name), get_args(Capability))}")
    if case.component.counted() not in get_args(Currency):
        raise Failure(f"Its currency is {case.component.counted()!r}.{near_names('', get_args(Currency))}")
    if not case.component.guarantee:
        raise Failure('It has no guarantee: set it to a few words such as "ε-DP", or "none".')
    if not case.models:
        raise Failure(f"It fits none of the models {', '.join(registry().names('model'))}.")


@law(
    "A fit returns a dpbench.Fit with one row of finite weights for each run, on an ordinary table.",
    "Return Fit.good(weights) or Fit(weights, status), where weights has the shape (curator.runs, curator.geometry.dimension); "
    "a run "
    "without weights has the status failed_test or diverged. An error is mended at the line that the sentence names; arrays have "
    "the runs as their first axis.",
    needed=True,
)
def result(case: MechanismCase) -> None:
    for model in case.models:
        rows = design_rows("regular", model)
        fit = guarded(f"A fit of {model.name}", lambda rows=rows, model=model: case.fit(rows, model), rows).fit  # type: ignore[misc]
        if not np.isfinite(fit.weights).all() and FAILED_TEST not in fit.status:
            raise Failure(f"A fit of {model.name} has weights that are not finite numbers.")


@law(
    "Fits, weights and intervals are the same whenever the seed is the same, and others for another seed.",
    "Use no clock, no file and no random generator of your own: all randomness is in the curator's answers.",
)
def determinism(case: MechanismCase) -> None:
    rows = design_rows("regular", case.model)
    first, again, other = (case.fit(rows, seed=seed) for seed in (0, 0, 1))
    if not np.array_equal(first.fit.weights, again.fit.weights, equal_nan=True):
        raise Failure("Two fits with the same seed have different weights.")
    if case.claims_privacy and np.array_equal(first.fit.weights, other.fit.weights):
        raise Failure(
            "Two fits with different seeds have the same weights: the noise does not depend on the seed, or is not used."
        )


@law(
    "A fit changes no row, no sum and no draw.",
    "Copy an array before you change it; all arrays are read-only for that reason.",
)
def inputs_unchanged(case: MechanismCase) -> None:
    if any(fit_batch(subject).changed_inputs for subject in case.subjects):
        raise Failure("After the fit, rows, sums or draws are others than before.")


@law(
    "A fit leaves the global random generators alone.",
    "Remove numpy.random.seed, numpy.random.… and random.…; a mechanism draws no random numbers, the curator does.",
)
def global_random_state(case: MechanismCase) -> None:
    for subject in case.subjects:
        subject.tape_fit()  # what a first fit imports may use the generators, once: not the fits
        if fit_batch(subject).used_global_generator:
            raise Failure("After the fit, numpy.random or random is in another state than before.")


@law(
    "A run has the same weights in a batch of runs as by itself.",
    "Compute each run from the answers of that run: keep the run axis first, and never sum, sort or choose over it.",
    after=(determinism, inputs_unchanged),
)
def batch_equals_alone(case: MechanismCase) -> None:
    for subject in case.subjects:
        with named_tables(subject):
            check_runs_alone(subject, fit_batch(subject))


@law(
    "With a larger ε no answer has more noise.",
    "Check the direction of the calibration: a scale is the sensitivity divided by ε (or by μ).",
)
def noise_falls(case: MechanismCase) -> None:
    if not case.claims_privacy:
        raise NotApplicable("it claims no privacy")
    rows = design_rows("regular", case.model)
    scales: dict[float, dict[str, float]] = {}
    for epsilon in EPSILONS:
        if isinstance(fitted := _fit_at(case, rows, epsilon), str):
            continue
        answers = reversed(fitted.tape)  # the first answer to each query stays
        scales[epsilon] = {each.query: float(each.noise.scale.mean()) for each in answers if isinstance(each.noise, Noise)}
    if len(scales) < 2:
        raise NotApplicable(f"it fits at fewer than two of ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}")
    common = set.intersection(*map(set, scales.values()))
    if not common:
        raise NotApplicable("no answer is noise on a sum that is asked for at every ε")
    for query in sorted(common):
        values = [each[query] for each in scales.values()]
        if any(later > earlier * (1 + 1e-9) for earlier, later in pairwise(values)):
            pairs = ", ".join(f"{value:.3g} at ε = {epsilon:g}" for epsilon, value in zip(scales, values, strict=True))
            raise Failure(f"The mean scale of the noise on {query!r} is {pairs}.")


@law(
    "Where noise vanishes, at a very large ε, the predictions are those of the non-private fit.",
    "Compare the formula with the objective of the model: a factor of 2, the intercept or a penalty may be missing, or a ridge "
    "that "
    "does not shrink with the noise. Where it is meant to differ, name the check 'limit' in expected_failures, with the reason.",
)
def limit(case: MechanismCase) -> None:
    if "truncation" in case.model.provides and "polynomial" in case.component.needs:
        raise NotApplicable(f"it fits {case.model.name}, whose polynomial is a truncation of the loss")
    rows = design_rows("regular", case.model)
    if isinstance(fitted := _fit_at(case, rows, VANISHING_NOISE), str):
        raise NotApplicable(fitted)
    exact = fitted.problem.exact(WholeSample(rows)).weights[0]
    error = float(np.abs(rows.x @ (fitted.fit.weights[0] - exact)).max())
    if not error <= LIMIT_TOLERANCE:
        raise Failure(
            f"At ε = {VANISHING_NOISE:g} a prediction of {case.model.name} differs from the non-private one by {error:.3g}."
        )


def _fit_at(case: MechanismCase, rows: Rows, epsilon: float) -> CheckedFit | str:
    """Return a fit, or why there is none: a mechanism may refuse an ε, or have a price that holds for a small ε alone."""
    try:
        return case.fit(rows, epsilon=epsilon)
    except Exception as error:  # noqa: BLE001  a plugin may raise anything
        return f"at ε = {epsilon:g} a fit ends with an error: {described(error)}"


@law(
    "Every table gets a result: a few rows, more columns than rows, columns that depend on each other, one-hot groups, in both "
    "scalings.",
    "Handle singular matrices (numpy.linalg.lstsq or eigh instead of solve), or return the status diverged or failed_test for "
    "the runs "
    "that have no minimum; refuse in refuses(model, geometry) what no table of that shape can have.",
)
def every_table(case: MechanismCase) -> None:
    for model in case.models:
        for what, variant, rows in every_design(model):
            if case.component.unsupported(variant, rows.geometry):
                continue
            what = f"On the table {what!r}, the fit of {model.name}"
            fit = guarded(what, lambda rows=rows, variant=variant: case.fit(rows, variant), rows).fit  # type: ignore[misc]
            if fit.status[0] == OK and not np.isfinite(fit.weights).all():
                raise Failure(f"{what} says that all went well, but its weights are not finite.")


CHECKS = (
    *(capabilities, result, determinism, inputs_unchanged, global_random_state, batch_equals_alone),
    *(noise_falls, limit, every_table),
)
