"""The contract of a dataset: a table with declared public bounds, and what must be known about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.component import Component
from dpbench.data.geometry import Scaling, TargetKind
from dpbench.data.table import Table


@dataclass(frozen=True)
class Dataset(Component):
    """The base class of datasets. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``load(generator)``, which returns the :class:`~dpbench.data.table.Table`: columns with public bounds and
        units, the target with a public threshold, one-hot groups, sensitive attributes. Real data ignores the generator;
        synthetic data draws from it and from nothing else.

    Optional
        ``synthetic``: whether rows are drawn and not collected; ``public``: whether anybody may see them; ``licence``,
        ``citation`` (these four are properties: a subclass answers with a class variable, or with a property where the
        answer depends on its options);
        ``subsets()``: attributes that go by a number; ``seen_as(kind)``: another target for a binary model than for a real
        one; ``redrawn()``: whether every repeat has a table of its own;
        ``fingerprint()``: a text that changes when the data does, part of every cell's key; ``fetch(say)``: bring the data
        onto this machine, where it is not there already.

    Every dataset has the options below. Bounds are public: declared here or by the user, never read from the rows unless
    that is asked for, and then it is a named leak on the table.
    """

    kind: ClassVar[str] = "dataset"

    scaling: Scaling = option("box", help="columns to [-1, 1], or rows into the unit ball")
    sample_n: int | None = option(None, low=2, help="so many rows, drawn once with the seed; null takes all")
    sample_rate: float = option(1.0, low=0, high=1, open_low=True, help="share of the rows, drawn anew each repeat")
    attributes: tuple[str, ...] | int | None = option(None, low=1, help="a subset by names, or by a number the dataset gives it")
    threshold: float | None = option(None, help="a binary target is: above this value; null takes the dataset's own")
    sensitive: tuple[str, ...] | None = option(None, help="the sensitive attributes; null takes the dataset's own")

    @property
    def synthetic(self) -> bool:
        return False

    @property
    def public(self) -> bool:
        """Where it is not, the words of a plugin's exception are left out of records: they may quote a row."""
        return self.synthetic

    @property
    def licence(self) -> str:
        return ""

    @property
    def citation(self) -> str:
        return ""

    @abstractmethod
    def load(self, generator: np.random.Generator) -> Table:
        """The whole table."""

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        """The attributes behind each number that the option ``attributes`` takes."""
        return {}

    def seen_as(self, target: TargetKind) -> Self:
        """The dataset as a model of a real or of a binary target sees it: itself, unless it has a target for each."""
        return self

    def redrawn(self) -> bool:
        """Whether each repeat draws a table of its own."""
        return False

    def fingerprint(self) -> str:
        """Changes when the data does; options and the plugin's version are in the key already."""
        return ""

    def fetch(self, say: Callable[[str], None]) -> None:
        """What ``python -m dpbench data fetch`` does: the only time that a dataset may use the network."""
        raise Refused(f"There is nothing to fetch for dataset={self.name}.")

    def table(self, generator: np.random.Generator) -> Table:
        """The table with the asked rows, attributes, threshold and sensitive attributes."""
        table = self.load(generator)
        if self.attributes is not None:
            table = table.select(self._chosen(self.attributes))
        if self.sample_n is not None:
            table = table.take(self._sample(table.rows, self.sample_n, generator))
        if self.threshold is not None:
            low, high = table.target.low, table.target.high
            if not low <= self.threshold < high:
                raise Refused(
                    f"The option dataset.threshold must lie within the bounds of the target {table.target.name!r}, in the range "
                    f"[{low:g}, {high:g}). Got {self.threshold:g} instead."
                )
            table = replace(table, threshold=self.threshold)
        return replace(table, sensitive=self.sensitive) if self.sensitive is not None else table

    def sampled(self, rows: int) -> int:
        """How many rows a repeat uses: public, since n is."""
        sampled = round(rows * self.sample_rate)
        if sampled < 2:
            raise Refused(f"dataset.sample_rate={self.sample_rate:g} leaves {sampled} of {rows} rows. At least 2 are needed.")
        return sampled

    def _chosen(self, attributes: tuple[str, ...] | int) -> tuple[str, ...]:
        if not isinstance(attributes, int):
            return attributes
        subsets = self.subsets()
        if attributes not in subsets:
            numbers = f"one of {', '.join(map(str, subsets))}, or a list of names" if subsets else "a list of names"
            raise Refused(f"The attributes of dataset={self.name} must be {numbers}. Got {attributes} instead.")
        return subsets[attributes]

    def _sample(self, rows: int, asked: int, generator: np.random.Generator) -> np.ndarray:
        """The rows of a fixed sample, in the table's order; a smaller one is part of a larger one."""
        if asked > rows:
            raise Refused(f"dataset.sample_n={asked} asks for more rows than dataset={self.name} has: {rows}.")
        return np.sort(generator.permutation(rows)[:asked])
