"""The contract of a dataset: a table with declared public bounds, and what must be known about it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpbench.component import Component
from dpbench.data.geometry import Scaling
from dpbench.data.table import Table
from dpbench.errors import Refused
from dpbench.options import option


@dataclass(frozen=True)
class Dataset(Component):
    """The base class of datasets. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``load(generator)``, which returns the :class:`~dpbench.data.table.Table`: columns with public bounds, the
        target, one-hot groups. Real data ignores the generator; synthetic data draws from it and from nothing else.

    Optional
        ``synthetic``: whether rows are drawn and not collected; ``licence``, ``citation``; ``redrawn()``: whether every
        repeat has a table of its own;
        ``fingerprint()``: a text that changes when the data does, part of every cell's key.

    Every dataset has the options below. Bounds are public: declared here or by the user, never read from the rows unless
    that is asked for, and then it is a named leak on the table.
    """

    kind: ClassVar[str] = "dataset"
    synthetic: ClassVar[bool] = False
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""

    scaling: Scaling = option("box", help="columns to [-1, 1], or rows into the unit ball")
    sample_rate: float = option(1.0, low=0, high=1, open_low=True, help="share of the rows, drawn anew each repeat")
    attributes: tuple[str, ...] | None = option(None, help="a subset of the attributes, by name")
    threshold: float | None = option(None, help="a binary target is: above this value; null takes the dataset's own")

    @abstractmethod
    def load(self, generator: np.random.Generator) -> Table:
        """The whole table."""

    def redrawn(self) -> bool:
        """Whether each repeat draws a table of its own."""
        return False

    def fingerprint(self) -> str:
        """Changes when the data does; options and the plugin's version are in the key already."""
        return ""

    def table(self, generator: np.random.Generator) -> Table:
        """The table with the asked attributes and threshold."""
        table = self.load(generator)
        if self.attributes is not None:
            table = table.select(self.attributes)
        return replace(table, threshold=self.threshold) if self.threshold is not None else table

    def sampled(self, rows: int) -> int:
        """How many rows a repeat uses: public, since n is."""
        sampled = round(rows * self.sample_rate)
        if sampled < 2:
            raise Refused(f"dataset.sample_rate={self.sample_rate:g} leaves {sampled} of {rows} rows. At least 2 are needed.")
        return sampled
