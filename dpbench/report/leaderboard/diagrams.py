"""The figures of a leaderboard: the diagram of mean ranks, and the ranks against ε."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.report.figures.style import CurveStyle, curve_styles, save, styled
from dpbench.report.formatting import plural
from dpbench.report.leaderboard.tournament import Tournament
from dpbench.report.leaderboard.wording import title

ROW, BAR = 0.2, 0.13
"""Inches between two names, and between two bars."""
AXES = 4.4
"""Inches: the width of the axes. The names next to them take what the longest one needs."""
LETTER = 0.062
"""Inches: the width of a letter of a name, nearly."""


def save_diagrams(model: str, tournament: Tournament, folder: Path) -> list[str]:
    """Write the figures of one model as PNG and PDF, and return their names; none if no game counts."""
    if not tournament.entries:
        return []
    figures = {f"{model}_ranks": _rank_diagram, f"{model}_epsilon": _rank_lines}
    with styled():
        for name, draw in figures.items():
            save(draw(model, tournament), folder / name)
    return list(figures)


def _rank_diagram(model: str, tournament: Tournament) -> Figure:
    """Draw the mean ranks on a line, the names at both sides, and bars over mechanisms that no test separates."""
    entries, alike = tournament.entries, tournament.alike
    left = entries[: -(-len(entries) // 2)]
    top = 0.75 + BAR * max(len(alike), 1)
    height = top + ROW * len(left) + 0.15
    margin = LETTER * max(len(entry.name) for entry in entries) + 0.55
    width = AXES + 2 * margin
    figure = Figure(figsize=(width, height))
    axes: Axes = figure.add_axes((margin / width, 0, AXES / width, 1))
    axes.set(xlim=(1, max(len(entries), 2)), ylim=(height, 0))
    axes.axis("off")
    heading = f"{title(model)}: mean ranks on {plural(len(tournament.tables), 'table')} (1 is the best)"
    axes.text(0.5, 0.12, heading, transform=_across(axes), ha="center", va="center", fontsize=9, fontweight="bold")
    line = 0.5
    black: dict[str, Any] = {"color": "black", "solid_capstyle": "butt"}
    axes.plot([1, len(entries)], [line, line], linewidth=1, clip_on=False, **black)
    for rank in range(1, len(entries) + 1):
        axes.plot([rank, rank], [line - 0.05, line], linewidth=1, clip_on=False, **black)
        axes.text(rank, line - 0.08, str(rank), ha="center", va="bottom", fontsize=7)
    ranks = {entry.name: entry.mean_rank for entry in entries}
    for number, group in enumerate(alike):
        level = line + 0.12 + BAR * number
        axes.plot([ranks[group[0]] - 0.04, ranks[group[-1]] + 0.04], [level, level], linewidth=3.5, clip_on=False, **black)
    inch = (max(len(entries), 2) - 1) / AXES  # in ranks
    for side, names in ((-1, left), (1, entries[len(left) :][::-1])):
        end = 1 - 0.08 * inch if side < 0 else len(entries) + 0.08 * inch
        for number, entry in enumerate(names):
            level = top + ROW * number
            axes.plot([entry.mean_rank, entry.mean_rank, end], [line, level, level], "-", color="#777777", lw=0.7, clip_on=False)
            text = f"{entry.name}  {entry.mean_rank:.2f}" if side < 0 else f"{entry.mean_rank:.2f}  {entry.name}"
            axes.text(end + side * 0.04 * inch, level, text, ha="right" if side < 0 else "left", va="center", fontsize=7.5)
    return figure


def _across(axes: Axes) -> Any:
    """Return coordinates that are shares of the width and inches from above."""
    return axes.get_yaxis_transform()


def _rank_lines(model: str, tournament: Tournament) -> Figure:
    """Draw the mean rank of each mechanism over the tables against ε."""
    entries, epsilons = tournament.entries, tournament.epsilons
    looks = _looks([entry.name for entry in entries])
    names = LETTER * max(len(entry.name) for entry in entries) + 0.75
    width = 0.6 + AXES + names
    figure = Figure(figsize=(width, max(3.2, 0.5 + 0.19 * len(entries))))
    axes: Axes = figure.subplots()
    for entry in entries:
        look = looks[entry.name]
        ranks = [entry.rank_at[epsilon] for epsilon in epsilons]
        axes.plot(epsilons, ranks, linestyle=look.line, label=entry.name, **look.marks(hollow=False))
    axes.set(xscale="log", xlabel="ε", ylabel="mean rank (1 is the best)", title=f"{title(model)}: mean rank against ε")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.invert_yaxis()
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.subplots_adjust(left=0.6 / width, right=1 - names / width, bottom=0.14, top=0.92)
    return figure


def _looks(names: Sequence[str]) -> dict[str, CurveStyle]:
    """Return the style of each mechanism: that of its name, and another line for each variant."""
    parts = {name: name.partition(" (") for name in names}
    return curve_styles({name: (mechanism, options, "") for name, (mechanism, _, options) in parts.items()})
