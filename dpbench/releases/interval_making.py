"""Make the intervals of a release from the answers that it paid for: post-processing, which asks the rows nothing."""

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from dpbench.base.core_classes import is_core_class
from dpbench.base.errors import Refused
from dpbench.cells.intervals import made_intervals
from dpbench.contracts.fit import Fit
from dpbench.contracts.uncertainty import Intervals, Uncertainty
from dpbench.data.geometry import Geometry
from dpbench.inference.iterates import Iterates
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.inference.released_moments import ReleasedMoments
from dpbench.inference.settings import InferenceSettings
from dpbench.inference.wording import UNCERTAINTY, absent, described, floor_sentence
from dpbench.privacy.noise import CORE_LAWS, Law
from dpbench.releases.released_intervals import NoIntervals, ReleasedIntervals

READY_MADE: tuple[type[Uncertainty], ...] = (ReleasedMoments, Iterates, KnownCovariance)
"""The classes that a release makes intervals of. What they hold is data, which was compared with what the answers alone give."""
OWN_CLASS = (
    "a release makes them of dpbench.released_moments, dpbench.iterates or dpbench.KnownCovariance alone, with plain numbers, "
    "and this mechanism brings a class or values of its own"
)
CENTRE_TOLERANCE = 1e-3
"""Estimates within this many standard errors of the weights are the weights."""
NOT_CENTRED = (
    "Predictions use other weights, which come from another floor of the eigenvalues, from a penalty or from the last step of a "
    "descent: each interval belongs to the estimate next to it."
)
NOT_FINITE = "the noise is so large that they are not finite"
UNBOUNDED = "The release does not determine these coefficients, so they have no interval:"


def make_section(fit: Fit, settings: InferenceSettings, geometry: Geometry, n: int) -> ReleasedIntervals | NoIntervals:
    """Return the intervals of a release's only run, with the sentence that its reader needs, or why there are none.

    Where the population has no intervals, those of the table are made: with the next release they would cost another ε.
    """
    made = _made(fit, settings, geometry, n)
    if isinstance(made, Intervals):
        return _section(fit, made, settings, geometry, n)
    if settings.covers == "table" or settings.method == "none":
        return NoIntervals(absent(made))
    narrower = replace(settings, covers="table")
    instead = _made(fit, narrower, geometry, n)
    if isinstance(instead, str):
        return NoIntervals(absent(made))
    section = _section(fit, instead, narrower, geometry, n)
    return replace(section, sentence=f"The coefficients of the population have no intervals: {made}. {section.sentence}")


def check_method(fit: Fit, settings: InferenceSettings) -> None:
    """Refuse a method that the mechanism does not have, judged by a fit of made-up rows: before ε is spent."""
    if settings.method in ("auto", "none"):
        return
    methods = fit.uncertainty.methods if isinstance(fit.uncertainty, Uncertainty) and is_ready_made(fit.uncertainty) else ()
    if settings.method not in methods:
        allowed = " or ".join(("auto", "none", *methods))
        raise Refused(f"The key inference.method must be {allowed} for this mechanism. Got {settings.method!r} instead.")


def is_ready_made(uncertainty: Uncertainty) -> bool:
    """Return whether intervals follow from numbers by dpbench's code alone.

    A class of a plugin could make them of anything that the plugin has seen, such as the exact sums that its query computed.
    """
    return type(uncertainty) in READY_MADE and _is_data(uncertainty)


def _is_data(value: Any) -> bool:
    """Return whether a value is numbers and texts, in containers whose code is dpbench's."""
    if isinstance(value, Law):
        return type(value) in CORE_LAWS
    if is_dataclass(value):
        return is_core_class(type(value)) and all(_is_data(getattr(value, field.name)) for field in fields(value))
    if type(value) in (tuple, list):
        return all(map(_is_data, value))
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.dtype.kind in "biuf"
    return value is None or type(value) in (bool, int, float, str) or isinstance(value, np.generic)


def sentence_of_statement(section: ReleasedIntervals | NoIntervals) -> str:
    """Return what the statement of a release says of its intervals."""
    if isinstance(section, NoIntervals):
        return section.reason
    return (
        "The standard errors and intervals of its coefficients follow from the same noisy answers and cost nothing; they cover "
        f"{UNCERTAINTY[section.covers]}."
    )


def _made(fit: Fit, settings: InferenceSettings, geometry: Geometry, n: int) -> Intervals | str:
    """Return the intervals, or why there are none."""
    if settings.method != "none" and isinstance(fit.uncertainty, Uncertainty) and not is_ready_made(fit.uncertainty):
        return OWN_CLASS
    try:
        with np.errstate(all="ignore"):
            made = made_intervals(fit, settings, np.array([float(n)]), geometry.public_count, _unseeded)
    except Exception as error:  # noqa: BLE001  ε is spent: no failure of post-processing may cost the model
        return f"making them failed with {type(error).__name__}"
    if isinstance(made, Intervals) and not _finite(made):
        return NOT_FINITE
    return made


def _unseeded(run: int) -> np.random.Generator:
    """Return the operating system's random numbers: a release takes no seed, though one would protect nothing here."""
    return np.random.default_rng()


def _finite(made: Intervals) -> bool:
    """Return whether all numbers are finite, apart from both ends and the standard error of intervals that are infinite."""
    unbounded = np.isneginf(made.low) & np.isposinf(made.high)
    required = (made.centre, *(np.where(unbounded, 0.0, array) for array in (made.standard_errors, made.low, made.high)))
    optional = (made.covariance, made.residual_variance, made.residual_variance_error)
    return all(array is None or bool(np.isfinite(array).all()) for array in (*required, *optional))


def _section(fit: Fit, made: Intervals, settings: InferenceSettings, geometry: Geometry, n: int) -> ReleasedIntervals:
    numbers = {"estimate": made.centre, "standard_error": made.standard_errors, "low": made.low, "high": made.high}
    by_name = {
        name: {what: _finite_or_none(values[0, at]) for what, values in numbers.items()} for at, name in enumerate(geometry.names)
    }
    unbounded = [name for name, row in by_name.items() if row["high"] is None]
    centred = bool((np.abs(made.centre - fit.weights) <= CENTRE_TOLERANCE * made.standard_errors).all())
    floored = None if made.floored is None else bool(made.floored[0])
    sentences = [
        *described(made, settings.covers, settings.level),
        f"{UNBOUNDED} {', '.join(unbounded)}." if unbounded else "",
        floor_sentence(1) if floored else "",
        "" if centred else NOT_CENTRED,
    ]
    return ReleasedIntervals(
        method=made.method,
        covers=settings.covers,
        level=settings.level,
        coefficients=by_name,
        centred_on_weights=centred,
        degrees_of_freedom=n - geometry.dimension,
        covariance=None if made.covariance is None else tuple(tuple(map(float, row)) for row in made.covariance[0]),
        residual_variance=_first(made.residual_variance),
        residual_variance_error=_first(made.residual_variance_error),
        floored=floored,
        remarks=made.remarks,
        sentence=" ".join(filter(None, sentences)),
    )


def _finite_or_none(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _first(array: np.ndarray | None) -> float | None:
    return None if array is None else float(array[0])
