"""The mean ranks of mechanisms over datasets on one axis, and the difference that is significant."""

import textwrap

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.report.figures.axes import character_width, inches
from dpbench.report.figures.panels import FigureData
from dpbench.report.figures.sheet import Sheet, annotate
from dpbench.report.labels import shortened
from dpbench.report.statistics.ranks import Ranking


def draw_ranks(data: FigureData, ranking: Ranking, title: str, text: str) -> Figure:
    """Draw a mark at each mean rank with the mechanism's name; ``text`` stands below."""
    names, count = shortened(ranking.names), len(ranking.names)
    size = (max(4.0, character_width() * max(map(len, names.values())) + 2.0), 0.28 * count + 0.5)
    sheet = Sheet.of(data.page, [1], alone=size, among=size)
    (axes,) = sheet.axes
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    for index, (name, rank) in enumerate(zip(ranking.names, ranking.mean_ranks, strict=True)):
        look = data.styles[name]
        axes.plot([1, rank], [index, index], color="#CCCCCC", linewidth=1)
        axes.plot([rank], [index], markersize=6, linestyle="", **look.marks(hollow=False))
        offset, side = ((7, 0), "left") if rank <= (1 + count) / 2 else ((-7, 0), "right")
        # a name starts at its mark, at most half the axes away from the end that it runs towards
        lines = textwrap.wrap(names[name], int(inches(axes)[0] / 2 / character_width())) if data.page.width else [names[name]]
        annotate(axes, "\n".join(lines), (rank, index), offset, ha=side, va="center", fontsize="medium", bbox=box)
    best, critical = ranking.mean_ranks[0], ranking.critical
    handles = []
    if critical is not None:
        axes.plot((best, best + critical), [-0.8, -0.8], color="black", linewidth=3, solid_capstyle="butt")
        handles = [Line2D([], [], color="black", linewidth=3, label="critical difference (Nemenyi, 5 %)")]
    axes.set(ylim=(count - 0.4, -1.2), yticks=[], xticks=range(1, count + 1), xlabel="mean rank (1: lowest error)")
    axes.set_xlim(0.9, max(count + 0.1, best + (critical or 0) + 0.1))
    return sheet.finish(handles, title, text)
