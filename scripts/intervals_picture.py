"""Draw why the textbook formula fails on a private release: docs/intervals.png, for docs/inference.md.

    python scripts/intervals_picture.py

Forty tables are drawn from one population, and each is released once. The same forty releases get textbook intervals, and
intervals that count the noise as well.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from dpbench.cells.intervals import made_intervals
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.inference.settings import InferenceSettings
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import build
from dpbench.report.figures import style

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "intervals.png"
TABLES = 40
EPSILON = 1.0
SLOPE = 1
"""The coefficient that is drawn: the first slope."""
TITLES = {"naive": "textbook formula on the noisy sums", "delta": "delta method: sampling and privacy noise"}
GREY, RED = "#555555", "#c1272d"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PICTURE)
    out = parser.parse_args().out
    releases = [release(number) for number in range(TABLES)]
    with style.styled():
        style.save(drawn(releases), out.with_suffix(""), ("png",))
    print(f"Written: {out}.")
    return 0


def release(number: int) -> tuple[Fit, float, float]:
    """Return the fit to one table, its number of rows and the true slope."""
    table = build("dataset", {"name": "designs", "design": "n20000_d5"}).select(np.random.default_rng(number))
    rows = scale(table, "box", True, "real")
    budget = Budget(EPSILON, 1e-6, "approx")
    curator = Curator(WholeSample(rows), Draws(0, "intervals", [(number, 0)]), budget)
    fit = fit_closed(
        build("mechanism", {"name": "ssp"}), build("model", {"name": "linear"}).prepare(closed(curator)), curator, budget
    )
    assert rows.coefficients is not None
    return fit, float(rows.n), float(rows.coefficients[SLOPE])


def drawn(releases: list[tuple[Fit, float, float]]) -> Figure:
    """Return the two panels."""
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, (method, title) in zip(panels, TITLES.items(), strict=True):
        missed = 0
        for place, (fit, n, truth) in enumerate(releases):
            made = made_intervals(fit, InferenceSettings(method=method), np.array([n]), True, np.random.default_rng)
            low, high, centre = (float(values[0, SLOPE]) for values in (made.low, made.high, made.centre))
            outside = not low <= truth <= high
            missed += outside
            colour = RED if outside else GREY
            panel.plot([low, high], [place, place], color=colour, linewidth=1.4, solid_capstyle="butt")
            panel.plot(centre, place, ".", color=colour, markersize=4)
        panel.axvline(releases[0][2], color="black", linewidth=1, linestyle="--")
        panel.set_title(f"{title}\n{TABLES - missed} of {TABLES} cover the true slope", fontsize=9)
        panel.set_yticks([])
        panel.set_xlabel("first slope (scaled)")
    panels[0].set_ylabel("releases")
    return figure


if __name__ == "__main__":
    sys.exit(main())
