"""Figures of a sweep, drawn from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpbench.report.rows import Row

# Okabe and Ito 2008: told apart by colour-blind readers, and by their grey in print
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LABELLED = 12
"""Up to here every ε has its own label on the axis."""
MARKS = "osD^vPX"


def error_against_epsilon(rows: Sequence[Row], stem: Path) -> bool:
    """Median error with its 20-80 % band against ε, one panel a model and dataset, as PNG and PDF; False with nothing to draw."""
    done = [row for row in rows if row.done and row.metric(f"utility/{row.primary}") is not None]
    panels = list(dict.fromkeys((row.params["model"], row.params["dataset"]) for row in done))
    if not panels or len({row.epsilon for row in done}) < 2:
        return False
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    width = min(len(panels), 3)
    height = -(-len(panels) // width)
    figure = Figure(figsize=(4.6 * width + 1.6, 3.4 * height + 0.5), layout="constrained")
    FigureCanvasPdf(figure)
    grid = figure.subplots(height, width, squeeze=False)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, [row for row in done if (row.params["model"], row.params["dataset"]) == panel], *panel)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    if any(row.tags.get("dpbench.synthetic") == "true" for row in done):
        figure.supxlabel("ε (log scale). SYNTHETIC data. Bands: 20-80 % of runs; hollow: not private or not proven", fontsize=8)
    else:
        figure.supxlabel("ε (log scale). Bands: 20-80 % of runs; hollow marks: not private or not proven", fontsize=8)
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    figure.savefig(stem.with_suffix(".pdf"))
    return True


def _panel(axes, rows: Sequence[Row], model: str, dataset: str) -> None:  # type: ignore[no-untyped-def]
    curves = list(dict.fromkeys(_curve(row) for row in rows))
    primary = rows[0].primary
    for index, curve in enumerate(curves):
        points = sorted((row for row in rows if _curve(row) == curve), key=lambda row: row.epsilon)
        x = [row.epsilon for row in points]
        median = [row.metric(f"utility/{primary}") for row in points]
        low, high = ([row.metric(f"utility/{primary}", suffix) for row in points] for suffix in ("p20", "p80"))
        colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
        face = colour if all(row.ranked for row in points) else "white"
        axes.plot(x, median, color=colour, marker=mark, markerfacecolor=face, label=curve, linewidth=1.4, markersize=5)
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    for name, label, style in (("no_privacy", "non-private fit", "--"), ("mean_predictor", "mean predictor", ":")):
        level = rows[0].metric(f"reference/{name}/{primary}")
        if level is not None:
            axes.axhline(level, color="#555555", linestyle=style, linewidth=1, label=label)
    axes.set_xscale("log")
    epsilons = sorted({row.epsilon for row in rows})
    if len(epsilons) <= LABELLED:
        axes.set_xticks(epsilons, labels=[f"{x:g}" for x in epsilons])
        axes.minorticks_off()
    worst = max(row.metric(f"utility/{primary}", "p80") or 0.0 for row in rows)
    best = min(row.metric(f"utility/{primary}", "p20") or worst for row in rows)
    if best > 0 and worst / best > 20:
        axes.set_yscale("log")
    axes.set_title(f"{model} on {dataset}", fontsize=10)
    axes.set_ylabel(f"{primary} (scaled target)")
    axes.legend(fontsize=7, frameon=False)


def _curve(row: Row) -> str:
    own = [f"{key}={value}" for key, value in row.params.items() if "." in key and not key.startswith("splits")]
    return " ".join([row.params["mechanism"], *own])
