"""A synthetic stand-in for the Brazilian census table of Zhang et al. 2012."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.table import Column, Table

from ._ipums import CITATION, LICENCE, extract_digest, read_extract
from ._standin import ATTRIBUTE_SUBSETS, stand_in

ROWS = 190_000
SAMPLE, COUNTRY = "br2000a", 76
INCOME = Column("annual_income", 0, 20_000, "BRL of 2000", meaning="as in the extract, monthly or yearly")


@dataclass(frozen=True)
class Brazil(Dataset):
    """Synthetic: a stand-in for a Brazilian census table, income from 13 attributes, 190,000 rows without a census record.

    The layout is that of Zhang et al. (2012, section 7), with numbered subsets as in ``census``. Marginals and correlations are
    those of BR2000 (Zhang et al. 2014), a sample of the Brazil 2000 census of IPUMS International, whose rows may not be
    redistributed. BR2000 has income only as a flag. The correlations of the flag and its share are measured; the numeric level
    and the log-normal shape of income are assumed, and so is how well income can be predicted.

    Income is clipped to 0-20,000 reais of 2000 (97 % lie below). A binary target is income above 6,000, the 28 % of the flag.
    The seed determines the rows.

    ``extract=brazil.xml`` reads your own extract of IPUMS International instead, as in ``census``.
    """

    name: ClassVar[str] = "brazil"

    extract: str | None = option(None, help="the XML codebook of your own IPUMS extract; null: the stand-in")

    @property
    def synthetic(self) -> bool:
        return not self.extract

    @property
    def licence(self) -> str:
        return LICENCE if self.extract else "aggregates only: the microdata of IPUMS International may not be redistributed"

    @property
    def citation(self) -> str:
        source = "BR2000 of Zhang et al., PrivBayes, SIGMOD 2014, from the Brazil 2000 sample of IPUMS International"
        return f"{CITATION if self.extract else f'Aggregates: {source}'}. Layout: Zhang et al., PVLDB 5(11), 2012"

    def load(self, generator: np.random.Generator) -> Table:
        if self.extract:
            attributes = None if self.attributes is None else self._attribute_names(self.attributes)
            return read_extract(self.extract, COUNTRY, INCOME, 6_000, attributes, self.sample_n, generator)
        # the attribute that Fang et al. 2019, section V-E, attack
        return replace(stand_in("brazil").draw(ROWS, generator), sensitive=("is_married",))

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        return ATTRIBUTE_SUBSETS

    def fingerprint(self) -> str:
        return extract_digest(self.extract) if self.extract else stand_in("brazil").digest

    def fetch(self, say: Callable[[str], None]) -> None:
        from ._ipums_api import fetch

        fetch(SAMPLE, self.name, say)


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [Brazil]
