"""A preset: a figure of a paper as one command, ``experiment=<paper>/<figure>``, and how the figure is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option, refuse_unknown_options


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
    apart: tuple[str, ...] = option((), help="values of parameters, as key=value, whose curves have panels of their own")
    excess: bool | None = option(
        None, help="whether panels of the excess over the non-private fit are added; null: where a curve coincides with it"
    )
    remark: str = option("", help="sentences for the caption")
    title: str = option("", help="above the figure")

    def __post_init__(self) -> None:
        check_options(self, "preset.figure")
        for text in self.apart:
            if not all(text.partition("=")):
                raise Refused(f"The 'apart' option of preset.figure must be a list of key=value. Got {text!r} instead.")
        if (self.statistic, self.band) == ("mean", "quantiles"):
            words = "confidence or null with statistic: mean, since quantiles belong to medians"
            raise Refused(f"The 'band' option of preset.figure must be {words}. Got 'quantiles' instead.")


@dataclass(frozen=True)
class Preset:
    """A preset is what the section ``preset`` of an experiment's YAML says: everything but the grid."""

    name: str = option("", help="what experiment= calls it")
    title: str = option("", help="the paper and the figure")
    shows: str = option("", help="what the figure shows, in a few words")
    chosen: str = option("", help="what the paper leaves open, and what is taken here")
    minutes: float = option(0.0, low=0, help="what it took, alone on two cores")
    quick: dict[str, Any] = option({}, help="keys of the grid with fewer values, for quick=true")
    figure: FigureSpec = field(default_factory=FigureSpec)

    @classmethod
    def of(cls, config: Mapping[str, Any] | None) -> Self | None:
        """Return the preset of a resolved configuration, or None if it has none."""
        if not config:
            return None
        refuse_unknown_options(cls, config, "preset")
        figure = config.get("figure") or {}
        refuse_unknown_options(FigureSpec, figure, "preset.figure")
        return cls(**{**config, "figure": FigureSpec(**figure)})

    def __post_init__(self) -> None:
        check_options(self, "preset")
        if not self.title:
            raise Refused("The option 'title' of preset must say which figure it is. Got an empty text.")
