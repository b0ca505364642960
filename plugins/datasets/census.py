"""Synthetic stand-ins for the US census tables of Zhang et al. 2012 and Dandekar et al. 2018."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.table import Column, Table

from ._ipums import CITATION, LICENCE, extract_digest, read_extract
from ._standin import ATTRIBUTE_SUBSETS, StandIn, stand_in

Variant = Literal["persons", "heads"]

AGGREGATES: dict[Variant, str] = {"persons": "us", "heads": "us_heads"}
ROWS: dict[Variant, int] = {"persons": 370_000, "heads": 316_276}
SUBSETS: dict[Variant, Mapping[int, tuple[str, ...]]] = {
    "persons": ATTRIBUTE_SUBSETS,
    "heads": {  # Dandekar et al. 2018, section 5: DPME gets four predictors, the other mechanisms all eight
        5: ("age", "gender", "race", "education"),
        9: ("age", "gender", "race", "marital_status", "family_size", "education", "employment_status", "house_type"),
    },
}
SENSITIVE: dict[Variant, tuple[str, ...]] = {"persons": ("is_married",), "heads": ("marital_status",)}
"""The attribute that Fang et al. 2019, section V-E, attack."""

SAMPLE, COUNTRY = "us2000a", 840
INCOME = Column("annual_income", 0, 150_000, "USD of 1999")


@dataclass(frozen=True)
class Census(Dataset):
    """Synthetic: a stand-in for a US census table, income from 13 attributes, 370,000 rows without a census record.

    The layout is that of Zhang et al. (2012, section 7): marital status in two columns, and numbered subsets of 5, 8, 11 and 14
    dimensions, which include the target (``attributes=11``). The original table is an extract of IPUMS International. It may
    not be redistributed, and no paper documents how its rows were selected (Fang et al. have 370,057). Marginals and
    correlations here were measured on workers of the 2011 American Community Survey, and rows are drawn from them. Results hold
    for this synthetic table and do not reproduce published numbers. ``variant=heads`` has the layout of Dandekar et al. (2018):
    316,276 heads of household, 8 attributes and income (subsets 5 and 9), made in the same way.

    Income is clipped to 0-150,000 dollars of 2011 (97 % lie below). A binary target is income above 30,000, close to the median.
    The seed determines the rows. Drawing them takes well under a second.

    ``extract=usa.xml`` reads real data instead, your own extract of IPUMS International (`python -m dpbench data fetch census`
    makes one): the same columns, with education in 4 levels. Persons with a missing value are left out and counted, which is the
    leak ``rows_dropped`` unless ``sample_n`` fixes n.
    """

    name: ClassVar[str] = "census"
    variant: Variant = option("persons", help="persons (Zhang et al., 370,000) or heads of household (Dandekar et al., 316,276)")
    extract: str | None = option(None, help="the XML codebook of your own IPUMS extract; null: the stand-in")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extract and self.variant != "persons":
            raise Refused(f"An extract holds persons, so dataset.variant must be 'persons'. Got {self.variant!r} instead.")

    @property
    def synthetic(self) -> bool:
        return not self.extract

    @property
    def licence(self) -> str:
        return LICENCE if self.extract else "aggregates of public-domain microdata"

    @property
    def citation(self) -> str:
        layout = "Layout: Zhang et al., PVLDB 5(11), 2012; variant=heads: Dandekar, Basu and Bressan, DEXA 2018"
        source = "U.S. Census Bureau, American Community Survey 2011 1-year PUMS, in the sample of Zumel and Mount 2014"
        return f"{CITATION}. {layout}" if self.extract else f"Aggregates: {source}. {layout}"

    def load(self, generator: np.random.Generator) -> Table:
        if self.extract:
            attributes = None if self.attributes is None else self._attribute_names(self.attributes)
            return read_extract(self.extract, COUNTRY, INCOME, 30_000, attributes, self.sample_n, generator)
        return replace(self._stand_in.draw(ROWS[self.variant], generator), sensitive=SENSITIVE[self.variant])

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        return SUBSETS[self.variant]

    def fingerprint(self) -> str:
        return extract_digest(self.extract) if self.extract else self._stand_in.digest

    def fetch(self, say: Callable[[str], None]) -> None:
        from ._ipums_api import fetch

        fetch(SAMPLE, self.name, say)

    @property
    def _stand_in(self) -> StandIn:
        return stand_in(AGGREGATES[self.variant])


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [Census]
