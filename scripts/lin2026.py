"""Compare with the published table of Lin, Slavković and Bhoomireddy 2026, and write docs/results/lin2026.md.

    python scripts/lin2026.py              write the page
    python scripts/lin2026.py --repeats 10 fewer repeats of dpbench's mechanisms, to try it out

Their protocol: every row is fitted and scored, there is no intercept, μ = 1, the bounds are those of the data, and the error is
Σ(Xb - y)² / Σy². So nothing here is ranked. The first half of this module fits as their public program does (Shuronglin/BinAgg,
commit 95262ec), written anew from a reading of it, with the same random numbers for the same seed.
"""

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from dpbench.accounting.conversion import epsilon_of_gdp, gdp_of_pure, pure_of_gdp
from dpbench.base.one_thread import one_thread
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.data.table import Column, Table
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.procedures.adaptive_tree import PRICE
from dpbench.registry.lookup import build

Array = np.ndarray

PAGE = Path(__file__).parents[1] / "docs" / "results" / "lin2026.md"
MU, DELTA = 1.0, 1e-6
REPEATS = 100
SETTINGS = ("D2", "D4", "D5", "D6", "D7", "D8")
MECHANISMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("best", {}),
    ("ssp", {}),
    ("adassp", {}),
    ("binagg", {}),
    ("binagg", {"correction": "sum"}),
    ("binagg", {"calibration": "published"}),
)


# -- the data ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One row of their Table 2: the data, and the numbers that others got on it."""

    key: str
    name: str
    x: Array
    y: Array
    facts: dict[str, Any]

    @property
    def d(self) -> int:
        """The number of features."""
        return self.x.shape[1]

    def error(self, weights: Array) -> float:
        """Return Σ(Xb - y)² / Σy²."""
        return float(np.sum((self.x @ weights - self.y) ** 2) / np.sum(self.y**2))


@cache
def table2() -> dict[str, Any]:
    """Return the published numbers, those of an independent re-run, and the settings."""
    text = resources.files("dpbench.plugins.papers.lin2026").joinpath("data", "table2.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def load(key: str) -> Setting:
    """Return the data of one setting, with the columns in the order that table2.yaml gives."""
    facts = table2()["datasets"][key]
    columns: dict[str, Array] = {}
    files = {
        "D2": ["lin2026/bupa"],
        "D4": ["open/abalone"],
        "D5": ["lin2026/parkinsons_extra", "open/parkinsons"],
        "D6": ["open/wine_quality"],
        "D7": ["lin2026/air_quality_raw"],
        "D8": ["open/appliances", "lin2026/appliances_extra"],
    }
    for file in files[key]:
        columns |= _read(*file.split("/"))
    if key == "D4":
        sex = columns.pop("Sex")
        columns = {**{f"Sex={level}": (sex == level).astype(float) for level in "FIM"}, **columns}
    if key == "D5":  # the source's order, in which the re-run reads them
        first = ("subject", "age", "sex", "test_time", "motor_UPDRS")
        columns = {**{name: columns[name] for name in first}, **columns}
    if key == "D6":
        columns["type"] = (columns.pop("type") == "white").astype(float)
    y = columns.pop(facts["target"])
    return Setting(key, facts["name"], np.column_stack(list(columns.values())).astype(float), y.astype(float), facts)


def _read(folder: str, name: str) -> dict[str, Array]:
    from pyarrow import parquet

    package = {"open": "dpbench.plugins.datasets", "lin2026": "dpbench.plugins.papers.lin2026"}[folder]
    parts = ("data", "open") if folder == "open" else ("data",)
    with resources.as_file(resources.files(package).joinpath(*parts, f"{name}.parquet")) as path:
        table = parquet.read_table(path)
    return {column: table[column].to_numpy() for column in table.column_names}


# -- as the public program fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgramFit:
    """A fit as the public program makes it: its weights, and the boxes of all bins with the sums' noise."""

    weights: Array
    low: Array
    high: Array


def program(setting: Setting, seed: int, charged: float = 1.0) -> ProgramFit:
    """Fit as the public program does. ``charged`` multiplies the noise of the sums of x, which it charges one by one."""
    x, y, d = setting.x, setting.y, setting.d
    parts = np.array([1, 3, 3, 3]) * (MU / np.sqrt(28))
    leaves = _program_tree(x, pure_of_gdp(parts[0]), seed)
    choose = random.Random(seed)
    while len(leaves) < d + 1:
        _program_cut(x, leaves, choose)
    counts = np.array([len(rows) for _, _, rows in leaves])
    low, high = (np.array(ends) for ends in (list(zip(*leaves, strict=True))[:2]))
    size = np.maximum(np.abs(low), np.abs(high)) * charged
    normal = np.random.RandomState(seed)
    noisy = np.rint(counts + normal.normal(0, 1 / parts[1], len(leaves))).astype(int)
    s = np.array([x[rows].sum(axis=0) for _, _, rows in leaves]) + normal.normal(0, size / parts[2])
    t = np.array([y[rows].sum() for _, _, rows in leaves]) + normal.normal(0, np.abs(y).max() / parts[3], len(leaves))
    chosen = noisy >= 2
    s, t, size = s[chosen], t[chosen], size[chosen]
    w = 1 / np.maximum(_shared_out(noisy[chosen] * (counts.sum() / noisy[chosen].sum()), counts.sum()), 1)
    # the mean over the bins, not the sum, of what the noise adds to S'WS
    correction = np.diag((w[:, None] * size**2).sum(axis=0) / parts[2] ** 2 / len(w))
    return ProgramFit(np.linalg.inv((s.T * w) @ s - correction) @ ((s.T * w) @ t), low, high)


Leaf = tuple[Array, Array, Array]
"""The lower ends, the upper ends and the rows of a bin."""


def _program_tree(x: Array, epsilon: float, seed: int) -> list[Leaf]:
    """Return the bins in the order in which the program finds them: breadth first, with one Laplace draw for each."""
    laplace = np.random.RandomState(seed)
    scale = 3 / epsilon
    step = scale * np.log(2)
    queue, leaves = [(x.min(axis=0), x.max(axis=0) + 1e-8, np.arange(len(x)), 0)], []
    while queue:
        low, high, rows, depth = queue.pop(0)
        if max(len(rows) - step * depth, -step) + laplace.laplace(scale=scale) <= 0:
            leaves.append((low, high, rows))
            continue
        column = int(np.argmax(high - low))
        middle = (low[column] + high[column]) / 2
        # a row on the middle is in both halves
        for lower, upper, inside in (
            (low, _with(high, column, middle), x[rows, column] <= middle),
            (_with(low, column, middle), high, x[rows, column] >= middle),
        ):
            queue.append((lower, upper, rows[inside], depth + 1))
    return leaves


def _program_cut(x: Array, leaves: list[Leaf], choose: random.Random) -> None:
    """Cut the bin of the largest volume along one of its widest columns: its count does not matter."""
    largest = int(np.argmax([np.prod(high - low) for low, high, _ in leaves]))
    low, high, rows = leaves.pop(largest)
    column = choose.choice([int(index) for index in np.flatnonzero(high - low == (high - low).max())])
    middle = (low[column] + high[column]) / 2
    below = x[rows, column] < middle
    leaves += [(low, _with(high, column, middle), rows[below]), (_with(low, column, middle), high, rows[~below])]


def _with(values: Array, column: int, value: float) -> Array:
    changed = values.copy()
    changed[column] = value
    return changed


def _shared_out(values: Array, total: int) -> Array:
    """Round to whole numbers with this sum: those with the largest remainders are rounded up."""
    whole = np.floor(values).astype(int)
    missing = total - whole.sum()
    whole[np.argsort(values - whole)[::-1][:missing]] += 1
    return whole


def program_costs(setting: Setting) -> tuple[float, float]:
    """Return what a run called μ = 1 costs where a row is added or removed, and where one is replaced: the largest of ten."""
    shares = 9 / 28 * MU**2
    tree = MU / np.sqrt(28)
    replaced = gdp_of_pure(pure_of_gdp(tree) * PRICE / 3)
    within = 0.0
    for seed in range(10):
        fit = program(setting, seed)
        ratio = (fit.high - fit.low) / np.maximum(np.abs(fit.low), np.abs(fit.high))
        within = max(within, float(np.square(ratio).sum(axis=1).max()))
    width = (setting.y.max() - setting.y.min()) / np.abs(setting.y).max()
    sums = shares * max(2 * (2 + setting.d), within + width**2)
    return float(np.sqrt(tree**2 + shares * (2 + setting.d))), float(np.sqrt(replaced**2 + sums))


def rerun_adassp(setting: Setting, seed: int) -> Array:
    """Fit by AdaSSP as the independent re-run describes its own: μ in three equal parts, bounds on the norms from the data."""
    x, y, d = setting.x, setting.y, setting.d
    generator = np.random.default_rng(seed)
    bound, target, mu = np.linalg.norm(x, axis=1).max(), np.abs(y).max(), MU / np.sqrt(3)
    least = np.linalg.eigvalsh(x.T @ x)[0] + bound**2 / mu * generator.standard_normal()
    ridge = max(0.0, np.sqrt(d * np.log(6 / DELTA)) * bound**2 / mu - least)
    z = generator.standard_normal((d, d))
    matrix = x.T @ x + bound**2 / mu * (z + z.T) / np.sqrt(2) + ridge * np.eye(d)
    return np.asarray(np.linalg.solve(matrix, x.T @ y + bound * target / mu * generator.standard_normal(d)))


# -- dpbench's mechanisms ----------------------------------------------------------------------------------------------


def errors(setting: Setting, name: str, options: dict[str, Any], intercept: bool, repeats: int) -> Array:
    """Return the errors of fits by one of dpbench's mechanisms: (repeats,).

    Without an intercept bounds are ±max|x|, so that scaling is a multiplication and a line through 0 stays one. With an intercept
    they are the range of each column.
    """
    columns = [_column(f"x{index}", values, intercept) for index, values in enumerate(setting.x.T)]
    table = Table(tuple(columns), _column("y", setting.y, intercept), setting.x, setting.y)
    rows = scale(table, "box", intercept, "real")
    sample = WholeSample(*[rows] * repeats)
    mechanism, model = build("mechanism", {"name": name, **options}), build("model", {"name": "linear", "intercept": intercept})
    budget = Budget(epsilon_of_gdp(MU, DELTA), DELTA, mechanism.counted())
    curator = Curator(sample, Draws(0, f"lin2026 {setting.key}", [(run, 0) for run in range(repeats)]), budget)
    weights = fit_closed(mechanism, model.prepare(closed(curator)), curator, budget).weights
    predictions = table.target.from_box(rows.x @ weights.T)
    return np.asarray(((predictions - setting.y[:, None]) ** 2).sum(axis=0) / np.sum(setting.y**2))


def _column(name: str, values: Array, intercept: bool) -> Column:
    low, high = (values.min(), values.max()) if intercept else (-np.abs(values).max(), np.abs(values).max())
    return Column(name, float(low), float(high))


# -- the page ----------------------------------------------------------------------------------------------------------


INTRODUCTION = """# The published comparison of Lin et al. 2026

Lin, Slavković and Bhoomireddy, "Differentially private linear regression and synthetic data generation with statistical
guarantees", AISTATS 2026, compare BinAgg with other mechanisms in their Table 2. Their protocol: all rows are fitted and
scored, the error is Σ(Xb − y)²/Σy², there is no intercept, μ = 1, and the bounds are the data's own minimum and maximum.
Bounds that are read from the rows are private, so **nothing here is ranked**, and the [leaderboard](leaderboard/index.md)
uses none of it. D1, D3 and D9 are left out: their data could not be had, or nobody knows which data it is.

Three sources are kept apart: the paper (quoted by the re-run; its text was not read here), an independent re-run of its
public program (gghatano/tpdp2026-binagg, June 2026), and this page. `plugins/papers/lin2026/data/table2.yaml` holds the first
two.

Written by `{command}` in {seconds:.0f} s of processor time, with {repeats} repeats.
"""

DIFFERENCES = """## Differences

- **Least squares** agrees with every printed digit, so the data and its preparation are right. D6 tells the models apart:
  .0156 without an intercept, .0155 with one, and the paper prints .016.
- **BinAgg against the re-run**: the same to every digit on the same seeds, by a program that was written anew from a reading
  of theirs. So the reading under [`binagg`](../mechanisms.md#binagg) is right.
- **BinAgg against the paper**: the paper's means lie between those of the released program and those with √d charged, on all
  four tables: nearer to the first on D4 and D7, to the second on D6 and D8. Why is open: the paper's seeds, spread and
  version of the program are not known.
- **What a run costs**: the program charges each coordinate of a bin's sum alone. The column "√d charged" has the errors of
  the same program if the whole vector is charged. An audit certifies the gap: `python -m dpbench audit mechanism=binagg
  mechanism.calibration=published audit.level=component dataset.scaling=corner model.intercept=false audit.pairs=1` finds
  μ ≥ 0.281 where 0.232 is claimed.
- **The mean predictor** has .0220 on D6, and the paper prints .022 for BinAgg: there the published fit is no better than the
  mean.
- **AdaSSP on Air Quality** is known in two versions, the paper's .682 and the re-run's .595; neither is claimed here. The
  re-run's description gives {rerun} here, within two standard errors. Its bound is the largest norm of a raw row, which a few
  columns in large units decide. With each column divided by its bound first, the same program gives {scaled}. So the re-run's
  distance from BinAgg is one of units. What gives .682 is open: the paper's δ, clipping and units are not known.
- **Units** also decide BinAgg's bins: the program halves the widest column in raw units, `binagg` in units of the bounds.
  This, the price of the tree and the floor are why the last column of the tables above, which has the program's noise,
  differs from the program.
- **D5** has the column motor_UPDRS, which is part of the target. **D2** is unstable: one run in a hundred explodes, and its
  mean says nothing.
"""


@dataclass(frozen=True)
class Summary:
    """The mean of some errors, its standard error, and their median."""

    mean: float
    error: float
    median: float

    @classmethod
    def of(cls, values: Array) -> "Summary":
        return cls(float(values.mean()), float(values.std() / np.sqrt(len(values))), float(np.median(values)))

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.error:.4f}" if self.mean < 1 else f"{self.mean:.3g} ± {self.error:.2g}"

    @property
    def with_median(self) -> str:
        """The mean, its standard error, and the median in brackets."""
        return f"{self} ({self.median:.4f})"


def least_squares_table(settings: Sequence[Setting]) -> str:
    """Return the errors of least squares and of the mean, next to those of others."""
    rows = []
    for setting in settings:
        here = setting.error(np.linalg.lstsq(setting.x, setting.y, rcond=None)[0])
        mean = float(np.sum((setting.y - setting.y.mean()) ** 2) / np.sum(setting.y**2))
        paper = (setting.facts["paper"] or {}).get("ols", "not known")
        shape = f"{len(setting.y):,}", setting.d
        rows.append((setting.key, setting.name, *shape, paper, setting.facts["rerun"]["ols"], f"{here:.5f}", f"{mean:.5f}"))
    return _table(("", "data", "rows", "d", "paper", "re-run", "here", "mean predictor"), rows)


def program_errors(setting: Setting, repeats: int, charged: float = 1.0) -> Array:
    """Return the errors of the public program for the seeds 0, 1, …: (repeats,)."""
    return np.array([setting.error(program(setting, seed, charged).weights) for seed in range(repeats)])


def program_table(settings: Sequence[Setting]) -> str:
    """Return the errors and the costs of the public program."""
    rows = []
    for setting in settings:
        known = setting.facts["rerun"]["binagg"]
        rerun = f"{known['mean']:.5f} ± {known['std'] / np.sqrt(known['repeats']):.5f} ({known['repeats']})"
        here = program_errors(setting, known["repeats"])
        more = Summary.of(program_errors(setting, REPEATS))
        whole = Summary.of(program_errors(setting, REPEATS, np.sqrt(setting.d)))
        paper = (setting.facts["paper"] or {}).get("binagg", "not known")
        removed, replaced = program_costs(setting)
        costs = f"{removed:.2f}", f"{replaced:.2f}"
        rows.append((setting.key, paper, rerun, f"{here.mean():.5f}", more.with_median, *costs, whole.with_median))
    head = ("paper", "re-run (seeds)", "here, same seeds", "100 seeds", "μ, added or removed", "μ, replaced", "√d charged")
    return _table(("", *head), rows)


def mechanisms_table(settings: Sequence[Setting], intercept: bool, repeats: int) -> str:
    """Return the errors of dpbench's mechanisms."""
    rows = []
    for setting in settings:
        summaries = [Summary.of(errors(setting, name, options, intercept, repeats)) for name, options in MECHANISMS]
        exact = errors(setting, "no_privacy", {}, intercept, 1)[0]
        rows.append((setting.key, f"{exact:.4f}", *(summary.with_median for summary in summaries)))
    names = [" ".join([f"`{name}`", *(f"{key}={value}" for key, value in options.items())]) for name, options in MECHANISMS]
    return _table(("", "`no_privacy`", *names), rows)


def _table(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def page(repeats: int, command: str) -> str:
    """Return the page."""
    start, settings = time.process_time(), [load(key) for key in SETTINGS]
    air = next(setting for setting in settings if setting.key == "D7")
    scaled = replace(air, x=air.x / np.abs(air.x).max(axis=0))
    rerun, units = (
        Summary.of(np.array([data.error(rerun_adassp(data, seed)) for seed in range(REPEATS)])) for data in (air, scaled)
    )
    program_part = [
        "## BinAgg as released\n",
        "Mean ± standard error (median). μ is what a run called μ = 1 costs by dpbench's accountant, for neighbours with one row "
        "more or less, and for those with a replaced row (from the bins of ten seeds).\n",
        program_table(settings),
    ]
    ours = [
        "## dpbench's mechanisms at μ = 1\n",
        f"Mean ± standard error (median), for (ε, δ) = ({epsilon_of_gdp(MU, DELTA):.3f}, {DELTA:g}), which is μ = 1, and "
        "neighbours that differ in one replaced row. Without an intercept the bounds are ±max\\|x\\|, because scaling must not "
        "move the origin:\n",
        mechanisms_table(settings, False, repeats),
        "With an intercept, and each column's range as its bounds:\n",
        mechanisms_table(settings, True, repeats),
        "`binagg` with `calibration=published` has no proof at μ = 1; all others have one.\n",
    ]
    parts = [
        "## Least squares\n",
        least_squares_table(settings),
        *program_part,
        *ours,
        DIFFERENCES.format(rerun=rerun, scaled=units),
    ]
    head = INTRODUCTION.format(command=command, seconds=time.process_time() - start, repeats=repeats)
    return "\n".join([head, *parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    command = "python scripts/lin2026.py" + ("" if repeats == REPEATS else f" --repeats {repeats}")
    with one_thread():
        PAGE.write_text(page(repeats, command), encoding="utf-8")
    print(f"Written: {PAGE.name}.")


if __name__ == "__main__":
    main()
