"""What a figure shows: which of a sweep's numbers are on which axis. Presets set it in YAML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpbench.base.options import check_options, option


@dataclass(frozen=True)
class FigureSpec:
    """A figure spec says how the cells of a sweep are drawn; every field can be set below ``preset.figure``."""

    form: Literal["lines", "boxes", "roc"] = option("lines", help="curves, box plots of the runs, or mean ROC curves")
    x: str = option("epsilon", help="what is on the horizontal axis: a parameter or a metric")
    y: tuple[str, ...] = option((), help="the metric, or several: each panel takes the first it has; empty: the model's primary")
    statistic: Literal["median", "mean", "variance"] = option("median", help="which number over the runs")
    band: Literal["quantiles", "confidence"] | None = option(
        "quantiles", help="20-80 % of the runs, the 95 % interval of the mean, or nothing"
    )
    curves: tuple[str, ...] = option(
        ("mechanism",), help="the parameters that make a curve, in addition to the swept options of mechanisms"
    )
    panels: tuple[str, ...] = option(("model", "dataset"), help="the parameters that make a panel")
    references: tuple[str, ...] | None = option(
        None, help="metrics drawn as level lines; null: the non-private fit and the mean predictor, where the metric has them"
    )
    log: tuple[str, ...] = option(("x",), help="the axes with a logarithmic scale: x, y")
    title: str = option("", help="above the figure")

    def __post_init__(self) -> None:
        check_options(self, "preset.figure")
