"""Which figures a sweep gets, with their captions: the paper's own, and those that any sweep can have."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from dpbench.base.errors import Omissions
from dpbench.records.cell_record import CellRecord, label
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import style
from dpbench.report.figures.distributions import MAX_VALUES, draw_boxes, draw_roc
from dpbench.report.figures.fit_times import times_differ
from dpbench.report.figures.forest import draw_forest, forest_of
from dpbench.report.figures.hover import Mark
from dpbench.report.figures.lines import band_text, draw_lines, foot
from dpbench.report.figures.panels import MAX_PANELS, FigureData, Panel, Position, varying, without_attacks
from dpbench.report.figures.penalties import penalty_sentence
from dpbench.report.figures.ranking import draw_ranks
from dpbench.report.figures.sheet import FORMATS, SCREEN, WIDE, PageFormat
from dpbench.report.formatting import group_by, listed
from dpbench.report.labels import REFERENCES, label_of, problem_title
from dpbench.report.statistics.ranks import ranks

HEALTH = ("not_positive_definite", "repaired", "diverged", "not_finite")
ATTACKS = ("attack/advantage", "attack/accuracy_train", "attack/auc")
MIN_ACCOUNTED_DIFFERENCE = 0.01
"""Relative difference above which the accounted ε counts as different from the requested one."""
EXCESS_TEXT = "Below: by how much each curve exceeds the non-private fit, paired by runs, on a logarithmic axis."


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure, saved as ``name.png`` and perhaps as PDFs, with its caption."""

    name: str
    title: str
    caption: str
    figure: Figure
    marks: tuple[Mark, ...] = ()
    """The points that show their values under the pointer."""


def save_figures(sweep: SweepRecord, folder: Path, omissions: Omissions, *, pdfs: bool = True) -> list[CaptionedFigure]:
    """Save every figure that has something to show; the preset's own comes first and is called ``figure``."""
    saved = []
    for page in FORMATS if pdfs else (SCREEN,):
        with style.styled(**page.settings):
            for name, draw in _drawings(sweep, page):
                if figure := omissions.attempt(f"the figure {name}", draw):
                    for kind in page.kinds:
                        save = partial(style.save, figure.figure, folder / f"{figure.name}{page.suffix}", (kind,))
                        files = omissions.attempt(f"the figure {figure.name} as {kind}", save)
                        saved += [figure] if files and kind == "png" else []
    return saved


def save_preset_figure(sweep: SweepRecord, stem: Path) -> str | None:
    """Save the preset's own figure in every format, and return its caption; None if there is nothing to show."""
    caption = None
    for page in FORMATS:
        with style.styled(**page.settings):
            if figure := preset_figure(sweep, page):
                style.save(figure.figure, stem.with_name(stem.name + page.suffix), page.kinds)
                caption = figure.caption
    return caption


def figures_of(sweep: SweepRecord, page: PageFormat = WIDE) -> Iterator[CaptionedFigure]:
    """Draw the paper's own figure, if there is one, then the general ones; each is omitted if it has nothing to show."""
    yield from filter(None, (draw() for _, draw in _drawings(sweep, page)))


def _drawings(sweep: SweepRecord, page: PageFormat) -> Iterator[tuple[str, Callable[[], CaptionedFigure | None]]]:
    """Yield the name of each figure that there may be, and what draws it."""
    if sweep.done:
        data = cache(partial(FigureData.general, sweep, page))
        yield "figure", partial(preset_figure, sweep, page)
        yield from ((name, lambda make=make: make(data())) for name, make in GENERAL_FIGURES.items())


def preset_figure(sweep: SweepRecord, page: PageFormat = WIDE) -> CaptionedFigure | None:
    """Draw the preset's own figure, as the paper draws it."""
    if sweep.preset is None:
        return None
    data = FigureData.of_preset(sweep, sweep.preset.figure, page)
    title, source = data.spec.title or sweep.preset.title, sweep.preset.title
    if sweep.changed:
        title, source = (f"after {text}, changed: {' '.join(sweep.changed)}" for text in (title, source))
    caption = f"{source}: {sweep.preset.shows or 'as the paper draws it'}"
    if data.spec.form == "lines":
        panels = data.panels(data.cells)
        if not panels:
            return None
        caption = " ".join(filter(None, [f"{caption}; {_point_text(data, panels[0])}.", data.spec.remark]))
        return _lines_figure(data, "figure", title, caption, panels)
    figure = (draw_boxes if data.spec.form == "boxes" else draw_roc)(data, title)
    form = "box plots" if data.spec.form == "boxes" else f"{data.spec.statistic} curves"
    caption += " ".join(filter(None, [f"; {form} of the {runs_text(data.cells)} of each cell.", data.spec.remark]))
    return _captioned(data, "figure", title, caption, data.cells, figure)


def _point_text(data: FigureData, panel: Panel) -> str:
    """Return what each point of a panel is."""
    if panel.metric in panel.cells[0].metrics:
        return "one number per cell"
    bands = f", bands: {band_text(data)}" if band_text(data) else ""
    return f"{data.spec.statistic} over the {runs_text(panel.cells)} of each cell{bands}"


def runs_text(cells: Sequence[CellRecord]) -> str:
    """Return how many runs a cell has."""
    splits = list(dict.fromkeys(cell.params["splits"] for cell in cells))
    count = len(cells[0].detail.runs.get("repeat", ())) if len(splits) == 1 else 0
    return f"{count} runs ({splits[0]})" if count else f"runs of {listed(splits, most=6)}"


def _captioned(
    data: FigureData, name: str, title: str, text: str, cells: Sequence[CellRecord], figure: Figure | None, *, panels: int = 0
) -> CaptionedFigure | None:
    """Add a caption: what is shown, what is hollow and why, what is synthetic, what is omitted."""
    if figure is None:
        return None
    hollow = group_by((cell for cell in cells if not cell.ranked), lambda cell: cell.guarantee)
    reasons = "; ".join(f"{listed(map(label, group), most=6)} ({guarantee})" for guarantee, group in hollow.items())
    generated = [cell.params["dataset"] for cell in cells if cell.synthetic]
    sentences = [
        text,
        f"Hollow: {reasons}." if reasons else "",
        _rules_sentence(cells),
        f"SYNTHETIC data: {listed(generated)}." if generated else "",
        penalty_sentence(cells),
        f"The first {MAX_PANELS} of {panels} panels." if panels > MAX_PANELS else "",
        f"The first {len(data.styles)} of {len(data.styles) + data.hidden} curves." if data.hidden else "",
        "A quick run, with few repeats: a first look only." if data.sweep.quick else "",
    ]
    return CaptionedFigure(name, title, " ".join(filter(None, sentences)), figure)


def _rules_sentence(cells: Sequence[CellRecord]) -> str:
    """Return which mechanism has noise for which bounds, if curves differ in that and their names do not say it."""
    rules = group_by((cell for cell in cells if cell.sensitivity), lambda cell: cell.sensitivity)
    if len(rules) < 2 or any("mechanism.sensitivity" in cell.params for cell in cells):
        return ""
    names = {rule: dict.fromkeys(cell.params["mechanism"] for cell in group) for rule, group in rules.items()}
    texts = "; ".join(f"{listed(mechanisms, most=6)} ({rule})" for rule, mechanisms in names.items())
    return f"Their bounds follow different rules, so these curves do not compare the mechanisms: {texts}."


def _lines_figure(
    data: FigureData, name: str, title: str, text: str, panels: Sequence[Panel], **options: Any
) -> CaptionedFigure | None:
    visible = data.with_excess(panels[:MAX_PANELS])
    figure, marks = draw_lines(data, visible, title, **options) if visible else (None, ())
    excess = any(panel.excess for panel in visible)
    text = " ".join(filter(None, [text, *_lost_to_the_mean(data, panels[:MAX_PANELS]), EXCESS_TEXT if excess else ""]))
    cells = [cell for panel in visible for cell in panel.cells]
    captioned = _captioned(data, name, title, text, cells, figure, panels=len(panels))
    return replace(captioned, marks=marks) if captioned else None


def _lost_to_the_mean(data: FigureData, panels: Sequence[Panel]) -> list[str]:
    """Return a sentence if every point of a panel is worse than always predicting the mean: then no fit there is of use."""
    lost = []
    for panel in panels:
        metric = panel.metric.removeprefix("utility/")
        names = [f"reference/{name}/{metric}" for name in REFERENCES]
        info = data.sweep.metric_info.get(panel.metric)
        sign = -1.0 if info and info.better == "higher" else 1.0
        fits = [data.value(cell, panel.metric) for cell in panel.cells]
        exact, means = ([data.value(cell, name) for cell in panel.cells] for name in names)
        pairs = list(zip([*fits, *exact], [*means, *means], strict=True))
        known = [(fit, mean) for fit, mean in pairs if fit is not None and mean is not None]
        if data.spec.statistic != "variance" and len(known) == len(pairs) and all(sign * (fit - mean) > 0 for fit, mean in known):
            lost.append(panel)
    where = "" if len(lost) == len(panels) else f" on {listed(panel.title for panel in lost)}"
    return [f"Every fit{where}, the one without privacy included, is worse than always predicting the mean."] * bool(lost)


def error_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw the median error with its band against ε, or against what else the sweep varied, and the two references."""
    x, along = data.spec.x, label_of(data.spec.x)
    panels = data.panels(data.fits) if x in varying(data.fits) else []
    text = f"The median error against {along} with 20-80 % bands over the {runs_text(data.fits)} of each cell."
    return _lines_figure(data, f"error_vs_{x.rpartition('.')[2]}", f"Error against {along}", text, panels)


def box_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw the error of each run."""
    if not data.fits:
        return None
    title, along = "The error of each run", label_of(data.spec.x)
    text = f"Box plots of the errors of the {runs_text(data.fits)} of each cell, at up to {MAX_VALUES} values of {along}."
    figure = draw_boxes(replace(data, cells=data.fits), title)
    return _captioned(data, "boxes", title, text, data.fits, figure, panels=len(data.panels(data.fits)))


def accounted_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw the error against the ε that was spent, if that is not simply the requested ε."""
    ratios = [cell.accounted / cell.epsilon for cell in data.fits if cell.private and cell.epsilon is not None]
    if len(data.styles) < 2 or data.spec.x != "epsilon" or all(abs(ratio - 1) <= MIN_ACCOUNTED_DIFFERENCE for ratio in ratios):
        return None
    data = data.showing(x="privacy/epsilon_accounted")
    text = (
        "The median error against the accounted ε, which makes mechanisms comparable whose own ε is in another currency; "
        f"bands: 20-80 % of the {runs_text(data.fits)} of each cell, level lines: what is not private."
    )
    return _lines_figure(data, "error_vs_accounted", "Error against the accounted ε", text, data.panels(data.fits))


def attack_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw what an attack gains against what the model is worth."""
    attacked = [cell for cell in data.cells if any(f"{name}_mean" in cell.metrics for name in ATTACKS)]
    controls = dict.fromkeys(name for cell in attacked for name in cell.metrics if name.startswith("attack/control/"))
    references = tuple(name.removesuffix("_mean") for name in controls if name.endswith("/advantage_mean"))
    along, annotated, panels = label_of(data.spec.x), data.spec.x, []
    keys = tuple(dict.fromkeys((*data.spec.panels, "attack", *(key for key in varying(attacked) if key.startswith("attack.")))))
    data = data.showing(y=ATTACKS, statistic="mean", band="confidence", log=(), references=references, panels=keys)
    for primary, cells in group_by(attacked, lambda cell: cell.primary).items():
        data = data.showing(x=f"utility/{primary}")
        panels += [replace(panel, levels=_caps(panel)) for panel in data.panels(cells)]
    text = (
        f"What the attack gains (mean and 95 % interval) against the median error over the {runs_text(attacked)} of each cell, "
        f"with {along} next to the points; level lines: controls, which need no release, and the cap that a guarantee sets."
    )
    return _lines_figure(data, "attack_frontier", "Attack against error", text, panels, annotated=annotated)


def _caps(panel: Panel) -> dict[str, dict[Position, float]]:
    """Return the caps on the attack up to the first above all gains; none if the cap limits a gap."""
    if panel.metric != ATTACKS[0] or any("attack/gap_mean" in cell.metrics for cell in panel.cells):
        return {}
    worst = max(cell.metrics.get(f"{panel.metric}_ci_high", cell.metric(panel.metric, "mean") or 0.0) for cell in panel.cells)
    caps = sorted({(cell.metrics.get("attack/cap", 1.0), cell.accounted) for cell in panel.cells if cell.ranked})
    needed = sum(cap < worst for cap, _ in caps) + 1
    return {f"cap at ε = {epsilon:g}": {None: cap} for cap, epsilon in caps[:needed]}


def time_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw what a lower error costs in time, if the times of two curves differ by more than noise."""
    timed = [cell for cell in data.fits if len(data.styles) > 1 and cell.metrics.get("time/fit_seconds", 0.0) > 0]
    if not any(times_differ(data, cells) for cells in data.by_panel(timed)):
        return None
    along, annotated = label_of(data.spec.x), data.spec.x
    data = data.showing(x="time/fit_seconds", references=(), excess=False)
    text = (
        f"The median error with 20-80 % bars over the {runs_text(timed)} of each cell against the time of one fit on one thread, "
        f"with {along} next to the points."
    )
    return _lines_figure(data, "time_vs_error", "Error against time", text, data.panels(timed), annotated=annotated, joined=False)


def health_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw how often fits went wrong; rates that are the same everywhere share a panel."""
    data = data.showing(band=None, references=())
    panels = []
    for cells in data.by_panel(without_attacks(data.cells)):
        rates = {f"health/{name}": tuple(cell.metrics.get(f"health/{name}", 0.0) for cell in cells) for name in HEALTH}
        for values, names in group_by(rates, rates.__getitem__).items():
            wrong = {data.curve_name(cell) for cell, rate in zip(cells, values, strict=True) if rate > 0}
            if affected := tuple(cell for cell in cells if data.curve_name(cell) in wrong and names[0] in cell.metrics):
                title = f"{problem_title(cells[0], data.spec.panels)}\n{', '.join(map(data.label, names))}"
                panels.append(Panel(title, affected, names[0], data.spec.x, share=True))
    runs = runs_text(panels[0].cells if panels else ())
    text = f"The share of the {runs} of each cell whose fit went wrong; mechanisms whose fits never did are omitted."
    return _lines_figure(data, "health", "Fits that went wrong", text, panels)


def rank_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw mean ranks over the datasets, and the difference that is significant."""
    ranking = ranks(data.fits) if len(data.styles) > 1 else None
    if ranking is None or len(ranking.datasets) < 2:
        return None
    critical = ranking.critical
    text = (
        "no critical difference: too few datasets for one"
        if critical is None
        else f"mean ranks further apart than {critical:.2f} differ (Nemenyi, 5 %)"
    )
    cells, title = [cell for cell in data.fits if cell.ranked], "Mean ranks over the datasets"
    figure = draw_ranks(data, ranking, title, foot(cells, f"{text[0].upper()}{text[1:]}."))
    datasets = listed(ranking.datasets, most=6)
    caption = f"The mean ranks of the private and proven mechanisms over {datasets} by their median error; {text}."
    return _captioned(data, "ranks", title, caption, cells, figure)


def forest_figure(data: FigureData) -> CaptionedFigure | None:
    """Draw the intervals of the coefficients next to the non-private ones."""
    if (forest := forest_of(data)) is None:
        return None
    return _captioned(forest.data, "intervals", forest.title, forest.text, forest.cells, draw_forest(forest))


GENERAL_FIGURES: Mapping[str, Callable[[FigureData], CaptionedFigure | None]] = {
    "error": error_figure, "boxes": box_figure, "error_vs_accounted": accounted_figure, "attack_frontier": attack_figure,
    "time_vs_error": time_figure, "health": health_figure, "intervals": forest_figure, "ranks": rank_figure,
}  # fmt: skip
