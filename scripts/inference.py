"""Count how often intervals cover the coefficients of simulated tables, and write docs/results/inference.md.

    python scripts/inference.py                        the whole study; writes docs/results/inference.md
    python scripts/inference.py --quick --out page.md  a first look at two designs
    python scripts/inference.py --only coverage        one preset of the study; other keys of it may follow
    python scripts/inference.py --recorded             run nothing: the page of what the store has

Cells are recorded one by one in a store of their own: the same command goes on where an interruption ended. The exit code is 1
if a cell failed or a mechanism was refuted.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.base.errors import Refused
from dpbench.experiments.presets import Experiment, experiments, select
from dpbench.records.cell_record import CellRecord
from dpbench.records.names import INTERVAL_COVERS
from dpbench.report.formatting import group_by
from dpbench.report.interval_texts import interval_sentences
from dpbench.sweeps.execution import execute, recorded_cells
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "inference.md"
STUDY = "inference"
BAND = 0.935, 0.970
"""Where the coverage of 95 % intervals has to be. If the floor is not active rarely, only the lower end counts."""
RARELY = 0.05
LEAST = 0.90
"""The smallest coverage that a single coefficient may have, except with heteroscedastic errors."""
JUDGED = (("ssp", "delta"), ("fm", "delta"), ("fm", "bootstrap"))
METHODS = ("naive", "delta", "bootstrap")
MIN_SHOWN = 0.05
"""Where a smaller share of the slopes has an interval, they are too few to count how often they cover."""
FAILING = "heteroscedastic"
E1_HALF_RANGE = 5 * math.sqrt((1.5**2 + 2**2 + 0.5**2) * 100 / 12 / 0.98187)
"""Half the range of the target of lin2026_e1: five standard deviations."""

INTRODUCTION = """\
# How often intervals cover

Written by `{command}`. **The tables are synthetic**, unless a heading says otherwise: each run draws one, and its 95 % intervals
of the slopes have to cover the coefficients that it was drawn with. [inference.md](../inference.md) explains the methods, and
`python -m dpbench experiments inference/coverage` the designs. The cells took {minutes:.0f} minutes of one core.

Coverage is the share of the slopes inside their intervals, over all runs and slopes, with its 95 % Monte-Carlo interval.
*Smallest* is that of the coefficient which is covered least, the intercept included. *Width* is the median ratio to the interval
without privacy. *Floored* is the share of runs in which noise hides some direction of the features, so that the eigenvalues of
X'X are raised: intervals are wide there, and on average cover more than they say, but a single coefficient that the noise hides
may be covered less. *Least squares* has the coverage of the textbook intervals without privacy. *Shown* is the share of the
slopes that have a finite interval: the others count for nothing.
"""
PUBLISHED = """\
As re-run independently, with 300 tables, BinAgg covers .917, .931, .934 and .918 at μ = .5, 1, 2 and 5, with mean widths of .518,
.291, .181 and .103; the textbook formula on its sums covers .077, .149, .227 and .318. Here μ is that of (ε, 1e-6) for neighbours
that differ in a replaced row. BinAgg's program costs more than it says ([lin2026.md](lin2026.md)), so widths are not compared at
equal privacy.
"""
RESAMPLED = """\
These tables are real. Each run draws as many rows with replacement, so the table is the population, and the truth is the
non-private fit to all of it. Where least squares itself covers too little, a few rows far out decide its coefficients.
"""
CONSERVATIVE = {
    "adassp": "adassp releases no sum of squares of the target, so its intervals take the largest variance of the residuals that "
    "the target's range allows. They are conservative, and count for nothing.",
}


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one cell cover."""

    mean: float
    error: float
    """Half the width of the Monte-Carlo interval."""
    smallest: float
    width: float
    floored: float
    reference: float
    """The coverage of the slopes' non-private intervals, and the smallest of all coefficients."""
    reference_smallest: float
    shown: float
    """The share of the slopes that have a finite interval."""

    @classmethod
    def of(cls, cell: CellRecord) -> Coverage | None:
        """Return a cell's coverage; None if it has no intervals whose truth is known."""
        mean, low = cell.metrics.get("inference/coverage_mean"), cell.metrics.get("inference/coverage_ci_low")
        if mean is None or shown_share(cell) < MIN_SHOWN:
            return None
        table = cell.detail.intervals
        slopes = [row["reference_coverage"] for name, row in table.items() if name != "intercept"]
        return cls(
            mean,
            0.0 if low is None else mean - low,
            min(row["coverage"] for row in table.values() if row.get("shown", 1.0) >= MIN_SHOWN and "coverage" in row),
            cell.metrics["inference/width_ratio_median"],
            cell.metrics.get("health/interval_floored", 0.0),
            math.fsum(slopes) / len(slopes),
            min(row["reference_coverage"] for row in table.values()),
            shown_share(cell),
        )

    @property
    def text(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}"

    @property
    def reference_text(self) -> str:
        return f"{self.reference:.3f} ({self.reference_smallest:.3f})"


def shown_share(cell: CellRecord) -> float:
    """Return the share of a cell's slopes, over all runs, that have a finite interval."""
    shares = [row.get("shown", 1.0) for name, row in cell.detail.intervals.items() if name != "intercept"]
    return math.fsum(shares) / len(shares) if shares else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="replace keys of the presets")
    parser.add_argument("--only", metavar="PRESET", help="one preset of the study, such as coverage")
    parser.add_argument("--quick", action="store_true", help="two designs, two repeats")
    parser.add_argument("--recorded", action="store_true", help="run nothing: the page of what the store has")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page that is written")
    parser.add_argument("--uri", default="sqlite:///inference.db", help="the store; what it has already is not run again")
    arguments = parser.parse_intermixed_args()
    start, cells, code = time.perf_counter(), {}, 0
    try:
        for experiment in select(f"{STUDY}/{arguments.only}" if arguments.only else STUDY, experiments()):
            overrides = [*arguments.overrides, *(["quick=true"] if arguments.quick else []), f"tracking.uri={arguments.uri}"]
            cells[experiment.name], failed = run(experiment, overrides, recorded=arguments.recorded)
            code = max(code, failed)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("The same command goes on; with --recorded it writes the page of what is there.", file=sys.stderr)
        return 130
    seconds = math.fsum(cell.metrics.get("time/cell_seconds", 0.0) for group in cells.values() for cell in group)
    flags = [*(["--only", arguments.only] if arguments.only else []), *(["--quick"] if arguments.quick else [])]
    command = " ".join(["python scripts/inference.py", *flags, *arguments.overrides])
    arguments.out.write_text(page(cells, command, seconds / 60), encoding="utf-8")
    print(f"Written: {arguments.out}, after {(time.perf_counter() - start) / 60:.1f} minutes.")
    return code


def run(experiment: Experiment, overrides: Sequence[str], *, recorded: bool) -> tuple[list[CellRecord], int]:
    """Run a preset, or only read what is recorded of it; return its cells and the exit code."""
    request = [f"experiment={experiment.name}", *overrides]
    points = grid_points(request)
    planned, config = plan(points), points[0].config
    if recorded:
        return list(recorded_cells(planned, config)), 0
    outcome = execute(planned, config, sweep=False, command=["-m", *request], overrides=request)
    for cell in [cell for cell in outcome.cells if cell.state == "failed" or cell.refuted]:
        print(f"  {cell.params}: {cell.reason or cell.guarantee_why}", file=sys.stderr)
    return list(outcome.cells), outcome.exit_code


def page(cells: dict[str, list[CellRecord]], command: str, minutes: float) -> str:
    """Return the whole page."""
    return "\n".join([INTRODUCTION.format(command=command, minutes=minutes), *_sections(cells)])


def _sections(cells: dict[str, list[CellRecord]]) -> Iterator[str]:
    coverage = [cell for cell in cells.get("inference/coverage", []) if cell.done]
    if coverage:
        yield "## What holds\n"
        yield "\n".join(f"- {sentence}" for sentence in verdicts(coverage)) + "\n"
        for mechanism, group in group_by(coverage, lambda cell: cell.params["mechanism"]).items():
            yield f"## {mechanism}\n"
            if mechanism in CONSERVATIVE:
                yield CONSERVATIVE[mechanism] + "\n"
            yield _table(HEAD, method_rows(group))
    for preset, heading in DESCENTS.items():
        cells_with_method = [cell for cell in cells.get(preset, []) if cell.done and INTERVAL_COVERS in cell.tags]
        for mechanism, group in group_by(cells_with_method, lambda cell: cell.params["mechanism"]).items():
            yield f"## {heading.format(mechanism=mechanism)}\n"
            yield from _reasons(group)
            yield f"- {refused(group, 'dataset')}\n"
            if any(map(Coverage.of, group)):
                yield _table(("design", *DESCENT_HEAD, "least squares"), other_rows(group, "dataset"))
    if published := [cell for cell in cells.get("inference/lin2026_e1", []) if cell.done]:
        yield "## The published coverages of Lin et al. 2026\n"
        yield PUBLISHED
        head = ("mechanism", "method", "ε", "μ", "coverage", "smallest", "mean of the slopes' median widths")
        yield _table(head, published_rows(published))
    if real := [cell for cell in cells.get("inference/real_tables", []) if cell.done]:
        yield "## Real tables, resampled\n"
        yield RESAMPLED
        head = ("table", "mechanism", "ε", "floored", "method", "coverage", "smallest", "width", "least squares (smallest)")
        yield _table(head, real_rows(real))
    if logistic := [cell for cell in cells.get("inference/logistic", []) if cell.done]:
        yield "## Logistic regression\n"
        yield from _reasons(logistic)
        yield f"- {refused(logistic, 'dataset.log_odds_std')}\n"
        yield _table(("std of the log odds", *DESCENT_HEAD, "maximum likelihood"), other_rows(logistic, "dataset.log_odds_std"))


DESCENTS = {"inference/descent": "{mechanism}", "inference/more_steps": "{mechanism}, with mechanism.steps=200"}
DESCENT_HEAD = ("ε", "covers", "shown", "coverage", "smallest", "width")
HEAD = ("design", "ε", "floored", *METHODS, "smallest (delta, bootstrap)", "width (delta, bootstrap)", "least squares (smallest)")


def method_rows(cells: Sequence[CellRecord]) -> Iterator[Sequence[str]]:
    """Return a row for each design and ε, with a column per method."""
    for (design, epsilon), group in group_by(cells, lambda cell: (cell.params["dataset"], cell.params["epsilon"])).items():
        found = {cell.params["inference.method"]: Coverage.of(cell) for cell in group}
        known = [coverage for coverage in found.values() if coverage]
        if not known:
            continue
        both = [found.get(method) for method in METHODS[1:]]
        smallest = ", ".join(f"{one.smallest:.3f}" if one else "" for one in both)
        widths = ", ".join(f"{one.width:.3g}" if one else "" for one in both)
        texts = [one.text if (one := found.get(method)) else "" for method in METHODS]
        yield (design, epsilon, f"{known[0].floored:.3f}", *texts, smallest, widths, known[0].reference_text)


def other_rows(cells: Sequence[CellRecord], key: str) -> Iterator[Sequence[str]]:
    """Return a row for each cell that has intervals of at least one slope in twenty."""
    for cell in cells:
        if one := Coverage.of(cell):
            covers = cell.params["inference.covers"]
            measured = f"{one.shown:.2f}", one.text, f"{one.smallest:.3f}", f"{one.width:.3g}"
            # about the same rows, least squares has nothing to cover
            yield (cell.params[key], cell.params["epsilon"], covers, *measured, "" if covers == "table" else one.reference_text)


def refused(cells: Sequence[CellRecord], key: str) -> str:
    """Return in which cells hardly a slope has an interval, as a sentence."""
    places = dict.fromkeys((cell.params[key], cell.params["epsilon"]) for cell in cells if shown_share(cell) < MIN_SHOWN)
    return _listed("Intervals of fewer than one slope in twenty are shown, and the others are infinite:", list(places))


def published_rows(cells: Sequence[CellRecord]) -> Iterator[Sequence[str]]:
    """Return a row for each cell on the design E1, with widths in the units of its columns."""
    for cell in cells:
        if one := Coverage.of(cell):
            widths = [row["width"] for name, row in cell.detail.intervals.items() if name != "intercept"]
            width = math.fsum(widths) / len(widths) * E1_HALF_RANGE / 5  # columns lie in [0, 10]
            mu = gdp_of_epsilon(cell.epsilon, float(cell.params["delta"]))
            names = (cell.params["mechanism"], cell.params["inference.method"], cell.params["epsilon"], f"{mu:.3g}")
            yield (*names, one.text, f"{one.smallest:.3f}", f"{width:.3f}")


def real_rows(cells: Sequence[CellRecord]) -> Iterator[Sequence[str]]:
    """Return a row for each cell on a real table."""
    for cell in sorted(cells, key=lambda cell: (cell.params["dataset"], cell.params["mechanism"], cell.epsilon)):
        if one := Coverage.of(cell):
            names = (cell.params["dataset"], cell.params["mechanism"], cell.params["epsilon"], f"{one.floored:.3f}")
            measured = one.text, f"{one.smallest:.3f}", f"{one.width:.3g}", one.reference_text
            yield (*names, cell.params["inference.method"], *measured)


def verdicts(cells: Sequence[CellRecord]) -> Iterator[str]:
    """Yield what the judged intervals do, and every cell in which they do not."""
    for mechanism, method in JUDGED:
        chosen = [cell for cell in cells if (cell.params["mechanism"], cell.params["inference.method"]) == (mechanism, method)]
        found = {(cell.params["dataset"], cell.params["epsilon"]): one for cell in chosen if (one := Coverage.of(cell))}
        if not found:
            continue
        inside = {place: one for place, one in found.items() if one.floored < RARELY}
        missed = [place for place, one in found.items() if not _holds(one)]
        single = [place for place, one in found.items() if one.smallest < LEAST and place[0] != FAILING]
        means = [one.mean for one in inside.values()] or [math.nan]
        least = min(one.mean for one in found.values())
        yield (
            f"{mechanism}, {method}: from {min(means):.3f} to {max(means):.3f} in the {len(inside)} cells whose floor is active "
            f"in fewer than 5 % of the runs; at least {least:.3f} in all {len(found)}. "
            f"{_listed('Outside of .935 to .970, or below .935 with the floor:', missed)} "
            f"{_listed('A single coefficient below .90, apart from heteroscedastic errors:', single)}"
        )
    failing = [one for cell in cells if _judged(cell) and cell.params["dataset"] == FAILING and (one := Coverage.of(cell))]
    if failing:
        least, reference = min(one.smallest for one in failing), min(one.reference_smallest for one in failing)
        yield (
            f"{FAILING}: single coefficients are covered down to {least:.3f}, and by least squares without privacy down to "
            f"{reference:.3f}: both take errors for equal in size."
        )
    for mechanism, group in group_by(cells, lambda cell: cell.params["mechanism"]).items():
        naive = [one.mean for cell in group if cell.params["inference.method"] == "naive" and (one := Coverage.of(cell))]
        if naive:
            yield f"{mechanism}, naive: from {min(naive):.3f} to {max(naive):.3f}."


def _judged(cell: CellRecord) -> bool:
    return (cell.params["mechanism"], cell.params["inference.method"]) in JUDGED


def _holds(one: Coverage) -> bool:
    low, high = BAND
    return low <= one.mean and (one.mean <= high or one.floored >= RARELY)


def _listed(what: str, places: Sequence[tuple[str, str]]) -> str:
    return f"{what} {', '.join(f'{design} at ε = {epsilon}' for design, epsilon in places) or 'none'}."


def _reasons(cells: Sequence[CellRecord]) -> Iterator[str]:
    """Yield what all intervals of a mechanism say of themselves."""
    names = [f"{cell.params['mechanism']} (covers={covers})" for cell in cells if (covers := cell.tags.get(INTERVAL_COVERS))]
    several = len(set(names)) > len({cell.params["mechanism"] for cell in cells})

    def name(cell: CellRecord) -> str:
        return f"{cell.params['mechanism']} (covers={cell.tags.get(INTERVAL_COVERS)})" if several else cell.params["mechanism"]

    yield "\n".join(f"- {sentence}" for sentence in interval_sentences(cells, name)) + "\n"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
