"""The contract of a dataset, which supplies a table with public bounds."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dpbench.base.core_classes import is_core_class
from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.component import Component
from dpbench.data.geometry import Scaling, TargetKind
from dpbench.data.table import Table
from dpbench.data.table_stream import TableStream

RESAMPLED = "Each repeat draws its rows from the table with replacement: the table stands for the population."
MAX_FEW_VALUES = 50
"""A column with at most this many distinct values often has rows at both of its bounds, even if these are public facts."""


@dataclass(frozen=True)
class Dataset(Component):
    """The base class of datasets. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``load(generator)``, which returns the whole :class:`~dpbench.data.table.Table`: columns with public bounds
        and units, the target with a public threshold, one-hot groups, sensitive attributes. Real data ignores the
        generator; synthetic data draws from it and from nothing else. If its true coefficients are known, the table states them.

    Optional
        ``synthetic``: whether the rows are drawn rather than collected; ``public``: whether anyone may see them;
        ``bounds_source``: where bounds, filters and scaling come from, without which a table that is not public stays
        ``claimed``; ``display_name``; ``remark``; ``licence``; ``citation``. These seven are properties: override them with a
        class variable, or with a property if the answer depends on an option.
        ``variants()``: the options of each table that it offers, for listings; ``subsets()``: subsets of the attributes, by
        number; ``options_for(attributes)``: options that give the table attributes which it lacks by default;
        ``for_target(kind)``: a version with another target for binary models; ``redrawn()``: whether every repeat draws its
        own table; ``fingerprint()``: a text that changes when the data changes; ``fetch(say)``: how to download the data;
        ``shape()``: the numbers of rows and features, if the options decide them, so that a table too large is refused unloaded;
        ``for_memory(memory)``, ``streams()`` and ``stream_table()``: for a table that may be larger than the memory.

    Every dataset has the options below. Bounds are public: they are declared here or by the user. If a user asks for bounds
    that are read from the rows, the table carries a leak.

    Example::

        @dataclass(frozen=True)
        class Wages(Dataset):
            '''Wages that rise with age, drawn from a normal law.'''

            name = "wages"
            synthetic = True
            spread: float = option(10.0, low=0, help="standard deviation of the wages, in USD")

            def load(self, generator):
                age = generator.uniform(15, 75, 500)
                wage = age + generator.normal(0, self.spread, 500)
                columns = (Column("age", 15, 75, "years"),)
                return Table(columns, Column("wage", 0, 100, "USD"), age[:, None], wage, threshold=40)
    """

    kind: ClassVar[str] = "dataset"

    scaling: Scaling = option("box", help="columns to [-1, 1], rows into the unit ball, or columns to [0, 1/sqrt(d)]")
    sample_n: int | None = option(None, low=2, help="number of rows (or persons), drawn once with the seed; null takes all")
    sample_rate: float = option(1.0, low=0, high=1, open_low=True, help="share of the rows (or persons) that each repeat draws")
    attributes: tuple[str, ...] | int | None = option(
        None, low=1, names_attributes=True, help="a subset of the attributes, by names or by number"
    )
    threshold: float | None = option(None, help="a binary target is 1 above this value; null: the dataset's own")
    sensitive: tuple[str, ...] | None = option(
        None, names_attributes=True, help="the sensitive attributes; null: the dataset's own"
    )
    resample: bool = option(False, help="each repeat draws all rows with replacement: the table is the population")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.attributes, int):
            self._attribute_names(self.attributes)  # refuses a number that stands for no subset
        if self.resample and self.redrawn():
            raise Refused(f"dataset.resample=true needs one table for all repeats, but dataset={self.name} draws one for each.")

    def options(self) -> dict[str, Any]:
        """Return every option with its value, without ``resample`` if it is off: older cells keep their keys."""
        return {name: value for name, value in super().options().items() if name != "resample" or value}

    @property
    def synthetic(self) -> bool:
        """Whether the rows are drawn rather than collected: every page about them says so."""
        return False

    @property
    def public(self) -> bool:
        """Whether anyone may see the rows. If not, records omit what may quote or confirm a row, and say how private they are."""
        return self.synthetic

    @property
    def bounds_source(self) -> str:
        """Where the bounds, the filters and the scaling come from, in a sentence. Empty: not declared.

        They must be known without these rows: from a codebook, from what an instrument can measure, from an older public table.
        """
        return ""

    @property
    def remark(self) -> str:
        """What a reader must know about the table, in a sentence: it is listed and recorded."""
        return ""

    @property
    def display_name(self) -> str:
        """What titles, tables and records call the data: the name of the dataset, unless an option names the table."""
        return self.name

    @property
    def licence(self) -> str:
        """The terms under which the data may be used."""
        return ""

    @property
    def citation(self) -> str:
        """The source to cite."""
        return ""

    @classmethod
    def variants(cls) -> Sequence[Mapping[str, Any]]:
        """Return the options of each table that the dataset offers: listings show them all. By default only its default one."""
        return ({},)

    @abstractmethod
    def load(self, generator: np.random.Generator) -> Table:
        """Return the whole table."""

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        """Return the attributes that each number stands for in the option ``attributes``."""
        return {}

    @classmethod
    def options_for(cls, attributes: Collection[str]) -> Mapping[str, Any]:
        """Return the options, such as a coding, that give the table these attributes where the default ones do not."""
        return {}

    def for_target(self, target: TargetKind) -> Self:
        """Return the dataset for models of a real or a binary target: itself, unless it has a different target for each."""
        return self

    def redrawn(self) -> bool:
        """Return whether each repeat draws its own table. Drawing rows of one table (``resample``) is no reason."""
        return False

    def fingerprint(self) -> str:
        """Return a text that changes when the data changes, such as a checksum.

        It is part of every cell's key, as are the options and the code. If the rows are not public, only a keyed digest of this
        text is, so that nobody can confirm a guess about a row.
        """
        return ""

    def source(self) -> str:
        """Return a text that names the rows, whatever options choose of them: by default the fingerprint.

        Releases of one source share a budget.
        """
        return self.fingerprint()

    def shape(self) -> tuple[int, int] | None:
        """Return the numbers of rows and features that ``load`` will draw, or None if only loading can tell."""
        return None

    def fetch(self, say: Callable[[str], None]) -> None:
        """Download the data, for ``python -m dpbench data fetch``: a dataset must not use the network at any other time."""
        raise Refused(f"There is nothing to fetch for dataset={self.name}.")

    def select(self, generator: np.random.Generator) -> Table:
        """Return the table with the rows, attributes, threshold and sensitive attributes that the options select."""
        table = self.load(generator)
        if self.attributes is not None:
            table = table.select(self._attribute_names(self.attributes))
        if self.resample and table.persons is not None:
            raise Refused(
                "dataset.resample=true draws single rows, but here privacy is promised to persons: leave out dataset.person."
            )
        if self.sample_n is not None:
            if self.sample_n > table.units:
                what = "rows" if table.persons is None else "persons"
                raise Refused(f"dataset.sample_n={self.sample_n} needs more {what} than dataset={self.name} has: {table.units}.")
            # the beginning of a permutation, so that a smaller sample is part of a larger one
            table = table.take_units(generator.permutation(table.units)[: self.sample_n])
        return self.declared(table)

    def declared(self, table: Table) -> Table:
        """Return the table with the threshold and the sensitive attributes that the options declare."""
        if self.threshold is not None:
            target = table.target
            if not target.low <= self.threshold < target.high:
                raise Refused(
                    f"The option dataset.threshold must lie within the bounds of the target {target.name!r}, in the range "
                    f"[{target.low:g}, {target.high:g}). Got {self.threshold:g} instead."
                )
            table = replace(table, threshold=self.threshold)
        return replace(table, sensitive=self.sensitive) if self.sensitive is not None else table

    def for_memory(self, memory: int) -> Self:
        """Return the dataset with the decision whether a machine with this memory, in bytes, streams it: itself by default."""
        return self

    def streams(self) -> bool:
        """Return whether the rows are read in chunks, again for every pass, instead of loaded."""
        return False

    def stream_table(self) -> TableStream:
        """Return the table that is read in chunks, if ``streams()``: how to read it, and no row yet."""
        raise Refused(f"dataset={self.name} is not read in chunks: only tables in CSV and Parquet files are.")

    def rows_per_repeat(self, rows: int) -> int:
        """Return the number of rows that a repeat uses: public, because n is."""
        if (sampled := round(rows * self.sample_rate)) < 2:
            raise Refused(f"dataset.sample_rate={self.sample_rate:g} leaves {sampled} of {rows} rows. At least 2 are needed.")
        return sampled

    def _attribute_names(self, attributes: tuple[str, ...] | int) -> tuple[str, ...]:
        if not isinstance(attributes, int):
            return attributes
        if attributes not in (subsets := self.subsets()):
            numbers = f"one of {', '.join(map(str, subsets))}, or a list of names" if subsets else "a list of names"
            raise Refused(f"The attributes of dataset={self.name} must be {numbers}. Got {attributes} instead.")
        return subsets[attributes]


def doubt_about_bounds(dataset: Dataset, table: Table) -> str:
    """Return why the bounds of a plugin's table may follow from its rows; empty if its author declares where they come from.

    A table that anyone may see needs no declaration, and neither does one of dpbench's own datasets.
    """
    if dataset.public or is_core_class(type(dataset)) or dataset.bounds_source.strip():
        return ""
    sentence = f"The dataset {dataset.name} does not declare where its bounds, filters and scaling come from (bounds_source)."
    columns = (*zip(table.columns, table.features.T, strict=True), (table.target, table.response))
    many = [(column, values) for column, values in columns if len(np.unique(values)) > MAX_FEW_VALUES]
    attained = sum((column.low, column.high) == (values.min(), values.max()) for column, values in many)
    if 2 * attained <= len(many):
        return sentence
    return (
        f"{sentence} In {attained} of {len(many)} columns with more than {MAX_FEW_VALUES} values, both bounds are the rows' own "
        "extremes, as if they were read from them."
    )
