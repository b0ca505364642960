"""Say in a sentence what intervals are, and which uncertainty they cover."""

from dpbench.contracts.uncertainty import Covers, Intervals

METHODS = {
    "naive": "the textbook formula, which takes noisy sums for exact ones and covers far less than it says",
    "delta": "the delta method",
    "bootstrap": "percentiles of a parametric bootstrap",
    "iterates": "the minima that the descent's noisy gradients leave possible",
    "covariance": "the mechanism's own covariance",
}
UNCERTAINTY = {
    "population": "the chance of drawing these rows and the noise of privacy together, about the coefficients of the population",
    "table": "the noise of privacy alone, about the non-private fit to the same rows",
}
TRUTHS = {
    "known": "Coverage is measured against the known coefficients of the synthetic table.",
    "table": "Coverage is measured against the non-private fit to the same rows.",
    "resampled": "Coverage is measured against the fit to the whole table, from which each repeat draws rows with replacement.",
    "": "Coverage is not measured: the coefficients of the population are not known.",
}


def described(intervals: Intervals, covers: Covers, level: float) -> tuple[str, ...]:
    """Return what a reader must know before using the intervals, in sentences."""
    first = f"{100 * level:g} % intervals by {METHODS[intervals.method]}; they cover {UNCERTAINTY[covers]}."
    return (first, *intervals.remarks)


def absent(reason: str) -> str:
    """Return why there are no intervals, as a sentence."""
    return f"No intervals: {reason}."


def floor_sentence(share: float) -> str:
    """Return what it means that the floor is active in this share of the runs, which is not 0."""
    where = "here" if share == 1 else f"in {max(100 * share, 0.1):.3g} % of the runs"
    return (
        f"The floor of the eigenvalues is active {where}: noise hides some direction, in which estimates are drawn towards 0. "
        "The intervals allow for that up to a coefficient with which this direction alone would explain as much as the whole fit."
    )
