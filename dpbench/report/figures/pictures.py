"""The figures of a sweep: the paper's own, and those that any sweep can have. Each is None where it has nothing to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from dpbench.records.cell_record import CellRecord
from dpbench.records.figure_spec import FigureSpec
from dpbench.records.sweep_record import SweepRecord
from dpbench.report import labels as naming
from dpbench.report.figures import style
from dpbench.report.figures.distributions import boxes, roc
from dpbench.report.figures.drawing import band, foot
from dpbench.report.figures.points import Panel, label, once, panels, varying
from dpbench.report.figures.subject import CaptionedFigure, FigureContext, runs
from dpbench.report.statistics.ranks import ranks
from dpbench.report.wording import listed

HEALTH = ("not_positive_definite", "repaired", "diverged", "not_finite")
ATTACKS = ("attack/advantage", "attack/accuracy_train", "attack/auc")
PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
UNEQUAL = 0.01
"""From this relative difference on the accounted ε is another than the one asked for."""


def own(sweep: SweepRecord) -> CaptionedFigure | None:
    """The preset's own figure, as the paper drew it."""
    if sweep.preset is None:
        return None
    subject = FigureContext.as_asked(sweep, sweep.preset.figure)
    rows, plot = subject.cells, subject.plot
    title, source = plot.title or sweep.preset.title, sweep.preset.title
    if sweep.changed:
        title, source = (f"after {text}, changed: {' '.join(sweep.changed)}" for text in (title, source))
    says = f"{source}: {sweep.preset.shows or 'as the paper draws it'}"
    if plot.form == "lines":
        shown = panels(rows, plot)
        return subject.lines("figure", title, f"{says}; {_over(shown, plot)}.", plot, shown) if shown else None
    form = boxes if plot.form == "boxes" else roc
    figure = form(rows, plot, subject.looks, title)
    if figure is None:
        return None
    what = "box plots" if plot.form == "boxes" else f"{plot.statistic} curves"
    return subject.picture("figure", title, f"{says}; {what} of the {runs(rows)} of each cell.", rows, figure)


def _over(shown: Sequence[Panel], plot: FigureSpec) -> str:
    """What each point is."""
    row, metric = shown[0].rows[0], shown[0].metric
    if metric in row.metrics:
        return "one number a cell"
    bands = band(plot).rstrip(".").lower()
    return f"{plot.statistic} over the {runs(shown[0].rows)} of each cell" + (f", {bands}" if bands else "")


def error_against(subject: FigureContext) -> CaptionedFigure | None:
    """Median error with its band against ε, or against what else the sweep varied, and the two references."""
    x = subject.plot.x
    if len({row.params.get(x) for row in subject.rows}) < 2:
        return None
    says = f"The median error against {naming.label_of(x)} with 20-80 % bands over the {runs(subject.rows)} of each cell."
    title = f"Error against {naming.label_of(x)}"
    return subject.lines(f"error_vs_{x.rpartition('.')[2]}", title, says, subject.plot, panels(subject.rows, subject.plot))


def box_plots(subject: FigureContext) -> CaptionedFigure | None:
    """The runs themselves."""
    if not subject.rows:
        return None
    figure = boxes(subject.rows, subject.plot, subject.looks, "The error of each run")
    if figure is None:
        return None
    along = naming.label_of(subject.plot.x)
    says = f"Box plots of the errors of the {runs(subject.rows)} of each cell, at up to twelve values of {along}."
    cut = len(panels(subject.rows, subject.plot))
    return subject.picture("boxes", "The error of each run", says, subject.rows, figure, cut=cut)


def error_against_accounted(subject: FigureContext) -> CaptionedFigure | None:
    """The error against what the ledger says was spent, where that is not simply the ε that was asked for."""
    other = [row for row in subject.rows if row.private and abs(row.accounted / row.epsilon - 1) > UNEQUAL]
    if not other or not subject.several or subject.plot.x != "epsilon":
        return None
    plot = replace(subject.plot, x="privacy/epsilon_accounted")
    says = (
        "The median error against the accounted ε, in which mechanisms whose own ε is another currency can be compared; "
        f"bands: 20-80 % of the {runs(subject.rows)} of each cell, level lines: what is not private."
    )
    return subject.lines("error_vs_accounted", "Error against the accounted ε", says, plot, panels(subject.rows, plot))


def attack_frontier(subject: FigureContext) -> CaptionedFigure | None:
    """What an attack finds against what the model is worth."""
    attacked = [row for row in subject.cells if any(f"{name}_mean" in row.metrics for name in ATTACKS)]
    keys = ("attack", *(key for key in varying(attacked) if key.startswith("attack.")))
    shown: list[Panel] = []
    for primary in dict.fromkeys(row.primary for row in attacked):
        plot = replace(
            subject.plot,
            x=f"utility/{primary}",
            y=ATTACKS,
            statistic="mean",
            band="confidence",
            log=(),
            references=tuple(_controls(attacked)),
            panels=tuple(dict.fromkeys((*subject.plot.panels, *keys))),
        )
        found = panels([row for row in attacked if row.primary == primary], plot)
        shown += [replace(panel, across=_caps(panel)) for panel in found]
    if not shown:
        return None
    along = naming.label_of(subject.plot.x)
    says = (
        f"What the attack gains (mean and 95 % interval) against the median error over the {runs(attacked)} of each cell, with "
        f"{along} beside the points; level lines: controls, which need no release, and the cap that a guarantee sets."
    )
    about = f"Bars: 95 % interval of the mean. Beside the points: {along}."
    title = "Attack against error"
    return subject.lines("attack_frontier", title, says, plot, shown, written=subject.plot.x, about=about)


def _controls(rows: Sequence[CellRecord]) -> list[str]:
    """What can be guessed without any release, where that is an advantage."""
    found = dict.fromkeys(name for row in rows for name in row.metrics if name.startswith("attack/control/"))
    return [name.removesuffix("_mean") for name in found if name.endswith("/advantage_mean")]


def _caps(panel: Panel) -> dict[str, dict[float | str | None, float]]:
    """The caps on the attack from the smallest up to the first that is above all that was found; none where it limits a gap."""
    if panel.metric != ATTACKS[0] or any("attack/gap_mean" in row.metrics for row in panel.rows):
        return {}
    worst = max(row.metrics.get(f"{panel.metric}_ci_high", row.metric(panel.metric, "mean") or 0.0) for row in panel.rows)
    caps = sorted({(row.metrics.get("attack/cap", 1.0), row.accounted) for row in panel.rows if row.ranked})
    needed = sum(cap < worst for cap, _ in caps) + 1
    return {f"cap at ε = {epsilon:g}": {None: cap} for cap, epsilon in caps[:needed]}


def time_against_error(subject: FigureContext) -> CaptionedFigure | None:
    """What a better error costs in time."""
    timed = [row for row in subject.rows if row.metrics.get("time/fit_seconds", 0.0) > 0]
    if not timed or not subject.several:
        return None
    plot = replace(subject.plot, x="time/fit_seconds", references=())
    along = naming.label_of(subject.plot.x)
    says = (
        f"The median error with 20-80 % bars over the {runs(timed)} of each cell against the time of one fit on one thread, with "
        f"{along} beside the points."
    )
    about = f"Bars: 20-80 % of the runs. Beside the points: {along}."
    shown = panels(timed, plot)
    title = "Error against time"
    return subject.lines("time_vs_error", title, says, plot, shown, written=subject.plot.x, joined=False, about=about)


def health(subject: FigureContext) -> CaptionedFigure | None:
    """How often fits went wrong; rates that are the same everywhere share a panel."""
    plot = replace(subject.plot, band=None, references=())
    places: dict[tuple[str | None, ...], list[CellRecord]] = {}
    for row in once(subject.cells):
        places.setdefault(tuple(row.params.get(key) for key in plot.panels), []).append(row)
    shown = []
    for here in places.values():
        same: dict[tuple[float, ...], list[str]] = {}
        for name in HEALTH:
            rates = tuple(row.metrics.get(f"health/{name}", 0.0) for row in here)
            if any(rates):
                same.setdefault(rates, []).append(f"health/{name}")
        for rates, names in same.items():
            ill = {label(row, plot) for row, rate in zip(here, rates, strict=True) if rate > 0}
            rows = tuple(row for row in here if label(row, plot) in ill and names[0] in row.metrics)
            title = f"{naming.problem_title(here[0], plot.panels)}\n{', '.join(map(naming.label_of, names))}"
            shown.append(Panel(title, rows, names[0], share=True))
    if not shown:
        return None
    says = (
        f"The share of the {runs(shown[0].rows)} of each cell whose fit went wrong; mechanisms whose fits never did are left out."
    )
    return subject.lines("health", "Fits that went wrong", says, plot, shown)


def mean_ranks(subject: FigureContext) -> CaptionedFigure | None:
    """Mean ranks over the datasets, and the difference that means something."""
    if not subject.several or len({row.problem for row in subject.rows}) < 2:
        return None
    found = ranks(subject.rows)
    if found is None or len(found.datasets) < 2:
        return None
    names = naming.shortened(found.names)
    size = (max(4.0, style.CHARACTER * max(map(len, names.values())) + 2.0), 0.28 * len(found.names) + 0.5)
    figure, (axes,) = style.sheet(1, alone=size, among=size)
    for index, (name, rank) in enumerate(zip(found.names, found.mean_ranks, strict=True)):
        look = subject.looks[name]
        axes.plot([1, rank], [index, index], color="#CCCCCC", linewidth=1)
        axes.plot([rank], [index], color=look.colour, marker=look.mark, markersize=6, linestyle="")
        shift, side = ((7, 0), "left") if rank <= (1 + len(found.names)) / 2 else ((-7, 0), "right")
        style.beside(axes, names[name], (rank, index), shift, ha=side, va="center", fontsize=8, bbox=PLAIN)
    handles: list[Artist] = []
    bar = "no critical difference: too few datasets for one"
    if found.critical is not None:
        best = found.mean_ranks[0]
        ends = (best, best + found.critical)
        axes.plot(ends, [-0.8, -0.8], color="black", linewidth=3, solid_capstyle="butt")
        handles.append(Line2D([], [], color="black", linewidth=3, label="critical difference (Nemenyi, 5 %)"))
        bar = f"mean ranks further apart than {found.critical:.2f} differ (Nemenyi, 5 %)"
    axes.set(
        ylim=(len(found.names) - 0.4, -1.2),
        yticks=[],
        xticks=range(1, len(found.names) + 1),
        xlabel="mean rank (1: lowest error)",
    )
    axes.set_xlim(0.9, max(len(found.names) + 0.1, found.mean_ranks[0] + (found.critical or 0) + 0.1))
    says = f"The mean ranks of the private and proven mechanisms over {listed(found.datasets)} by their median error; {bar}."
    title = "Mean ranks over the datasets"
    rows = [row for row in subject.rows if row.ranked]
    style.finish(figure, handles, title, foot(rows, f"{bar[0].upper()}{bar[1:]}."))
    return subject.picture("ranks", title, says, rows, figure)


GENERAL = (error_against, box_plots, error_against_accounted, attack_frontier, time_against_error, health, mean_ranks)


def pictures(sweep: SweepRecord) -> Iterator[CaptionedFigure]:
    """The paper's own figure, if there is one, then the general ones that have something to say."""
    first = own(sweep)
    if first is not None:
        yield first
    subject = FigureContext.of(sweep)
    yield from filter(None, (make(subject) for make in GENERAL))
