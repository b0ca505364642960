"""A preset: a figure of a paper as one command, ``experiment=<paper>/<figure>``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option, refuse_unknown_options
from dpbench.records.figure_spec import FigureSpec


@dataclass(frozen=True)
class Preset:
    """A preset is what the section ``preset`` of an experiment's YAML says: everything but the grid."""

    name: str = option("", help="what experiment= calls it")
    title: str = option("", help="the paper and the figure")
    shows: str = option("", help="what the figure shows, in a few words")
    chosen: str = option("", help="what the paper leaves open, and what is taken here")
    minutes: float = option(0.0, low=0, help="what it took, alone on two cores")
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

    def as_config(self) -> dict[str, Any]:
        """Return plain data, from which :meth:`of` makes the preset again."""
        return asdict(self)
