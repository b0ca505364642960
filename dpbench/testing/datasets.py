"""Checks of a dataset: its table, its public bounds, where its rows come from, and how they are drawn."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.audit.global_generators import watched_generators
from dpbench.base.errors import Refused, Unfinished, check_known, described
from dpbench.contracts.dataset import Dataset, doubt_about_bounds
from dpbench.data.geometry import Scaling
from dpbench.data.scaling import scale
from dpbench.data.table import Column, Table, WrongTable
from dpbench.testing.checks import Failure, NotApplicable, law
from dpbench.testing.components import ComponentCase

MAX_SHARE_OUTSIDE = 0.05
"""The share of a column's values that may lie outside of its bounds, where they are clipped."""
MIN_SHARE_COVERED = 1e-3
"""The share of the declared range between the least and the largest value, below which the bounds are in another unit."""
SCALINGS: tuple[Scaling, ...] = ("box", "ball")
SCALING_ROUNDING = 1e-9
CALL_LOAD = (
    "Mend the line that the sentence names; load(numpy.random.default_rng(0)) in a Python session shows the text. Put no value "
    "of a row into it."
)


@dataclass(frozen=True, eq=False)
class DatasetCase(ComponentCase):
    """A dataset that is checked."""

    component: Dataset

    def load(self, seed: int) -> Table:
        """Return the table that is drawn with a seed; data that is not on this machine cannot be checked."""
        try:
            return self.component.load(np.random.default_rng(seed))
        except WrongTable as error:
            raise Failure(str(error)) from None
        except (Refused, Unfinished) as reason:
            raise NotApplicable(f"its table cannot be loaded here: {reason}") from None
        except Exception as error:  # noqa: BLE001  a plugin may raise anything
            hidden = "(the text is not shown, because it may quote rows)"
            raise Failure(f"load ends with {described(error, hidden)}.", CALL_LOAD) from None

    @cached_property
    def table(self) -> Table:
        """The table of seed 0."""
        return self.load(0)


@law(
    "load(generator) returns a dpbench.Table with names, finite numbers and bounds, and shape() says how large it is.",
    "Return Table(columns, target, features, response): one Column with its public bounds for each feature, features (n, d), "
    "response "
    "(n,). Leave out what is missing, or replace it by a declared constant. Override shape() only if the options decide it.",
    needed=True,
)
def table(case: DatasetCase) -> None:
    loaded = case.table
    if not isinstance(loaded, Table):
        raise Failure(f"It returns {type(loaded).__name__}.")
    if (declared := case.component.shape()) not in (None, loaded.features.shape):
        raise Failure(f"shape() says {declared}, and the features have the shape {loaded.features.shape}.")


@law(
    "The same seed gives the same rows, and the generator that load is given is the only one in use.",
    "Draw from the generator that load(generator) is given; remove numpy.random.seed, numpy.random.…, random.… and "
    "default_rng().",
)
def determinism(case: DatasetCase) -> None:
    first = case.table
    with watched_generators() as generators:
        again = case.load(0)
    if generators.used:
        raise Failure("Loading used numpy.random, which others share.")
    if not _same_rows(first, again):
        raise Failure("Two tables of the same seed have different rows.")


@law(
    "Rows that are drawn are declared synthetic, and the bounds are the same whatever is drawn.",
    "Set synthetic = True if load uses the generator. Bounds are public facts: write them down, and never compute them from "
    "rows; where "
    "a user asks for that, the table must carry a leak.",
)
def synthetic(case: DatasetCase) -> None:
    other = case.load(1)
    if not case.component.synthetic and not _same_rows(case.table, other):
        raise Failure("The rows depend on the generator, and synthetic is False.")
    if not case.table.leaks and _bounds(case.table) != _bounds(other):
        raise Failure("Two seeds give other bounds, so they follow from the rows, and the table names no leak.")


@law(
    "The bounds are those of the columns' own unit: few values lie outside, and the values use more than a trace of the range.",
    "Give each Column bounds in the unit of the numbers in features: not of a rescaled copy, and not of another unit. Values "
    "outside of "
    "the bounds are clipped.",
)
def bounds(case: DatasetCase) -> None:
    numeric = [(column, case.table.features[:, at]) for at, column in enumerate(case.table.columns) if column.group is None]
    for column, values in (*numeric, (case.table.target, case.table.response)):
        _check_column(column, values.astype(float))


def _check_column(column: Column, values: np.ndarray) -> None:
    outside = float(((values < column.low) | (values > column.high)).mean())
    spread = float(np.ptp(values)) / (column.high - column.low)
    declared = f"The column {column.name!r} has bounds [{column.low:g}, {column.high:g}]"
    if outside > MAX_SHARE_OUTSIDE:
        raise Failure(f"{declared}, and {100 * outside:.3g} % of its values lie outside.")
    if 0 < spread < MIN_SHARE_COVERED:
        raise Failure(f"{declared}, and its values cover {100 * spread:.2g} % of this range.")


@law(
    "A dataset that is not public declares where its bounds, filters and scaling come from: not from its own rows.",
    "Set bounds_source to a sentence that names the codebook, the instrument or the older table behind every bound, every filter "
    "and every scaling. Replace what was computed from the rows: their extremes, their mean and deviation, rules for outliers.",
)
def bounds_source(case: DatasetCase) -> None:
    if case.component.public:
        raise NotApplicable("anyone may see the rows")
    if doubt := doubt_about_bounds(case.component, case.table):
        raise Failure(doubt)


@law(
    "Scaled rows lie within the geometry: in the box or the ball, for real targets and, with a threshold, for binary ones.",
    "Declare a threshold within the bounds of the target, in its unit; one-hot columns hold 0 and 1 and share a group.",
)
def scaled_rows(case: DatasetCase) -> None:
    for scaling in SCALINGS:
        rows = scale(case.table, scaling, True, "real")
        largest = np.abs(rows.z).max() if scaling == "box" else np.linalg.norm(rows.x, axis=1).max()
        if not largest <= 1 + SCALING_ROUNDING:
            raise Failure(f"With {scaling} scaling a row has the size {largest:.6g}.")
    dataset = case.component.for_target("binary")
    binary = DatasetCase(dataset).table
    if binary.threshold is None:
        return
    if not binary.target.low <= binary.threshold < binary.target.high:
        raise Failure(f"The threshold {binary.threshold:g} lies outside of [{binary.target.low:g}, {binary.target.high:g}).")
    share = float((binary.response > binary.threshold).mean())
    if not 0 < share < 1:
        raise Failure(f"All rows are of one class at the threshold {binary.threshold:g}.")


@law(
    "Data that was collected has a licence, a citation and a fingerprint, which is the same whenever it is asked for.",
    "Set licence and citation, and return a checksum of the file from fingerprint(): cells are recorded under it, so that "
    "changed data "
    "is never taken for the old.",
)
def origin(case: DatasetCase) -> None:
    dataset = case.component
    again = type(dataset).build(dataset.options())
    if dataset.fingerprint() != again.fingerprint():
        raise Failure("Two equal datasets have different fingerprints.")
    if dataset.synthetic or not dataset.public:
        raise NotApplicable("the rows are drawn" if dataset.synthetic else "the data is the user's own")
    if missing := [name for name in ("licence", "citation") if not getattr(dataset, name).strip()]:
        raise Failure(f"It has no {' and no '.join(missing)}.")
    if not dataset.fingerprint():
        raise Failure("Its fingerprint is empty.")


@law(
    "Sensitive attributes, numbered subsets and selected rows are parts of the table.",
    "Use the attributes' names of the table in sensitive and in subsets(); a one-hot group is one attribute, with the group's "
    "name.",
)
def attributes(case: DatasetCase) -> None:
    try:
        check_known("attribute", case.table.sensitive, case.table.attributes)
        for number, names in case.component.subsets().items():
            check_known(f"attribute (of subset {number})", names, case.table.attributes)
        half = case.table.take_units(np.arange(0, case.table.units, 2))
    except Refused as refusal:
        raise Failure(str(refusal)) from None
    if half.columns != case.table.columns:
        raise Failure("Half of the rows have other columns.")


def _same_rows(one: Table, other: Table) -> bool:
    return np.array_equal(one.features, other.features) and np.array_equal(one.response, other.response)


def _bounds(table: Table) -> list[tuple[str, float, float]]:
    return [(column.name, column.low, column.high) for column in (*table.columns, table.target)]


CHECKS = (table, determinism, synthetic, bounds, bounds_source, scaled_rows, origin, attributes)
