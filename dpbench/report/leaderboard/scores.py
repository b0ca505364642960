"""A score is what a leaderboard keeps of one cell: one line of a CSV file, from which every page is made again."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord, label
from dpbench.records.names import FAILED_SHARE

ERRORS = {"binary": "log_loss", "real": "mse"}
"""The error of each kind of target that scores are made of: proper, smooth, and the same for all models of the kind."""
DIGITS = 6
"""Significant digits in the file."""
CONFIDENCE = 0.95
YOUNGER_COLUMNS = ("failed_share",)
"""Columns that older files lack."""


@dataclass(frozen=True)
class Score:
    """The result of a mechanism on a table at one ε: medians over its runs, with what a reader needs to judge them."""

    model: str
    table: str
    mechanism: str
    """With those of its options that the leaderboard varies."""
    epsilon: float
    state: str
    """``run``; ``pruned`` where the mechanism does not take the table; ``failed``."""
    guarantee: str = ""
    delta: float | None = None
    epsilon_accounted: float | None = None
    rows: int | None = None
    columns: int | None = None
    """Coefficients, the intercept included."""
    runs: int | None = None
    share_lost: float | None = None
    """0: the non-private fit, 1: the mean predictor. The median over the runs; infinite if most runs have no finite error."""
    share_lost_low: float | None = None
    """The ends of a 95 % interval of the median, from order statistics: it assumes nothing but independent runs."""
    share_lost_high: float | None = None
    share_lost_p20: float | None = None
    share_lost_p80: float | None = None
    failed_share: float | None = None
    """The share of the runs that lost everything, which the median hides; None in older files."""
    ols_se: float | None = None
    """The error of the coefficients in units of the non-private standard errors: the median over the runs."""
    ols_se_p20: float | None = None
    ols_se_p80: float | None = None
    error_no_privacy: float | None = None
    error_mean_predictor: float | None = None
    fit_seconds: float | None = None
    """The time of one fit from its rows."""
    cell_seconds: float | None = None
    reason: str = ""
    """Why it was pruned, or why it failed."""

    @property
    def value(self) -> float:
        """The share of the way from the mean predictor to the non-private fit; 0 where nothing was fitted or it is worse."""
        return way(self.share_lost)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the value."""
        return way(self.share_lost_high), way(self.share_lost_low)

    @property
    def gain(self) -> float | None:
        """The share of the mean predictor's error that the non-private fit saves: the same for all mechanisms."""
        if self.error_no_privacy is None or not self.error_mean_predictor:
            return None
        return 1 - self.error_no_privacy / self.error_mean_predictor


def way(lost: float | None) -> float:
    """Return the share of the way that is gone if this share of it is lost, at least 0."""
    return 0.0 if lost is None else max(0.0, 1 - lost)


def score_of(cell: CellRecord) -> Score:
    """Return the score of a cell's record."""
    facts = (cell.params["model"], cell.params["dataset"], label(cell), float(cell.params["epsilon"]))
    if not cell.done:
        return Score(*facts, cell.state, reason=cell.reason)
    runs = cell.detail.runs
    error = next(name for name in ERRORS.values() if f"utility/{name}" in runs)
    lost = counted(runs["utility/share_lost"], runs[f"utility/{error}"])
    distances = counted(runs["utility/ols_se"], runs[f"utility/{error}"])
    score = Score(
        *(*facts, "run", cell.guarantee),
        delta=cell.metrics.get("privacy/delta"),
        epsilon_accounted=cell.metrics.get("privacy/epsilon_accounted"),
        rows=int(runs["n_train"][0] + runs["n_test"][0]),
        columns=sum(name.startswith("weight/") for name in runs) or None,
        runs=len(runs["repeat"]),
        failed_share=cell.metrics.get(FAILED_SHARE),
        error_no_privacy=cell.metric(f"reference/no_privacy/{error}"),
        error_mean_predictor=cell.metric(f"reference/mean_predictor/{error}"),
        fit_seconds=cell.metrics.get("time/fit_seconds"),
        cell_seconds=cell.metrics.get("time/cell_seconds"),
    )
    p20, median, p80 = (quantile(lost, share) for share in (0.2, 0.5, 0.8))
    low, high = median_interval(lost)
    score = replace(score, share_lost=median, share_lost_low=low, share_lost_high=high, share_lost_p20=p20, share_lost_p80=p80)
    if not np.isfinite(distances).any():
        return score
    p20, median, p80 = (quantile(distances, share) for share in (0.2, 0.5, 0.8))
    return replace(score, ols_se=median, ols_se_p20=p20, ols_se_p80=p80)


def counted(values: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return a metric of the runs, of those that count.

    A run without a finite error has lost everything there is: it counts as infinite, or leaving it out would be a reward. A run
    whose reference gives the metric no meaning is left out: its non-private fit is no better than the mean predictor.
    """
    known = np.where(np.isfinite(error), values, np.inf)
    known = known[~np.isnan(known)]
    return known if known.size else np.full(1, np.inf)


def quantile(values: np.ndarray, share: float) -> float:
    """Return a quantile that is one of the values: between two of them, an infinite one would leave no number."""
    return float(np.sort(values)[max(math.ceil(share * len(values)) - 1, 0)])


def median_interval(values: np.ndarray) -> tuple[float, float]:
    """Return an interval that holds the median with a probability of at least 0.95: two order statistics."""
    from scipy.stats import binom

    ordered = np.sort(values)
    cut = int(binom.ppf((1 - CONFIDENCE) / 2, len(ordered), 0.5))
    return (float(ordered[cut - 1]), float(ordered[-cut])) if cut else (-math.inf, math.inf)


def write_scores(scores: Sequence[Score], path: Path) -> None:
    """Write scores as CSV, in the order of model, table, mechanism and ε, so that two files can be compared line by line."""
    text = io.StringIO()
    names = [item.name for item in fields(Score)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    order = sorted(scores, key=lambda score: (score.model, score.table, score.mechanism, score.epsilon))
    writer.writerows([_text(getattr(score, name)) for name in names] for score in order)
    path.write_text(text.getvalue(), encoding="utf-8")


def read_scores(path: Path) -> list[Score]:
    """Read a file of :func:`write_scores`."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    try:
        missing = dict.fromkeys(YOUNGER_COLUMNS, "")
        lines = [{**missing, **line} for line in lines]
        return [Score(**{item.name: _value(str(item.type), line[item.name]) for item in fields(Score)}) for line in lines]
    except (KeyError, ValueError, TypeError):
        raise Refused(
            f"The file {path.name} must have the columns of a leaderboard. Got others, or a value that is none."
        ) from None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _value(kind: str, text: str) -> Any:
    converters: Mapping[str, Any] = {"<class 'str'>": str, "<class 'float'>": float, "float | None": float, "int | None": int}
    return None if not text and "None" in kind else converters[kind](text)
