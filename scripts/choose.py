"""Judge `dpbench.choose` on the real tables of `dataset=open` that have a real target, and write docs/results/choose.md.

    python scripts/choose.py [TABLE ...] [--out docs/results] [--repeats 5]

For each table choose is told n, the columns with their bounds, and the mean and the spread of each column to one digit (the share
of each level), and the same range of R² for all. Then the chosen mechanism is swept on the table itself at a grid of ε, and the
smallest ε at which the median over the runs of `utility/share_lost` reaches the target is read off that curve, between two points
evenly in logarithms. n is the number of training rows of a run. Sweeps are kept in choose_sweeps.csv, and not repeated: delete
the file to repeat them.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import dpbench
from dpbench.base.one_thread import one_thread
from dpbench.choosing.choice import Estimate, choose_from
from dpbench.choosing.error_curves import Simulation, candidates
from dpbench.choosing.public_facts import PLAUSIBLE_R_SQUARED, facts_of
from dpbench.choosing.question import Question
from dpbench.files.bounds_file import parse_bounds
from dpbench.registry.lookup import build

FOLDER = Path(__file__).parents[1] / "plugins" / "datasets" / "data" / "open"
OUT = Path(__file__).parents[1] / "docs" / "results"
SWEEPS = "choose_sweeps.csv"
EPSILONS = [round(float(epsilon), 5) for epsilon in 10 ** np.arange(-2, 2.01, 0.25)]
TARGETS = (0.05, 0.1, 0.2)
MECHANISM = "best"
"""The only one that is compared: the leaderboard's first, by far, on the same tables."""
TRAINED = 0.8
"""The share of the rows that a run of five folds trains on."""
FACTOR = 3.0
"""A typical ε counts if it is within this factor of the smallest sufficient one, a safe ε if it costs at most this much more."""
SMALLEST = 1e-4

Curve = dict[float, float]
"""The median share lost by ε."""


@dataclass(frozen=True)
class Line:
    """One table at one target: what choose said, and what was needed."""

    table: str
    rows: int
    columns: int
    mechanism: str
    target: float
    chosen: Estimate
    needed: float
    """Infinite if no ε of the grid reaches the target."""

    @property
    def close(self) -> bool:
        """Whether the typical ε is within the factor of what is needed."""
        return math.isfinite(self.needed) and self.needed / FACTOR <= self.chosen.typical <= FACTOR * self.needed

    @property
    def safe(self) -> bool:
        """Whether the safe ε reaches the target; no ε is said to be enough where none is."""
        return self.chosen.safe >= self.needed

    @property
    def cheap(self) -> bool:
        """Whether the safe ε costs no more than the factor, whether or not it is enough."""
        return math.isfinite(self.needed) and self.chosen.safe <= FACTOR * self.needed

    @property
    def safe_and_cheap(self) -> bool:
        """Whether the safe ε is enough, and costs no more than the factor."""
        return self.safe and self.cheap

    def cells(self) -> list[str]:
        """Return the line of the published table."""
        ratios = [f"{number:.2g} ({number / self.needed:.2g} x)" for number in (self.chosen.typical, self.chosen.safe)]
        verdicts = ["yes" if good else "**no**" for good in (self.close, self.safe, self.cheap)]
        return [self.table, f"{self.rows:,}", str(self.columns), self.mechanism, f"{self.needed:.2g}", *ratios, *verdicts]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="the names of tables (default: all with a real target)")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write to")
    parser.add_argument("--repeats", type=int, default=5, help="number of times that a table is split into 5 folds")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    arguments = parser.parse_args()
    facts = json.loads((FOLDER / "tables.json").read_text(encoding="utf-8"))["tables"]
    names = arguments.tables or [name for name, table in facts.items() if table["task"] == "real"]
    sweeps = Sweeps(arguments.out / SWEEPS, arguments.repeats)
    lines: dict[bool, list[Line]] = {True: [], False: []}
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        tasks = [(name, facts[name], known) for known in lines for name in names]
        for (name, _, known), answers in zip(tasks, pool.map(answer, *zip(*tasks, strict=True)), strict=True):
            lines[known] += [judged(line, sweeps) for line in answers]
            print(f"{name} {'with' if known else 'without'} column knowledge: done", flush=True)
    (arguments.out / "choose.md").write_text(page(lines), encoding="utf-8")
    print(f"Written: {arguments.out / 'choose.md'}")
    return 0


def answer(name: str, facts: Mapping[str, Any], known: bool) -> list[Line]:
    """Return what choose says for each target; what is needed is not known yet."""
    frame = pandas.read_parquet(FOLDER / f"{name}.parquet")
    bounds = declared(facts, frame, known)
    rows = round(TRAINED * facts["rows"])
    public = facts_of(parse_bounds(bounds, name), facts["target"], build("model", {"name": "linear"}), PLAUSIBLE_R_SQUARED)
    with one_thread():
        simulation = Simulation(public)  # what dpbench.choose does, once for all targets
        choices = [choose_from(simulation, Question(rows, error=target), candidates([MECHANISM])) for target in TARGETS]
    lines = []
    for target, choice in zip(TARGETS, choices, strict=True):
        assert choice.best.epsilon is not None
        lines.append(Line(name, rows, len(bounds) - 1, choice.best.candidate.name, target, choice.best.epsilon, math.nan))
    return lines


def judged(line: Line, sweeps: Sweeps) -> Line:
    """Return the line with what is needed on the table itself."""
    return replace(line, needed=smallest(sweeps.curve(line.table, line.mechanism), line.target))


def declared(facts: Mapping[str, Any], frame: pandas.DataFrame, known: bool) -> dict[str, Any]:
    """Return what the owner of a table would declare: bounds or levels, and what is known to one digit."""
    columns = {}
    for name, column in facts["columns"].items():
        if column["kind"] in ("real", "integer"):
            low, high = column["bounds"]
            kind = "integer" if column["kind"] == "integer" else "continuous"
            columns[name] = {"low": low, "high": high, "kind": kind}
            values = np.clip(frame[name].to_numpy(dtype=float), low, high)
            if known:
                typical = min(max(one_digit(values.mean()), low), high)
                columns[name] |= {"typical": typical, "spread": one_digit(values.std())}
        else:
            levels = [str(level) for level in column["levels"]]
            columns[name] = {"levels": levels}
            if known:
                columns[name]["shares"] = [one_digit((frame[name].astype(str) == level).mean()) for level in levels]
    return columns


def one_digit(number: float) -> float:
    """Return a number rounded to one digit."""
    return float(f"{number:.1g}")


class Sweeps:
    """The measured curves, kept in a file."""

    def __init__(self, path: Path, repeats: int) -> None:
        self._path, self._repeats = path, repeats
        self._curves: dict[tuple[str, str], Curve] = {}
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    curve = self._curves.setdefault((row["table"], row["mechanism"]), {})
                    curve[float(row["epsilon"])] = float(row["share_lost"])

    def curve(self, table: str, mechanism: str) -> Curve:
        """Return the share lost by ε, swept unless it is known."""
        if (table, mechanism) not in self._curves:
            # an audit would replay the mechanism at every ε: its claim is not the question here
            options = {"dataset.table": table, "splits.repeats": self._repeats, "audit.level": "none"}
            grid = {"dataset": "open", "mechanism": mechanism, "model": "linear", "epsilon": EPSILONS}
            frame = dpbench.sweep(options, **grid, engine="serial", record=False).full
            pairs = zip(frame["epsilon"].astype(float), frame["utility/share_lost_median"].astype(float), strict=True)
            self._curves[table, mechanism] = dict(pairs)
            self._save()
        return self._curves[table, mechanism]

    def _save(self) -> None:
        with self._path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["table", "mechanism", "epsilon", "share_lost"])
            for (table, mechanism), curve in sorted(self._curves.items()):
                writer.writerows([table, mechanism, f"{epsilon:g}", f"{lost:.6g}"] for epsilon, lost in curve.items())


def smallest(curve: Curve, target: float) -> float:
    """Return the smallest ε at which a measured curve reaches the target, or infinity."""
    points = sorted(curve.items())
    for (low, before), (high, after) in zip([(points[0][0], math.inf), *points], points, strict=False):
        if after <= target:
            if not math.isfinite(before):
                return low
            before, after = max(before, SMALLEST), max(after, SMALLEST)
            return low * (high / low) ** (math.log(before / target) / math.log(before / after))
    return math.inf


def page(lines: Mapping[bool, Sequence[Line]]) -> str:
    """Return docs/results/choose.md."""
    parts = [INTRODUCTION, "## In short\n", table(["told", "target", *COUNTS], summary(lines))]
    for target in TARGETS:
        parts += [f"## At most {100 * target:g} % lost\n", table(HEADER, [line.cells() for line in of(lines[True], target)])]
    unknown = [line.cells() for line in of(lines[False], 0.1)]
    parts += ["## At most 10 % lost, without column knowledge\n", table(HEADER, unknown)]
    return "\n".join(parts)


HEADER = [
    *("table", "rows", "columns", "chosen", "needed ε", "typical ε", "safe ε"),
    *(f"within {FACTOR:g} x", "safe is enough", f"at most {FACTOR:g} x"),
]
COUNTS = [
    "tables that can reach it",
    "typical within a factor 3",
    "safe is enough",
    "costs at most 3 times what is needed",
    "both",
]
INTRODUCTION = """\
# How well `choose` chooses

Made by `python scripts/choose.py` on the 21 public tables with a real target; [choose_sweeps.csv](choose_sweeps.csv) has the
measured curves. [The guide](../choose.md) says what `choose` does. It was told the number of training rows, the bounds, the
mean and the spread of each column (or the shares of its levels) to one digit, and R² between 0.2 and 0.9 for every table, with
`mechanism=best`. *Needed* is the smallest ε at which the median loss of `best` on the table itself, over 25 runs, reaches the
target; `inf` where none up to 100 does. In brackets is how many times what is needed the answer is.

How plausible tables are drawn (one factor, of which each column has a random share; four kinds of coefficients) was settled by
trying about 350 ways on these same tables, so that new tables may do worse.

The goals were set before, for 20 tables at 10 %: a typical ε within a factor 3 for 12 (reached), a safe ε that is enough for 16
(reached), and one that costs at most three times what is needed for 8. It costs no more than that for 12. On 5 of these it is
not enough either, which nobody would call safe. So we count the 7 that are both, and call this goal missed. The worst misses
are on the unsafe side: naval, whose columns are exactly collinear, and appliances need far more ε than means and spreads can
tell. air_quality, power_plant and communities need much less than the answer.

The miss is no accident of the draw: five times as many plausible tables (twice as many for communities) give 13, 16 and 7
(both) at 10 % again, and 15, 17 and 9 at 5 %, 12, 17 and 7 at 20 %. Four other draws of 36 tables give 7, 7, 8 and 3 at 10 %.
With R² spread evenly over its range, in place of its ends and its middle, it is 8, but one table fewer is safe: abalone would
get 0.92 times what it needs. Nor is the miss an accident of the measured curves: three more seeds put what california_housing
needs between 0.09 and 0.1, and what diamonds needs between 0.05 and 0.07. Nor is it one of how choose computes: with strengths
four times as dense and three times as many fits, the safe ε of the six tables that are closest to the limit moves by at most a
fifth.

Column knowledge did not help on these tables: bounds alone gave about the same counts. Most of these bounds are the range of
the table itself, rounded outwards, so that they say what a spread would. Bounds that were chosen wider than the rows say less.
"""


def of(lines: Iterable[Line], target: float) -> list[Line]:
    return [line for line in lines if line.target == target]


def summary(lines: Mapping[bool, Sequence[Line]]) -> list[list[str]]:
    """Return how many tables reach each goal."""
    rows = []
    for known, what in ((True, "means and spreads"), (False, "bounds alone")):
        for target in TARGETS:
            group = of(lines[known], target)
            counts = [sum(getattr(line, name) for line in group) for name in ("close", "safe", "cheap", "safe_and_cheap")]
            possible = sum(math.isfinite(line.needed) for line in group)
            rows.append([what, f"{100 * target:g} %", f"{possible} of {len(group)}", *map(str, counts)])
    return rows


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
