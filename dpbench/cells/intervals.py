"""Make the intervals of a cell's fit and compare them with the truth, where it is known, and with the non-private ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.uncertainty import IntervalRequest, Intervals, Uncertainty
from dpbench.inference.metrics import measured, non_private
from dpbench.inference.settings import InferenceSettings
from dpbench.inference.wording import TRUTHS, absent, described
from dpbench.records.names import INTERCEPT, INTERVAL_FLOORED

Array = np.ndarray


PERSONS = "rows of one person resemble each other, and how many there are is private: inference.covers=table has intervals"


@dataclass(frozen=True)
class Truth:
    """What intervals of a block can be compared with."""

    n: Array
    """The public number of training rows of each run."""
    exact: Array
    """The weights of the non-private fit: (runs, D)."""
    standard_errors: Array
    known: Array
    """The coefficients of the population: (runs, D), NaN where they are not known."""
    resampled: bool
    """Whether the population is a table, of which each repeat draws rows."""
    intercept: bool
    public_count: bool = True
    """Whether the number of rows is public."""
    _references: dict[float, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def reference(self, level: float) -> tuple[Array, Array]:
        """Return the intervals of the non-private fit, which all cells of a block share: (runs, D) each."""
        if level not in self._references:
            self._references[level] = non_private(self.exact, self.standard_errors, self.n, level)
        return self._references[level]


@dataclass(frozen=True)
class CellIntervals:
    """The intervals of a cell on one block of runs, next to what they are compared with."""

    sentences: tuple[str, ...]
    """What they are and which uncertainty they cover, or why there are none."""
    method: str = ""
    """How they were made; empty if there are none."""
    metrics: dict[str, Array] = field(default_factory=dict)
    health: dict[str, Array] = field(default_factory=dict)
    columns: dict[str, Array] = field(default_factory=dict)
    """By coefficient: ``estimate``, ``low``, ``high``, ``reference_low``, ``reference_high``, ``truth``: (runs, D)."""


def intervals_of(
    fit: Fit, settings: InferenceSettings, truth: Truth, stream: Callable[[int], np.random.Generator]
) -> CellIntervals:
    """Return the intervals of a fit. Nothing is asked of the rows for them: only the comparisons look at the non-private fit."""
    made = made_intervals(fit, settings, truth.n, truth.public_count, stream)
    if isinstance(made, str):
        return CellIntervals((absent(made),))
    aim, how = _aim(settings, truth)
    reference = truth.reference(settings.level)
    columns = {"estimate": made.centre, "low": made.low, "high": made.high}
    columns |= {"reference_low": reference[0], "reference_high": reference[1], "truth": aim}
    sentences = (*described(made, settings.covers, settings.level), TRUTHS[how])
    health = {} if made.floored is None else {INTERVAL_FLOORED.partition("/")[2]: made.floored}
    return CellIntervals(sentences, made.method, measured(made, reference, aim, truth.intercept), health, columns)


def _aim(settings: InferenceSettings, truth: Truth) -> tuple[Array, str]:
    """Return the coefficients that the intervals should cover, and how they are known."""
    if settings.covers == "table":
        return truth.exact, "table"
    if np.isnan(truth.known).all():
        return truth.known, ""
    return truth.known, "resampled" if truth.resampled else "known"


def made_intervals(
    fit: Fit, settings: InferenceSettings, n: Array, public_count: bool, stream: Callable[[int], np.random.Generator]
) -> Intervals | str:
    """Return the intervals that the settings ask for, or why there are none, as the end of a sentence.

    ``public_count``: whether the number of rows is public. Where persons have several rows it is not.
    """
    if settings.method == "none":
        return "none were asked for"
    if not isinstance(fit.uncertainty, Uncertainty):
        return fit.uncertainty
    if settings.covers == "population" and not public_count:
        return PERSONS
    if settings.method == "auto" and fit.uncertainty.takes_long and len(fit.weights) > 1:
        return f"they take as long as the fits; inference.method={fit.uncertainty.methods[0]} makes them"
    method = fit.uncertainty.methods[0] if settings.method == "auto" else settings.method
    if method not in fit.uncertainty.methods:
        return f"inference.method must be {' or '.join(fit.uncertainty.methods)} for this mechanism"
    request = IntervalRequest(fit.weights, n, method, settings.covers, settings.level, settings.draws, stream)
    made = fit.uncertainty.intervals(request)
    if isinstance(made, str):
        return made
    if made.low.shape != fit.weights.shape or made.high.shape != fit.weights.shape:
        raise ValueError(f"Intervals must have the shape of the weights, {fit.weights.shape}. Got {made.low.shape} instead.")
    return made


def summarised(columns: Sequence[dict[str, Array]], names: Sequence[str], exact: bool) -> dict[str, dict[str, float]]:
    """Return each coefficient's estimate and interval of the first run, and over all runs the coverage and the median width.

    Runs in which a coefficient's interval is infinite have none; ``shown`` is the share of the others, where there are such runs.
    ``exact``: whether numbers that no noise protects may be recorded: the non-private interval, and the truth that is a fit.
    """
    if not columns or not all(columns):
        return {}
    whole = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
    table = {name: values[0] for name, values in whole.items() if exact or name in ("estimate", "low", "high")}
    shown = np.isfinite(whole["high"] - whole["low"])
    widths = np.where(shown, whole["high"] - whole["low"], np.nan)
    table |= {"coverage": _coverage(whole, "", shown), "width": _over_runs(np.nanmedian, widths)}
    if not shown.all():
        table["shown"] = shown.mean(axis=0)
    if exact:
        table["reference_coverage"] = _coverage(whole, "reference_", np.ones_like(shown))
    return {
        name: {key: float(values[at]) for key, values in table.items() if np.isfinite(values[at])}
        for at, name in enumerate(names)
    }


def _coverage(columns: dict[str, Array], whose: str, shown: Array) -> Array:
    """Return how often the intervals of each coefficient that are shown hold its truth; NaN where that is not known."""
    low, high, truth = columns[f"{whose}low"], columns[f"{whose}high"], columns["truth"]
    return _over_runs(np.nanmean, np.where(np.isnan(truth) | ~shown, np.nan, (low <= truth) & (truth <= high)))


def _over_runs(function: Callable[..., Array], values: Array) -> Array:
    """Return a function of each coefficient's values over the runs that have some; NaN where none has."""
    some = ~np.isnan(values).all(axis=0)
    result = np.full(len(some), np.nan)
    result[some] = function(values[:, some], axis=0)
    return result


def smallest_coverage(table: Mapping[str, Mapping[str, float]]) -> float | None:
    """Return the coverage of the slope that is covered least often; None where no truth is known."""
    return min((row["coverage"] for name, row in table.items() if name != INTERCEPT and "coverage" in row), default=None)
